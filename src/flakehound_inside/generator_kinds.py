"""The kinds of random generators: which objects they are, how to read their state, and how to seed them.

Only libraries that the suite has loaded are looked at; nothing is imported here for their sake.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator


class PythonKind:
    """`random.Random` and its subclasses, except those that take every number from the operating system."""

    @staticmethod
    def types() -> Iterator[type]:
        """The classes whose instances are of this kind."""
        system_types = set(_with_subclasses(random.SystemRandom))
        return (one for one in _with_subclasses(random.Random) if one not in system_types)

    @staticmethod
    def parts(_generator: Any) -> Iterable[object]:
        """Objects that have the same state, because the generator draws from them."""
        return ()

    @staticmethod
    def state(generator: Any) -> bytes:
        """The state as bytes; equal states are equal bytes."""
        return repr(generator.getstate()).encode()

    @staticmethod
    def seed(generator: Any, seed: int) -> None:
        """Seed the generator with a number of 64 bits."""
        generator.seed(seed)


class LegacyNumpyKind(PythonKind):
    """`numpy.random.RandomState`."""

    @staticmethod
    def types() -> Iterator[type]:
        """The classes whose instances are of this kind."""
        return _loaded_types("numpy.random", "RandomState")

    @staticmethod
    def parts(generator: Any) -> Iterable[object]:
        """The bit generator; before numpy 1.17 there is none."""
        return [part for part in [getattr(generator, "_bit_generator", None)] if part is not None]

    @staticmethod
    def state(generator: Any) -> bytes:
        """The state as bytes; with the number that was drawn with the last one and is returned next."""
        return _as_bytes(generator.get_state(legacy=False))

    @staticmethod
    def seed(generator: Any, seed: int) -> None:
        """Seed the generator, which takes only 32 bits."""
        generator.seed(seed % 2**32)


class NumpyKind(PythonKind):
    """`numpy.random.Generator`, which has no state except that of its bit generator."""

    @staticmethod
    def types() -> Iterator[type]:
        """The classes whose instances are of this kind."""
        return _loaded_types("numpy.random", "Generator")

    @staticmethod
    def parts(generator: Any) -> Iterable[object]:
        """The bit generator."""
        return [generator.bit_generator]

    @staticmethod
    def state(generator: Any) -> bytes:
        """The state as bytes."""
        return BitGeneratorKind.state(generator.bit_generator)

    @staticmethod
    def seed(generator: Any, seed: int) -> None:
        """Seed the bit generator."""
        BitGeneratorKind.seed(generator.bit_generator, seed)


class BitGeneratorKind(PythonKind):
    """numpy's bit generators, such as `numpy.random.PCG64`."""

    @staticmethod
    def types() -> Iterator[type]:
        """The classes whose instances are of this kind."""
        return _loaded_types("numpy.random", "BitGenerator")

    @staticmethod
    def state(generator: Any) -> bytes:
        """The state as bytes."""
        return _as_bytes(generator.state)

    @staticmethod
    def seed(generator: Any, seed: int) -> None:
        """Give it the state of a new bit generator, and its seed sequence, from which `spawn` makes generators."""
        new = type(generator)(seed)
        try:
            generator.__setstate__((new.state, new.seed_seq))
        except (AttributeError, TypeError, ValueError):  # before numpy 2, without the seed sequence
            generator.state = new.state


class TorchKind(PythonKind):
    """`torch.Generator`; torch's default generator is one."""

    @staticmethod
    def types() -> Iterator[type]:
        """The classes whose instances are of this kind."""
        return _loaded_types("torch", "Generator")

    @staticmethod
    def state(generator: Any) -> bytes:
        """The state as bytes."""
        return bytes(generator.get_state().tolist())

    @staticmethod
    def seed(generator: Any, seed: int) -> None:
        """Seed the generator with a number that is never negative for torch."""
        generator.manual_seed(seed % 2**63)


# A generator comes before the kind of its parts, so that it is found and not its part.
KINDS: tuple[type[PythonKind], ...] = (PythonKind, LegacyNumpyKind, NumpyKind, BitGeneratorKind, TorchKind)


def _loaded_types(module: str, name: str) -> Iterator[type]:
    one = getattr(sys.modules.get(module), name, None)
    return _with_subclasses(one) if isinstance(one, type) else iter(())


def _with_subclasses(one: type) -> Iterator[type]:
    yield one
    subclasses: list[type] = type.__subclasses__(one)
    for subclass in subclasses:
        yield from _with_subclasses(subclass)


def _as_bytes(state: Any) -> bytes:
    """The state of a numpy generator: a dict of dicts, numbers and arrays."""
    if isinstance(state, dict):
        return b"".join(str(name).encode() + b"=" + _as_bytes(state[name]) + b";" for name in sorted(state))
    if hasattr(state, "tobytes"):  # `repr` would leave numbers out of a long array
        content: bytes = state.tobytes()
        return content
    return repr(state).encode()
