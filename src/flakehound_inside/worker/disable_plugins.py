"""Disables plugins and options that reorder, rerun, distribute or measure tests, and reports which.

Done after the options are parsed: `-p no:NAME` would turn the user's own `--reruns 2` in addopts into an
unknown option. Markers stay registered for the same reason (`--strict-markers`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import Iterable, Iterator

# Reasons for disabling a plugin, by entry-point name.
DISABLED_PLUGINS = {
    "randomly": "changes the order and the seeds",
    "random_order": "changes the order",
    "random-order": "changes the order",
    "reverse": "changes the order",
    "rerunfailures": "reruns failing tests",
    "flaky": "reruns failing tests",
    "flaky.flaky_pytest_plugin": "reruns failing tests",
    "pytest_repeat": "repeats tests",
    "repeat": "repeats tests",
    "flakefinder": "repeats tests",
    "pytest_flakefinder": "repeats tests",
    "replay": "changes the order",
    "xdist": "spreads tests over processes",
    "xdist.looponfail": "reruns failing tests",
}

# Values with which an option has no effect. Most of these options are set by the user's addopts.
_NEUTRAL_OPTIONS: dict[str, object] = {
    "maxfail": 0,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,  # implies stepwise
    "stepwise_reset": False,
    "usepdb": False,
    "trace": False,
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    "reruns": 0,
    "flake_finder_enable": False,
}

# Values with which the plugin of an option writes no report, which would overwrite that of the user.
_NO_REPORT: dict[str, object] = {
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "json_report": False,
    "allure_report_dir": None,
    "log_file": os.devnull,  # None would mean the file that the project's settings name
}

# xdist is disabled first: with it, rerunfailures would open a socket and start a thread.
_DISABLED_FIRST = ("xdist", "xdist_group: specify group for tests should run in same session.")


class DisablePlugins:
    """A pytest plugin that disables other plugins and records which ones."""

    def __init__(self, keep: Iterable[str] = ()) -> None:
        self._keep = frozenset(keep)
        self.switched_off: dict[str, str] = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Disable pytest-cov, which starts this early."""
        options = early_config.known_args_namespace
        if "cov" not in self._keep and getattr(options, "cov_source", None):
            options.cov_source = []
            self.switched_off["pytest-cov"] = "measures coverage"
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Disable options, and xdist, which starts its workers in this hook."""
        for name, neutral in _NEUTRAL_OPTIONS.items():
            value = getattr(config.option, name, neutral)
            if value != neutral and not (name in ("numprocesses", "dist", "tx") and "xdist" in self._keep):
                setattr(config.option, name, neutral)
                if value:
                    self.switched_off["--" + name.replace("_", "-")] = "does not fit a hunt"
        for name, neutral in _NO_REPORT.items():
            if hasattr(config.option, name):
                setattr(config.option, name, neutral)
        name, marker = _DISABLED_FIRST
        if self._disable(config.pluginmanager, name):
            config.addinivalue_line("markers", marker)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        """Disable plugins after they have registered their markers."""
        for name in DISABLED_PLUGINS:
            self._disable(session.config.pluginmanager, name)
        yield

    def _disable(self, manager: pytest.PytestPluginManager, name: str) -> bool:
        plugin = manager.get_plugin(name)
        if plugin is None or name in self._keep:
            return False
        manager.unregister(plugin)
        package = name.partition(".")[0].replace("_", "-").replace("pytest-", "")
        self.switched_off.setdefault("pytest-" + package, DISABLED_PLUGINS[name])
        return True


_TERMINAL_HOOKS = ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish")


def silence_terminal(config: pytest.Config) -> None:
    """Keep the terminal reporter from reporting tests: it is not read, and costs time in every forked process.

    It stays registered because conftest files look it up by name.
    """
    reporter = config.pluginmanager.getplugin("terminalreporter")
    for name in _TERMINAL_HOOKS:
        try:
            getattr(config.hook, name)._remove_plugin(reporter)
        except (AttributeError, ValueError, AssertionError):  # noqa: PERF203 (another reporter, or none)
            continue
