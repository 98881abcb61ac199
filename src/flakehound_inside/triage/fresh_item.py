"""A second item for a failed test, without anything left over from the failure, that reports only to us."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from _pytest.outcomes import TEST_OUTCOME

from flakehound_inside.items import fresh_copy

if TYPE_CHECKING:
    from typing import Any, Callable

    import pluggy
    import pytest

    OnReport = Callable[[pytest.TestReport], None]

# Hooks that would make a rerun part of the user's results. They can be skipped: `pytest_exception_interact` opens
# debuggers, and the others only record.
_SKIPPED_HOOKS = (
    "pytest_runtest_logstart",
    "pytest_runtest_logfinish",
    "pytest_exception_interact",
    "pytest_warning_recorded",
)


class FailedItem:
    """A failed test, from which fresh items can be created."""

    def __init__(self, item: pytest.Item, doctest_names: dict[str, Any] | None) -> None:
        self.item = item
        self._doctest_names = doctest_names  # running a doctest clears its names

    def fresh_item(self, on_report: OnReport | None = None) -> pytest.Item:
        """A new item for the same test; `on_report` gets the reports of plugins while it runs."""
        fresh: Any = fresh_copy(self.item)
        fresh._report_sections = []
        # A TestCase that failed both in its test and in its tearDown still has one of the exceptions.
        fresh.__dict__.pop("_excinfo", None)
        if self._doctest_names is not None:
            fresh.dtest.globs = dict(self._doctest_names)
        fresh._flakehound_hooks = _PrivateHooks(self.item.ihook, on_report or _NoHook())
        fresh.__class__ = _with_private_hooks(type(self.item))
        item: pytest.Item = fresh
        return item


@functools.lru_cache(maxsize=None)
def _with_private_hooks(kind: type[pytest.Item]) -> type[pytest.Item]:
    """The same kind of item, whose hooks are those of `_flakehound_hooks`."""
    hooks = property(lambda self: self._flakehound_hooks)
    # Without slots, because an object can only change to a class with the same layout.
    body = {"ihook": hooks, "__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    subclass: type[pytest.Item] = type(kind)(kind.__name__, (kind,), body)  # type: ignore[misc]  # its metaclass
    return subclass


class _PrivateHooks:
    """The hooks of an item, without those by which other plugins would get the outcome of the test."""

    def __init__(self, relay: pluggy.HookRelay, on_report: OnReport) -> None:
        self._relay = relay
        self._on_report = on_report
        for name in _SKIPPED_HOOKS:
            setattr(self, name, _NoHook())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Pass on a report that does not come from the test protocol, such as those of subtests."""
        self._on_report(report)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._relay, name)


class _NoHook:
    """A hook that no plugin implements."""

    def __call__(self, *_arguments: object, **_named: object) -> None:
        """Do nothing."""

    def call_historic(self, *_arguments: object, **_named: object) -> None:
        """Do nothing, now or later."""


class FailedFixtures:
    """Wider fixtures whose setup failed: pytest stores their exception and raises it for each test.

    A rerun must set them up again, and the tests after it must get the first exception again.
    """

    def __init__(self, failed_item: FailedItem) -> None:
        self._failed_item = failed_item
        self._failed = [
            (definition, definition.cached_result)
            for definition in _definitions(failed_item.item)
            if definition.cached_result is not None and definition.cached_result[2] is not None
        ]

    def forget(self) -> None:
        """Make the next setup call the fixture functions again."""
        for definition, _result in self._failed:
            self._finish(definition)

    def restore(self) -> None:
        """Tear down what was set up since then, and make later tests get the first exception again."""
        for definition, result in self._failed:
            self._finish(definition)
            definition.cached_result = result

    def _finish(self, definition: Any) -> None:
        if definition.cached_result is None:
            return
        request = self._failed_item.fresh_item()._request  # type: ignore[attr-defined]  # every item with fixtures has one
        try:
            definition.finish(request)
        except TEST_OUTCOME:
            # Raised by the teardown of a fixture that only a rerun has set up. pytest discards the value anyway.
            definition.cached_result = None


def _definitions(item: pytest.Item) -> list[Any]:
    """The fixtures that the item uses; of several with one name, the closest comes last."""
    by_name = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return [definition for definitions in by_name.values() for definition in definitions]


def has_wider_fixtures(item: pytest.Item) -> bool:
    """Whether the test uses a fixture of the project or of one of its plugins that outlives the test."""
    return any(_is_wider(definition, item) for definition in _definitions(item))


def _is_wider(definition: Any, item: pytest.Item) -> bool:
    if getattr(definition, "scope", "function") == "function":
        return False
    name: str = definition.argname
    if "unittest_setUpClass" in name:  # every TestCase has one; most are unittest's own, and do nothing
        setup = getattr(getattr(item, "cls", None), "setUpClass", None)
        return getattr(setup, "__module__", None) != "unittest.case"
    module = getattr(definition.func, "__module__", None) or ""
    # setup_module and the like are fixtures that pytest makes, with such names.
    return "xunit_setup" in name or not module.startswith(("_pytest.", "pytest_asyncio", "anyio"))


def failed_collector(item: pytest.Item) -> str | None:
    """The collector whose own setup failed and whose exception pytest raises for each of its tests."""
    stack: Any = getattr(item.session._setupstate, "stack", {})
    if not isinstance(stack, dict):  # pytest 6.2 stores it on the collector
        return None
    return next((node.nodeid for node, (_finalizers, error) in stack.items() if error is not None), None)
