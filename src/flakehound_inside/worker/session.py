"""Stop a real pytest session after collection, say what it holds, then serve runs or make the one asked for."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.items import is_repeatable
from flakehound_inside.random_seeds import generator_digests, saved_state
from flakehound_inside.recorder import Recorder
from flakehound_inside.worker.child import Child
from flakehound_inside.worker.disable_plugins import silence_terminal
from flakehound_inside.worker.fork_hazards import open_descriptors, reasons_against_forking
from flakehound_inside.worker.prefill_inspect import remember_source_files
from flakehound_inside.worker.server import Server
from flakehound_inside.worker.supervise import end_children

if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from flakehound_inside.message_types import Asked, Request, Settings
    from flakehound_inside.observe.writes import WriteWatch
    from flakehound_inside.worker.disable_plugins import Quiet

_COLLECTION_ERROR_LIMIT = 4000


class HuntSession:
    """The pytest plugin that takes over when the tests would start."""

    def __init__(self, settings: Settings, quiet: Quiet, watch: WriteWatch | None = None) -> None:
        self._watch = watch
        self._settings = settings
        self._quiet = quiet
        self._errors: list[dict[str, str]] = []
        # Before any conftest is imported: it may open what a fork cannot share.
        self._descriptors = open_descriptors()
        self._began = isolated_os.clock()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep pytest's own words about what could not be collected."""
        if report.failed:
            self._errors.append({"id": report.nodeid, "text": report.longreprtext[-_COLLECTION_ERROR_LIMIT:]})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> NoReturn:
        """Everything is collected: answer requests instead of running the tests."""
        stops = bool(self._errors) and not session.config.option.continue_on_collection_errors
        against = reasons_against_forking(self._descriptors)
        self._tell_suite(session, against, stops)
        if stops or not session.items:
            _leave(session.config)
        child = Child(session, Recorder(None), saved_state(), self._descriptors)
        if self._watch is not None:
            self._watch.phase = "tests"
        if self._settings["mode"] == "once":
            child.run_in_this_process(_with_numbers(self._settings["request"], session.items))
        if not against or self._settings.get("force_fork"):
            silence_terminal(session.config)
            remember_source_files()
            gc.collect()
            gc.freeze()
            Server(self._settings, child).serve()
        _leave(session.config)

    def _tell_suite(self, session: pytest.Session, against: list[str], stops: bool) -> None:
        handshake = {
            "tests": [_described(item) for item in session.items],
            "errors": self._errors,
            "stops_on_errors": stops,
            "against_forking": against if isolated_os.fork is not None else ["this platform has no fork"],
            "digests": generator_digests(),
            "switched_off": self._quiet.switched_off,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "pytest": pytest.__version__,
            "rootdir": str(session.config.rootpath),
            "collection_s": isolated_os.clock() - self._began,
        }
        path = self._settings["handshake"]
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(isolated_os.dumps(handshake))
        os.replace(path + ".part", path)


def _described(item: pytest.Item) -> list[str | bool]:
    module = item.getparent(pytest.Module)
    return [
        item.nodeid,
        module.nodeid if module is not None else item.nodeid.split("::", 1)[0],
        item.parent.nodeid if item.parent is not None else "",
        is_repeatable(item),
    ]


def _with_numbers(request: Asked, items: Sequence[pytest.Item]) -> Request:
    """The request with its ids looked up in this very collection; None where an id is gone."""
    numbers: dict[str, int] = {}
    for number, item in enumerate(items):
        numbers.setdefault(item.nodeid, number)
    return {**request, "order": [numbers.get(node_id) for node_id in request["ids"] or numbers]}


def _leave(config: pytest.Config) -> NoReturn:
    # Not the ordinary way out: it would write empty JUnit and HTML reports over the user's.
    try:
        config._ensure_unconfigure()
        end_children()
    finally:
        isolated_os.exit(0)
