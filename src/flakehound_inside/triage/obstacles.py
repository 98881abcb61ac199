"""Why a failed test cannot be run again in its own process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.items import is_repeatable
from flakehound_inside.triage.failed_fixtures import failed_collector

if TYPE_CHECKING:
    from typing import Any

    import pytest


def obstacle(item: pytest.Item) -> str | None:
    """The reason not to rerun the item here at all; None when there is none."""
    option = item.config.option
    if getattr(option, "usepdb", False) or getattr(option, "trace", False):
        return "a debugger is in use"
    if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
        return "pytest only sets tests up"
    if not is_repeatable(item):
        return "pytest cannot run a %s twice" % type(item).__name__
    if _runs_in_a_fork(item):
        return "pytest-forked runs it in a process of its own"
    if _would_be_killed(item):
        return "pytest-timeout, with its method thread, would end the whole run if a rerun took too long"
    return None


def obstacle_now(item: pytest.Item) -> str | None:
    """The reason not to rerun it right after its failure, although it can be rerun later."""
    collector = failed_collector(item)
    return None if collector is None else "%s itself could not be set up" % collector


def _runs_in_a_fork(item: pytest.Item) -> bool:
    if _plugin(item, "pytest_forked") is None:
        return False
    return bool(getattr(item.config.option, "forked", False)) or item.get_closest_marker("forked") is not None


def _would_be_killed(item: pytest.Item) -> bool:
    timeouts = _plugin(item, "pytest_timeout")
    if timeouts is None:
        return False
    try:
        settings = timeouts._get_item_settings(item)
        return bool(settings.timeout and settings.timeout > 0 and settings.method == "thread")
    except Exception:  # another version of it
        return False


def _plugin(item: pytest.Item, module: str) -> Any:
    """The plugin that is a whole module, if it is in use; its name among plugins depends on how it was loaded."""
    plugin = sys.modules.get(module)
    return plugin if plugin is not None and item.config.pluginmanager.is_registered(plugin) else None
