"""The random generators beside a test: keep their state, seed them for a rerun, put everything back."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import TYPE_CHECKING

from flakehound_inside.seeds import apply_seed

if TYPE_CHECKING:
    from typing import Any, Iterator

    import pytest

    from flakehound_inside.triage_shapes import RandomState

_set_state, _state_of_random = random.setstate, random.getstate
_modules = sys.modules
_MT19937_BYTES = 624 * 4 + 4  # the numbers and the place in them


class Snapshot:
    """The state of the generators at one moment."""

    __slots__ = ("numpy", "random")

    def __init__(self, random_state: Any, numpy_state: Any) -> None:
        self.random = random_state
        self.numpy = numpy_state  # None: numpy was not loaded


class Generators:
    """The global generators of `random` and numpy, and the seed that pytest-randomly sets before each phase."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._numpy = _NumpyGenerator()

    def snapshot(self) -> Snapshot:
        """The state now; asked before every test, so it has to be cheap."""
        numpy_random = _modules.get("numpy.random")
        return Snapshot(_state_of_random(), None if numpy_random is None else self._numpy.state(numpy_random))

    def put_back(self, snapshot: Snapshot) -> None:
        """Let the generators go on as if nothing had drawn from them since."""
        _set_state(snapshot.random)
        numpy_random = _modules.get("numpy.random")
        if snapshot.numpy is not None and numpy_random is not None:
            numpy_random.set_state(snapshot.numpy)

    @contextlib.contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Whatever runs inside draws what this seed gives."""
        option = self._config.option
        randomly = self._randomly_seed()
        hypothesis_core: Any = _modules.get("hypothesis.core")
        forced = getattr(hypothesis_core, "global_force_seed", None)
        try:
            if randomly is not None:
                option.randomly_seed = seed
            apply_seed(seed)
            yield
        finally:
            if randomly is not None:
                option.randomly_seed = randomly
            if hasattr(hypothesis_core, "global_force_seed"):
                hypothesis_core.global_force_seed = forced

    def told(self, snapshot: Snapshot) -> RandomState:
        """A snapshot in words that JSON has."""
        version, numbers, gauss = snapshot.random
        return {
            "random": [version, list(numbers), gauss],
            "numpy": _numpy_told(snapshot.numpy),
            "seed": self._randomly_seed(),
        }

    def _randomly_seed(self) -> int | None:
        seed = getattr(self._config.option, "randomly_seed", None)
        resets = getattr(self._config.option, "randomly_reset_seed", False)
        active = resets and self._config.pluginmanager.hasplugin("randomly")
        return seed if active and isinstance(seed, int) else None


def _numpy_told(state: Any) -> list[Any] | None:
    if state is None:
        return None
    name, numbers, place, has_gauss, gauss = state
    return [str(name), numbers.tolist(), int(place), int(has_gauss), float(gauss)]


class _NumpyGenerator:
    """numpy's global generator.

    To read its state takes numpy 40 µs, too much for every test. Its memory tells in 1 µs that nothing has moved;
    a gauss kept for the next call moves without it, so then the state is read after all.
    """

    def __init__(self) -> None:
        self._generator: Any = None
        self._address: Any = None
        self._seen = b""
        self._kept: Any = None

    def state(self, numpy_random: Any) -> Any:
        generator = numpy_random.get_bit_generator() if hasattr(numpy_random, "get_bit_generator") else None
        if generator is not None and type(generator).__name__ != "MT19937":
            return None
        seen = self._memory(generator)
        if not seen or seen != self._seen or self._kept is None or self._kept[3]:
            self._kept = _legacy_state(numpy_random)
            self._seen = seen
        return self._kept

    def _memory(self, generator: Any) -> bytes:
        ctypes: Any = _modules.get("ctypes")
        if generator is None or ctypes is None:
            return b""
        if generator is not self._generator:
            self._generator, self._address = generator, generator.ctypes.state_address
        memory: bytes = ctypes.string_at(self._address, _MT19937_BYTES)
        return memory


def _legacy_state(numpy_random: Any) -> Any:
    state = numpy_random.get_state()
    return state if isinstance(state, tuple) and state[0] == "MT19937" else None
