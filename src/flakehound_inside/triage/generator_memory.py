"""Copy the state of a random generator from memory.

Python builds 625 numbers to tell the state of `random`, numpy needs 40 µs; either would be the larger part of what
a test that passes pays. A look at the memory takes less than 1 µs, and becomes numbers only for a test that fails.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Callable

_WORDS = 624  # of a Mersenne twister, and one more for the place in them
_BYTES = (_WORDS + 1) * 4
# The place and a few words are enough to tell that nothing has moved: each number drawn moves the place, and when
# that is back where it was, every word is another.
_MARK_BYTES = 9 * 4
_ENOUGH_TESTS = 100  # to be worth the 1 ms of importing _ctypes


def _may_look(tests: int) -> bool:
    return "_ctypes" in sys.modules or tests >= _ENOUGH_TESTS


def _window(address: int, size: int) -> memoryview:
    """A view of memory that costs no call of a foreign function to look through."""
    import _ctypes

    # What `ctypes` is made of: importing all of it would take three times as long.
    char = type("char", (_ctypes._SimpleCData,), {"_type_": "c"})
    chars: Any = type("chars", (_ctypes.Array,), {"_type_": char, "_length_": size})
    return memoryview(chars.from_address(address)).cast("B")


class PythonTwister:
    """The memory of the generator behind `random`: behind the head of every object its place, then its words."""

    def __init__(self, getstate: Any) -> None:
        self._generator = getstate.__self__
        self._version = getstate()[0]
        self._memory = _window(id(self._generator) + object.__basicsize__, _BYTES)
        self.copy = self._copier()

    def _copier(self) -> Callable[[], tuple[bytes, Any]]:
        """Copies the memory, and the number that `gauss` keeps for its next call."""
        memory, generator, look = self._memory, self._generator, self._memory[:_MARK_BYTES].tobytes
        mark, kept, kept_gauss = b"", (b"", None), None

        def copy() -> tuple[bytes, Any]:
            nonlocal mark, kept, kept_gauss
            now, gauss = look(), generator.gauss_next
            if now != mark or gauss is not kept_gauss:
                mark, kept, kept_gauss = now, (memory.tobytes(), gauss), gauss
            return kept

        return copy

    def state(self, copied: tuple[bytes, Any]) -> tuple[Any, ...]:
        """What `random.getstate` would have said."""
        memory, gauss = copied
        place, *words = array("I", memory)
        return self._version, (*words, place), gauss


def python_twister(getstate: Any, tests: int) -> PythonTwister | None:
    """The generator's memory, if it is proven to hold what we believe; None in another Python."""
    if sys.implementation.name != "cpython" or array("I").itemsize != 4 or not _may_look(tests):
        return None
    try:
        twister = PythonTwister(getstate)
    except (ImportError, AttributeError):  # Python without ctypes, or somebody's own `random.getstate`
        return None
    return twister if twister.state(twister.copy()) == getstate() else None


class NumpyTwister:
    """numpy's global generator. Its memory lacks the number kept for the next gauss; it only tells of change."""

    def __init__(self) -> None:
        self._generator: Any = None
        self._look: Callable[[], bytes] = bytes
        self._mark = b""
        self._kept: Any = None

    def state(self, numpy_random: Any) -> Any:
        """numpy's legacy state; None of a generator that has none."""
        generator = numpy_random.get_bit_generator() if hasattr(numpy_random, "get_bit_generator") else None
        if generator is not self._generator:
            self._watch(generator)
        if generator is not None and type(generator).__name__ != "MT19937":
            return None
        mark = self._look()
        # A kept gauss is used up without a move; without one, nothing can have changed.
        if not mark or mark != self._mark or self._kept is None or self._kept[3]:
            self._mark, self._kept = mark, _legacy_state(numpy_random)
        return self._kept

    def _watch(self, generator: Any) -> None:
        self._generator, self._mark, self._look = generator, b"", bytes
        # numpy has imported ctypes itself.
        if type(generator).__name__ == "MT19937" and "ctypes" in sys.modules:
            # Here the place stands behind the words.
            address = generator.ctypes.state_address + _BYTES - _MARK_BYTES
            self._look = _window(address, _MARK_BYTES).tobytes


def _legacy_state(numpy_random: Any) -> Any:
    state = numpy_random.get_state()
    return state if isinstance(state, tuple) and state[0] == "MT19937" else None
