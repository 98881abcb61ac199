"""Run a request in the process that was started or forked for it, from its first test to its exit."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import traceback
from typing import TYPE_CHECKING

import pytest

from flakehound_inside import random_seeds
from flakehound_inside.events import EventLog, ResultsLost, last_outcome_in
from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.items import fresh_copy, items_for, prepare_tear_down, tear_down_for
from flakehound_inside.proc_filesystem import open_descriptors
from flakehound_inside.worker.folders import FolderSnapshot, FolderTooLarge
from flakehound_inside.worker.fork_hazards import (
    files_open_for_reading,
    reasons_against_forking,
    separate_read_positions,
)
from flakehound_inside.worker.idle_executors import idle_executors, restart
from flakehound_inside.worker.process import (
    SlotOutput,
    enable_stack_dumps,
    exit_process,
    limit_memory,
    write_error,
)
from flakehound_inside.worker.separate_services import separate_services
from flakehound_inside.worker.supervise import supervise

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Iterable, Mapping, Sequence

    from flakehound_inside.import_generators import ImportGenerators
    from flakehound_inside.message_types import RandomState, RunRequest, SignalHandler
    from flakehound_inside.observe.features.meter import FeatureMeter
    from flakehound_inside.observe.state.observer import StateObserver
    from flakehound_inside.recorder import Recorder

_SESSION_ENDING_ERRORS = (pytest.exit.Exception, KeyboardInterrupt)
RESULTS_LOST_CODE = 74  # the exit code that sysexits.h calls EX_IOERR


class RequestRunner:
    """Runs requests in a pytest session that has collected."""

    def __init__(
        self,
        session: pytest.Session,
        recorder: Recorder,
        random_state: tuple[Any, ...],
        generators: ImportGenerators,
        descriptors: Mapping[int, str],
    ) -> None:
        self._session = session
        self._config = session.config
        self._recorder = recorder
        self._random_state = random_state
        self._generators = generators
        self._files_to_separate = files_open_for_reading(descriptors)
        self._log: EventLog = None  # type: ignore[assignment]  # opened when a request starts
        self._output = SlotOutput(self._config)
        self._meter: FeatureMeter | None = (
            None  # this and the next are created for the first request that needs them
        )
        self._state_observer: StateObserver | None = None
        self._config.pluginmanager.register(recorder, "flakehound-recorder")
        prepare_tear_down(session)

    def run_in_this_process(self, request: RunRequest) -> None:
        """Run a request here and end the process; used in a new interpreter."""
        with _ExitAfter(request):
            self.prepare(request)
            self._move_temporary_files(request["tmp"])
            self._start(request)
            enable_stack_dumps(request["output"])
            try:
                self._run_once(request)
            finally:
                dependency_recorder = self._config.pluginmanager.getplugin("flakehound-dependencies")
                if dependency_recorder is not None:
                    dependency_recorder.finish()
            _call_and_print_error(self._config._ensure_unconfigure)

    def _run_once(self, request: RunRequest) -> None:
        items = items_for(request["order"], self._session.items)
        state = request.get("random_state")
        if not state:
            self._run(items)
        elif self._run(items[:-1], next_item=items[-1]):
            self._restore_generators(state)
            self._run(items[-1:], first=len(items) - 1)

    def _restore_generators(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            state: RandomState = isolated_os.loads(file.read())
        version, numbers, gauss_next = state["random"]
        random_seeds.restore_random((version, tuple(numbers), gauss_next))
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None and state["numpy"]:
            numpy_random.set_state(tuple(state["numpy"]))
        randomly = sys.modules.get("pytest_randomly")
        if randomly is not None and state["seed"] is not None:
            self._config.option.randomly_seed, self._config.option.randomly_reset_seed = state["seed"], True
            self._config.pluginmanager.register(_RandomlySeeding(randomly))

    def redirect_output(self, output: str) -> None:
        """Redirect the output of this process, and of the children forked from it, to a file."""
        self._output.redirect_to(output)

    def run_forked(self, request: RunRequest, signals: Mapping[int, SignalHandler]) -> None:
        """Run a request in the process that was just forked for it, and end that process."""
        with _ExitAfter(request):
            self._begin_fork(request, signals)
            self._run_with_branches(request)

    def _begin_fork(self, request: RunRequest, signals: Mapping[int, SignalHandler]) -> None:
        isolated_os.setsid()
        gc.unfreeze()
        for number, handler in signals.items():
            if handler is not None:  # None: set by C code, and cannot be restored
                isolated_os.set_handler(number, handler)
        separate_read_positions(self._files_to_separate)
        self._move_temporary_files(request["tmp"])
        separate_services(request["slot"])
        self._start(request)

    def _start(self, request: RunRequest) -> None:
        self._log = self._recorder._log = EventLog(request["events"])
        limit_memory(request)
        self._seed(request)
        trace_request = request.get("trace")
        if trace_request:
            from flakehound_inside.observe.calls.plugin import start_trace

            start_trace(self._config, self._recorder, trace_request)
        measure = request.get("measure")
        if self._meter is not None and measure:
            self._recorder.observers.append(self._meter)
            self._meter.start(measure.get("lines", True))
        if self._state_observer is not None and request.get("states"):
            self._recorder.observers.append(self._state_observer)
            self._state_observer.start(request["tmp"])

    def prepare(self, request: RunRequest) -> None:
        """Create the observers that a request needs, once, in the process from which children are forked."""
        measure = request.get("measure")
        if measure is not None and self._meter is None:
            from flakehound_inside.observe.features.meter import FeatureMeter

            self._meter = FeatureMeter(measure, self._session, os.path.dirname(request["events"]))
        if request.get("states") and self._state_observer is None:
            from flakehound_inside.observe.state.observer import StateObserver

            self._state_observer = StateObserver(self._session, os.path.dirname(request["events"]))
            self._state_observer.prepare()

    def _seed(self, request: RunRequest) -> None:
        self_seeded = request.get("self_seeded", ())
        seed = request.get("seed")
        self._generators.seed(seed, self_seeded)
        if "random" in self_seeded:
            random_seeds.restore_random(self._random_state)
        if seed is not None:
            random_seeds.apply_seed(seed, self_seeded)

    def _move_temporary_files(self, folder: str) -> None:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None:
            # The base folder is created when the first test needs it; most never do.
            factory._given_basetemp = type(self._config.rootpath)(folder, "pytest")
            factory._basetemp = None

    def _run_with_branches(self, request: RunRequest) -> None:
        branches = request.get("branches", ())
        order, items = request["order"], self._session.items
        trunk = items_for(order, items)
        if not branches:
            self._run(trunk)
            return
        places = request.get("at") or [len(order)] * len(branches)
        branch_items = [
            items_for(order[:place] + branch, items)[place:]
            for place, branch in zip(places, branches)  # noqa: B905 (Python 3.8)
        ]
        descriptors = open_descriptors()
        # With the last test as next item, fixtures of its class and module stay until the branches are forked.
        trunk.append(items_for([order[-1], order[-1]], items)[1] if order else None)
        finished_tests = 0
        for place in sorted(set(places)):
            next_item = next((item for item in trunk[place:] if item is not None), None)
            if not self._run(trunk[finished_tests:place], next_item=next_item, first=finished_tests):
                return
            finished_tests = place
            due = [(number, items) for number, items in enumerate(branch_items) if places[number] == place]
            if not self._run_branches(request, due, descriptors):
                return

    def _run_branches(
        self,
        request: RunRequest,
        branches: Iterable[tuple[int, Sequence[pytest.Item | None]]],
        descriptors: Mapping[int, str],
    ) -> bool:
        """Run each branch in a fork of this process; False if it cannot be forked or `until` occurred."""
        try:
            reasons = reasons_against_forking(descriptors)
            files, random_state = files_open_for_reading(descriptors), random_seeds.random_state()
            temporary_files = FolderSnapshot(request["tmp"])
            for number, items in branches:
                if reasons:
                    break
                log_size = self._log.size() if request.get("until") else 0
                self._run_branch(number, items, request, files, random_state)
                temporary_files.restore()
                if request.get("until") and last_outcome_in(self._log.content_since(log_size)) == request["until"]:
                    return False
        except (OSError, FolderTooLarge) as error:
            reasons = [str(error)]
        if reasons:
            self._log.write("u " + isolated_os.dumps("; ".join(reasons)))
        return not reasons

    def _run_branch(
        self,
        number: int,
        items: Sequence[pytest.Item | None],
        request: RunRequest,
        files_to_separate: Iterable[int],
        random_state: tuple[Any, ...],
    ) -> None:
        self._log.write("B %d" % number)
        sigchld_handler = isolated_os.handler_of(signal.SIGCHLD)
        if sigchld_handler == signal.SIG_IGN:
            isolated_os.set_handler(signal.SIGCHLD, int(signal.SIG_DFL))
        executors = idle_executors()
        pid = isolated_os.fork()
        if pid == 0:
            restart(executors)
            if sigchld_handler == signal.SIG_IGN:
                isolated_os.set_handler(signal.SIGCHLD, sigchld_handler)
            separate_read_positions(files_to_separate)
            self._run_in_branch(number, items, request, random_state)
        process_end = supervise(pid, request, peer=None)
        self._log.write("b %d %s" % (number, isolated_os.dumps(process_end)))

    def _run_in_branch(
        self, number: int, items: Sequence[pytest.Item | None], request: RunRequest, random_state: tuple[Any, ...]
    ) -> None:
        with _ExitAfter(request):
            isolated_os.setsid()
            self._log.adopt()
            seed = request.get("seed")
            if request["order"]:
                # Python reseeds `random` in a fork, but the branch continues the run of the tests before it.
                random_seeds.restore_random(random_state)
                first = next((item for item in items if item is not None), None)
                _call_and_print_error(tear_down_for, self._session, first)
            else:
                # No test ran before: this is a separate run, with its own seed.
                separate_services(request["slot"])
                self._seed(request if seed is None else {**request, "seed": (seed + number) % 2**32})
            # With a next test, the state is compared before fixtures of the class or module are torn down.
            last = items[-1] if request.get("states") and items else None
            next_item = fresh_copy(last) if last is not None else None
            self._run(items, next_item=next_item)
            if next_item is not None:
                _call_and_print_error(tear_down_for, self._session, None)

    def _run(
        self, items: Sequence[pytest.Item | None], next_item: pytest.Item | None = None, first: int = 0
    ) -> bool:
        """Run the items in order, numbered from `first`; False if one of them ended the session."""
        hook, recorder = self._config.hook, self._recorder
        present = [(place, item) for place, item in enumerate(items, first) if item is not None]
        next_items = [item for _place, item in present[1:]] + [next_item]
        for (place, item), following in zip(present, next_items):  # noqa: B905 (Python 3.8)
            recorder.start(place)
            try:
                hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException as error:
                self._exit_if_forked_by_a_test()
                recorder.stop(error)
                if not isinstance(error, _SESSION_ENDING_ERRORS):
                    raise
                _call_and_print_error(tear_down_for, self._session, None)
                return False
            self._exit_if_forked_by_a_test()
            recorder.end()
        return True

    def _exit_if_forked_by_a_test(self) -> None:
        if not self._log.is_of_this_process():
            isolated_os.exit(0)


class _ExitAfter:
    """Ends the process after the `with` block, also if the block raises an error."""

    def __init__(self, request: RunRequest) -> None:
        self._request = request

    def __enter__(self) -> _ExitAfter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = 0
        if kind is not None:
            code = RESULTS_LOST_CODE if issubclass(kind, ResultsLost) else 1
            try:
                write_error(self._request, "".join(traceback.format_exception(kind, error, trace)))
            except Exception:
                exit_process(code)
        exit_process(code)


class _RandomlySeeding:
    """Lets the disabled pytest-randomly seed one test as it did in the run that is repeated."""

    def __init__(self, randomly: Any) -> None:
        self.pytest_runtest_setup = lambda item: randomly.pytest_runtest_setup(item)
        self.pytest_runtest_call = lambda item: randomly.pytest_runtest_call(item)
        self.pytest_runtest_teardown = lambda item: randomly.pytest_runtest_teardown(item)


def _call_and_print_error(step: Callable[..., object], *arguments: object) -> None:
    # An error in the teardown of an earlier test must not be reported as an error of the next test.
    try:
        step(*arguments)
    except Exception:
        try:
            traceback.print_exc()
        except Exception:  # a test closed or replaced what it prints to
            return
