"""Wider fixtures whose setup failed: set up again for a rerun, and failed as before for the tests after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _pytest.outcomes import TEST_OUTCOME

if TYPE_CHECKING:
    from typing import Any

    import pytest

    from flakehound_inside.triage.fresh_item import Original


class FailedFixtures:
    """pytest keeps the exception of a module's fixture and raises it for each test; a rerun must try again."""

    def __init__(self, original: Original) -> None:
        self._original = original
        self._failed = [
            (definition, definition.cached_result)
            for definition in _definitions(original.item)
            if definition.cached_result is not None and definition.cached_result[2] is not None
        ]

    def forget(self) -> None:
        """Let the next setup call the fixture functions again."""
        for definition, _result in self._failed:
            self._finish(definition)

    def put_back(self) -> None:
        """Tear down what has been set up since, and let later tests meet the first exception again."""
        for definition, result in self._failed:
            self._finish(definition)
            definition.cached_result = result

    def _finish(self, definition: Any) -> None:
        if definition.cached_result is None:
            return
        request = self._original.twin()._request  # type: ignore[attr-defined]  # every item with fixtures has one
        try:
            definition.finish(request)
        except TEST_OUTCOME:
            # Raised by the teardown of what only a rerun set up. pytest forgets the value all the same.
            definition.cached_result = None


def _definitions(item: pytest.Item) -> list[Any]:
    """The fixtures in use; of several with one name, the nearest comes last."""
    by_name = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return [definition for definitions in by_name.values() for definition in definitions]


def has_wider_fixtures(item: pytest.Item) -> bool:
    """Whether the project, or a plugin of its, has a fixture in use that outlives the test."""
    return any(_is_wider(definition, item) for definition in _definitions(item))


def _is_wider(definition: Any, item: pytest.Item) -> bool:
    if getattr(definition, "scope", "function") == "function":
        return False
    name: str = definition.argname
    if "unittest_setUpClass" in name:  # every TestCase has one; most are unittest's own, and do nothing
        setup = getattr(getattr(item, "cls", None), "setUpClass", None)
        return getattr(setup, "__module__", None) != "unittest.case"
    home = getattr(definition.func, "__module__", None) or ""
    # setup_module and the like are fixtures that pytest makes, with such names.
    return "xunit_setup" in name or not home.startswith(("_pytest.", "pytest_asyncio", "anyio"))


def failed_collector(item: pytest.Item) -> str | None:
    """The collector whose own setup failed and whose exception pytest raises for each of its tests."""
    stack: Any = getattr(item.session._setupstate, "stack", {})
    if not isinstance(stack, dict):  # pytest 6.2 keeps it on the collector
        return None
    return next((node.nodeid for node, (_finalizers, error) in stack.items() if error is not None), None)
