"""The global random generators: copies their state before a test, seeds them for a rerun, restores them.

Python creates 625 numbers to return the state of `random`, and numpy needs 40 µs; either would be most of our
overhead for a passing test. Copying the memory takes less than 1 µs; it is converted only if a test fails.
"""

from __future__ import annotations

import contextlib
import random
import sys
from array import array
from typing import TYPE_CHECKING

from flakehound_inside.random_seeds import apply_seed

if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

    import pytest

    from flakehound_inside.message_types import RandomState

    # The state at one moment: of `random` as `RandomGenerators` copied it, and numpy's (None: it was not loaded).
    # A tuple, because one is made before every test.
    Snapshot = tuple[Any, Any]

_WORDS = 624  # of a Mersenne twister, and one more for the position in them
_STATE_BYTES = (_WORDS + 1) * 4
# The position and a few words suffice to detect a change: each drawn number moves the position, and when it has
# its old value again, all words have changed.
_COMPARED_BYTES = 9 * 4
_MIN_TESTS = 100  # with fewer, importing _ctypes (1 ms) takes longer than it saves

_set_state, _state_of_random = random.setstate, random.getstate
_modules = sys.modules


class RandomGenerators:
    """The global generators of `random` and numpy, and the seed that pytest-randomly sets before each phase."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._numpy = NumpyTwister()
        self._twister: PythonTwister | None = None
        self._copy: Callable[[], Any] = _state_of_random

    def prepare(self, tests: int) -> None:
        """Choose how to copy the state before each of this many tests."""
        self._twister = python_twister(_state_of_random, tests)
        self._copy = _state_of_random if self._twister is None else self._twister.copy

    def snapshot(self) -> Snapshot:
        """The current state; called before every test, so it has to be fast."""
        numpy_random = _modules.get("numpy.random")
        return self._copy(), None if numpy_random is None else self._numpy.state(numpy_random)

    def _state_of(self, snapshot: Snapshot) -> tuple[Any, ...]:
        state: tuple[Any, ...] = snapshot[0]
        return state if self._twister is None else self._twister.state(snapshot[0])

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the generators to the state of the snapshot."""
        _set_state(self._state_of(snapshot))
        numpy_random = _modules.get("numpy.random")
        if snapshot[1] is not None and numpy_random is not None:
            numpy_random.set_state(snapshot[1])

    @contextlib.contextmanager
    def seeded(self, seed: int) -> Iterator[None]:
        """Within the block, all generators draw the numbers of this seed."""
        option = self._config.option
        randomly_seed = self._randomly_seed()
        hypothesis_core: Any = _modules.get("hypothesis.core")
        forced_seed = getattr(hypothesis_core, "global_force_seed", None)
        try:
            if randomly_seed is not None:
                option.randomly_seed = seed
            apply_seed(seed)
            yield
        finally:
            if randomly_seed is not None:
                option.randomly_seed = randomly_seed
            if hasattr(hypothesis_core, "global_force_seed"):
                hypothesis_core.global_force_seed = forced_seed

    def as_json(self, snapshot: Snapshot) -> RandomState:
        """A snapshot as values for JSON."""
        version, numbers, gauss = self._state_of(snapshot)
        return {
            "random": [version, list(numbers), gauss],
            "numpy": _numpy_as_json(snapshot[1]),
            "seed": self._randomly_seed(),
        }

    def _randomly_seed(self) -> int | None:
        seed = getattr(self._config.option, "randomly_seed", None)
        resets = getattr(self._config.option, "randomly_reset_seed", False)
        plugin = _modules.get("pytest_randomly")
        is_active = plugin is not None and self._config.pluginmanager.is_registered(plugin)
        return seed if resets and is_active and isinstance(seed, int) else None


def _numpy_as_json(state: Any) -> list[Any] | None:
    if state is None:
        return None
    name, numbers, position, has_gauss, gauss = state
    return [str(name), numbers.tolist(), int(position), int(has_gauss), float(gauss)]


class PythonTwister:
    """The memory of the generator of `random`: after the header of the object its position, then its words."""

    def __init__(self, getstate: Any) -> None:
        self._generator = getstate.__self__
        self._version = getstate()[0]
        self._memory = _view_of_memory(id(self._generator) + object.__basicsize__, _STATE_BYTES)
        self.copy = self._copier()

    def _copier(self) -> Callable[[], tuple[bytes, Any]]:
        """A function that copies the memory, and the number that `gauss` has stored for its next call."""
        memory, generator, read_part = self._memory, self._generator, self._memory[:_COMPARED_BYTES].tobytes
        last_part, last_copy, last_gauss = b"", (b"", None), None

        def copy() -> tuple[bytes, Any]:
            nonlocal last_part, last_copy, last_gauss
            part, gauss = read_part(), generator.gauss_next
            if part != last_part or gauss is not last_gauss:
                last_part, last_copy, last_gauss = part, (memory.tobytes(), gauss), gauss
            return last_copy

        return copy

    def state(self, copy: tuple[bytes, Any]) -> tuple[Any, ...]:
        """What `random.getstate` would have returned."""
        memory, gauss = copy
        position, *words = array("I", memory)
        return self._version, (*words, position), gauss


def python_twister(getstate: Any, tests: int) -> PythonTwister | None:
    """The generator's memory, if it has the expected layout; None if not."""
    can_read = "_ctypes" in sys.modules or tests >= _MIN_TESTS
    if sys.implementation.name != "cpython" or array("I").itemsize != 4 or not can_read:
        return None
    try:
        twister = PythonTwister(getstate)
    except (ImportError, AttributeError):  # Python without ctypes, or a replaced `random.getstate`
        return None
    return twister if twister.state(twister.copy()) == getstate() else None


class NumpyTwister:
    """numpy's global generator. Its memory does not contain the stored gauss number, so it only shows changes."""

    def __init__(self) -> None:
        self._generator: Any = None
        self._read_part: Callable[[], bytes] = bytes
        self._last_part = b""
        self._last_state: Any = None

    def state(self, numpy_random: Any) -> Any:
        """numpy's legacy state; None for a generator without one."""
        generator = numpy_random.get_bit_generator() if hasattr(numpy_random, "get_bit_generator") else None
        if generator is not self._generator:
            self._use(generator)
        if generator is not None and type(generator).__name__ != "MT19937":
            return None
        part = self._read_part()
        # Drawing a stored gauss number does not move the position; without one, nothing can have changed.
        if not part or part != self._last_part or self._last_state is None or self._last_state[3]:
            self._last_part, self._last_state = part, _legacy_state(numpy_random)
        return self._last_state

    def _use(self, generator: Any) -> None:
        self._generator, self._last_part, self._read_part = generator, b"", bytes
        # numpy has imported ctypes itself.
        if type(generator).__name__ == "MT19937" and "ctypes" in sys.modules:
            # In numpy the position comes after the words.
            address = generator.ctypes.state_address + _STATE_BYTES - _COMPARED_BYTES
            self._read_part = _view_of_memory(address, _COMPARED_BYTES).tobytes


def _legacy_state(numpy_random: Any) -> Any:
    state = numpy_random.get_state()
    return state if isinstance(state, tuple) and state[0] == "MT19937" else None


def _view_of_memory(address: int, size: int) -> memoryview:
    """A view of memory that can be read without calling a foreign function."""
    import _ctypes

    # The C part of `ctypes`, because importing all of it would take three times as long.
    char = type("char", (_ctypes._SimpleCData,), {"_type_": "c"})
    chars: Any = type("chars", (_ctypes.Array,), {"_type_": char, "_length_": size})
    return memoryview(chars.from_address(address)).cast("B")
