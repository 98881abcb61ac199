"""Switch off what reorders, reruns, spreads or measures tests, and say what was switched off.

Done after the options are parsed: `-p no:NAME` would turn the user's own `--reruns 2` in addopts into an
unknown option. Markers stay registered for the same reason (`--strict-markers`).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from typing import Iterable, Iterator

# Entry-point name -> why it must not act inside a hunted run.
DISTURBING = {
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

# Option -> the value under which it does nothing. Most come from the user's addopts.
_HARMLESS: dict[str, object] = {
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

# Option -> the value under which its plugin writes no report; ours would replace the user's own.
_NO_REPORT: dict[str, object] = {
    "xmlpath": None,
    "htmlpath": None,
    "report_log": None,
    "json_report": False,
    "allure_report_dir": None,
    "log_file": os.devnull,  # None would mean the file that the project's settings name
}

# Must go before it is configured: when it is there, rerunfailures opens a socket and starts a thread.
_GOES_FIRST = ("xdist", "xdist_group: specify group for tests should run in same session.")


class Quiet:
    """A pytest plugin that neutralises others, each exactly once, and remembers which."""

    def __init__(self, keep: Iterable[str] = ()) -> None:
        self._keep = frozenset(keep)
        self.switched_off: dict[str, str] = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Iterator[None]:
        """Coverage starts this early; under it everything is slower and nothing is reported."""
        options = early_config.known_args_namespace
        if "cov" not in self._keep and getattr(options, "cov_source", None):
            options.cov_source = []
            self.switched_off["pytest-cov"] = "measures coverage"
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Iterator[None]:
        """Options first: xdist decides to spread tests in this very hook."""
        for name, harmless in _HARMLESS.items():
            value = getattr(config.option, name, harmless)
            if value != harmless and not (name in ("numprocesses", "dist", "tx") and "xdist" in self._keep):
                setattr(config.option, name, harmless)
                if value:
                    self.switched_off["--" + name.replace("_", "-")] = "does not fit a hunt"
        for name, harmless in _NO_REPORT.items():
            if hasattr(config.option, name):
                setattr(config.option, name, harmless)
        name, marker = _GOES_FIRST
        if self._switch_off(config.pluginmanager, name):
            config.addinivalue_line("markers", marker)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        """Plugins next, after each has registered its markers."""
        for name in DISTURBING:
            self._switch_off(session.config.pluginmanager, name)
        yield

    def _switch_off(self, manager: pytest.PytestPluginManager, name: str) -> bool:
        plugin = manager.get_plugin(name)
        if plugin is None or name in self._keep:
            return False
        manager.unregister(plugin)
        package = name.partition(".")[0].replace("_", "-").replace("pytest-", "")
        self.switched_off.setdefault("pytest-" + package, DISTURBING[name])
        return True


_TERMINAL_HOOKS = ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish")


def silence_terminal(config: pytest.Config) -> None:
    """Let the terminal reporter sleep through the tests: nobody reads it, and every child pays for its pages.

    It stays registered; conftest files ask for it by name.
    """
    reporter = config.pluginmanager.getplugin("terminalreporter")
    for name in _TERMINAL_HOOKS:
        try:
            getattr(config.hook, name)._remove_plugin(reporter)
        except (AttributeError, ValueError, AssertionError):  # noqa: PERF203 (another reporter, or none)
            continue
