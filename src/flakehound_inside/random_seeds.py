"""Random generators: digests of their state after collection, and how a run seeds them."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, Collection

_set_seed, _set_state, _get_state = random.seed, random.setstate, random.getstate


def generator_digests() -> dict[str, str]:
    """A digest of the state of each generator; equal digests of two collections mean that the project seeds it."""
    digests = {"random": _digest(repr(_get_state()).encode())}
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        digests["numpy"] = _digest(
            repr(numpy_random.get_state(legacy=True)[1:]).encode() + _numpy_keys(numpy_random)
        )
    return digests


def _numpy_keys(numpy_random: ModuleType) -> bytes:
    keys: bytes = numpy_random.get_state(legacy=True)[1].tobytes()
    return keys


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def random_state() -> tuple[Any, ...]:
    """The state of `random`; a forked process would lose it, because Python reseeds there."""
    return _get_state()


def global_generators() -> list[Any]:
    """The generators that `apply_seed` seeds, as objects."""
    numpys = getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)
    generators = [getattr(_set_seed, "__self__", None), numpys]
    return [generator for generator in generators if generator is not None]


def apply_seed(seed: int, self_seeded: Collection[str] = ()) -> None:
    """Seed every generator that is loaded, except those that the project seeds itself."""
    if "random" not in self_seeded:
        _set_seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None and "numpy" not in self_seeded:
        numpy_random.seed(seed % 2**32)
    hypothesis_core = sys.modules.get("hypothesis.core")
    if hypothesis_core is not None and getattr(hypothesis_core, "global_force_seed", seed) is None:
        setattr(hypothesis_core, "global_force_seed", seed)  # noqa: B010 (mypy: no such attribute)


def restore_random(state: tuple[Any, ...]) -> None:
    """Set the state of `random`."""
    _set_state(state)
