"""The random generators beside a test: keep their state, seed them for a rerun, put everything back."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import TYPE_CHECKING

from flakehound_inside.random_seeds import apply_seed
from flakehound_inside.triage.generator_memory import NumpyTwister, python_twister

if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

    import pytest

    from flakehound_inside.message_types import RandomState
    from flakehound_inside.triage.generator_memory import PythonTwister

    # The state at one moment: of `random` as `Generators` copied it, and numpy's (None: it was not loaded). A
    # tuple, because one is made before every test.
    Snapshot = tuple[Any, Any]

_set_state, _state_of_random = random.setstate, random.getstate
_modules = sys.modules


class Generators:
    """The global generators of `random` and numpy, and the seed that pytest-randomly sets before each phase."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._numpy = NumpyTwister()
        self._twister: PythonTwister | None = None
        self._copy: Callable[[], Any] = _state_of_random

    def prepare(self, tests: int) -> None:
        """Choose how to copy the state before each of so many tests."""
        self._twister = python_twister(_state_of_random, tests)
        self._copy = _state_of_random if self._twister is None else self._twister.copy

    def snapshot(self) -> Snapshot:
        """The state now; asked before every test, so it has to be cheap."""
        numpy_random = _modules.get("numpy.random")
        return self._copy(), None if numpy_random is None else self._numpy.state(numpy_random)

    def _state_in(self, snapshot: Snapshot) -> tuple[Any, ...]:
        state: tuple[Any, ...] = snapshot[0]
        return state if self._twister is None else self._twister.state(snapshot[0])

    def put_back(self, snapshot: Snapshot) -> None:
        """Let the generators go on as if nothing had drawn from them since."""
        _set_state(self._state_in(snapshot))
        numpy_random = _modules.get("numpy.random")
        if snapshot[1] is not None and numpy_random is not None:
            numpy_random.set_state(snapshot[1])

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
        version, numbers, gauss = self._state_in(snapshot)
        return {
            "random": [version, list(numbers), gauss],
            "numpy": _numpy_told(snapshot[1]),
            "seed": self._randomly_seed(),
        }

    def _randomly_seed(self) -> int | None:
        seed = getattr(self._config.option, "randomly_seed", None)
        resets = getattr(self._config.option, "randomly_reset_seed", False)
        plugin = _modules.get("pytest_randomly")
        active = plugin is not None and self._config.pluginmanager.is_registered(plugin)
        return seed if resets and active and isinstance(seed, int) else None


def _numpy_told(state: Any) -> list[Any] | None:
    if state is None:
        return None
    name, numbers, place, has_gauss, gauss = state
    return [str(name), numbers.tolist(), int(place), int(has_gauss), float(gauss)]
