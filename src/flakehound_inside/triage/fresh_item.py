"""A second item for a failed test: clean, and heard by nobody but us."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from flakehound_inside.items import fresh_copy

if TYPE_CHECKING:
    from typing import Any, Callable

    import pluggy
    import pytest

    Hear = Callable[[pytest.TestReport], None]

# Hooks that would make a rerun part of the user's results. Not a plugin's state is touched by leaving them out:
# `pytest_exception_interact` opens debuggers, the others write down.
_UNHEARD = (
    "pytest_runtest_logstart",
    "pytest_runtest_logfinish",
    "pytest_exception_interact",
    "pytest_warning_recorded",
)


class Original:
    """A failed test, from which twins can be made."""

    def __init__(self, item: pytest.Item, doctest_names: dict[str, Any] | None) -> None:
        self.item = item
        self._doctest_names = doctest_names  # running a doctest clears its names

    def twin(self, hear: Hear | None = None) -> pytest.Item:
        """An item that runs the same test; `hear` gets what a plugin reports of it meanwhile."""
        twin: Any = fresh_copy(self.item)
        _forget_first_run(twin)
        if self._doctest_names is not None:
            twin.dtest.globs = dict(self._doctest_names)
        twin._flakehound_hooks = _HeardByUs(self.item.ihook, hear or _Silence())
        twin.__class__ = _deaf_kind(type(self.item))
        muted: pytest.Item = twin
        return muted


def _forget_first_run(twin: Any) -> None:
    twin._report_sections = []
    # A TestCase that failed twice, in its test and in its tearDown, has one exception left over.
    twin.__dict__.pop("_excinfo", None)


@functools.lru_cache(maxsize=None)
def _deaf_kind(kind: type[pytest.Item]) -> type[pytest.Item]:
    """The same kind of item, whose hooks are those of `_flakehound_hooks`."""
    hooks = property(lambda self: self._flakehound_hooks)
    # No slots of its own: an object can change its class only to one of the same layout.
    body = {"ihook": hooks, "__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    deaf: type[pytest.Item] = type(kind)(kind.__name__, (kind,), body)  # type: ignore[misc]  # with its metaclass
    return deaf


class _HeardByUs:
    """The hooks of an item, except that nobody else learns how the test ends."""

    def __init__(self, relay: pluggy.HookRelay, hear: Hear) -> None:
        self._relay = relay
        self._hear = hear
        for name in _UNHEARD:
            setattr(self, name, _Silence())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A report that comes on another way than the protocol's, as those of subtests do."""
        self._hear(report)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._relay, name)


class _Silence:
    """A hook with no plugin behind it."""

    def __call__(self, *_arguments: object, **_named: object) -> None:
        """Nobody is told."""

    def call_historic(self, *_arguments: object, **_named: object) -> None:
        """Nobody is told, now or later."""
