"""Stops a pytest session after collection, reports the collected tests, then serves runs or makes a single run."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.import_generators import ImportGenerators
from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.items import is_repeatable
from flakehound_inside.proc_filesystem import open_descriptors
from flakehound_inside.random_seeds import generator_digests, random_state
from flakehound_inside.recorder import Recorder
from flakehound_inside.worker.child import RequestRunner
from flakehound_inside.worker.disable_plugins import silence_terminal
from flakehound_inside.worker.fork_hazards import reasons_against_forking
from flakehound_inside.worker.native_threads import hide_limits
from flakehound_inside.worker.prefill_inspect import prefill_source_files
from flakehound_inside.worker.server import SlotServer
from flakehound_inside.worker.supervise import end_children

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from flakehound_inside.message_types import PytestSessionSettings, RunRequest, RunRequestByIds
    from flakehound_inside.observe.writes import WriteObserver
    from flakehound_inside.worker.disable_plugins import DisablePlugins

_COLLECTION_ERROR_LIMIT = 4000


class HuntSession:
    """The pytest plugin that takes control after collection, instead of running the tests."""

    def __init__(
        self, settings: PytestSessionSettings, disable_plugins: DisablePlugins, writes: WriteObserver | None = None
    ) -> None:
        self._writes = writes
        self._settings = settings
        self._disable_plugins = disable_plugins
        self._errors: list[dict[str, str]] = []
        # Read before any conftest is imported, because it may open files that a fork cannot share.
        self._descriptors = open_descriptors()
        self._started_s = isolated_os.clock()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record pytest's report about a module that could not be collected."""
        if report.failed:
            self._errors.append({"id": report.nodeid, "text": report.longreprtext[-_COLLECTION_ERROR_LIMIT:]})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> NoReturn:
        """Answer requests instead of running the collected tests."""
        has_fatal_errors = bool(self._errors) and not session.config.option.continue_on_collection_errors
        hide_limits(self._settings.get("env_of_collection", ()))
        reasons = reasons_against_forking(self._descriptors)
        global_state, generators = random_state(), ImportGenerators()
        self._write_handshake(session, reasons, has_fatal_errors, generators.digests())
        if has_fatal_errors or not session.items:
            _exit_session(session.config)
        runner = RequestRunner(session, Recorder(None), global_state, generators, self._descriptors)
        if self._writes is not None:
            self._writes.phase = "tests"
        if self._settings["mode"] == "once":
            runner.run_in_this_process(_with_numbers(self._settings["request"], session.items))
        if not reasons or self._settings.get("force_fork"):
            silence_terminal(session.config)
            prefill_source_files()
            gc.collect()
            gc.freeze()
            SlotServer(self._settings, runner).serve()
        _exit_session(session.config)

    def _write_handshake(
        self, session: pytest.Session, reasons: list[str], has_fatal_errors: bool, digests: dict[str, str]
    ) -> None:
        handshake = {
            "tests": [_describe(item) for item in session.items],
            "errors": self._errors,
            "stops_on_errors": has_fatal_errors,
            "against_forking": reasons if isolated_os.fork is not None else ["this platform has no fork"],
            "digests": {**generator_digests(), **digests},
            "switched_off": self._disable_plugins.switched_off,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "pytest": pytest.__version__,
            "rootdir": str(session.config.rootpath),
            "import_path": [str(entry) for entry in sys.path],
            "folders": sorted({os.path.dirname(_file_of(item)) for item in session.items}),
            "collection_s": isolated_os.clock() - self._started_s,
        }
        path = self._settings["handshake"]
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(isolated_os.dumps(handshake))
        os.replace(path + ".part", path)


def _describe(item: pytest.Item) -> list[str | bool]:
    module = item.getparent(pytest.Module)
    return [
        item.nodeid,
        module.nodeid if module is not None else item.nodeid.split("::", 1)[0],
        item.parent.nodeid if item.parent is not None else "",
        is_repeatable(item),
    ]


def _file_of(item: pytest.Item) -> str:
    """The file of a test; a node id does not tell it for tests outside of the rootdir, such as with `--pyargs`."""
    # `path` exists since pytest 7.
    return str(getattr(item, "path", None) or item.fspath)


def _with_numbers(request: RunRequestByIds, items: Sequence[pytest.Item]) -> RunRequest:
    """The request with its ids as numbers of this collection; None for an id that was not collected."""
    numbers: dict[str, int] = {}
    for number, item in enumerate(items):
        numbers.setdefault(item.nodeid, number)
    return {**request, "order": [numbers.get(node_id) for node_id in request["ids"] or numbers]}


def _exit_session(config: pytest.Config) -> NoReturn:
    # Not by returning: pytest would overwrite the user's JUnit and HTML reports with empty ones.
    try:
        config._ensure_unconfigure()
        end_children()
    finally:
        isolated_os.exit(0)
