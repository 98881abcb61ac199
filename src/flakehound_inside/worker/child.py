"""What happens in the process that runs tests, from the fork to its end."""

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
from flakehound_inside.events import EventLog, ResultsLost, ended_with
from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.items import fresh_copy, items_for, prepare_tear_down, tear_down_for
from flakehound_inside.worker.folders import FolderKeeper, TooMuch
from flakehound_inside.worker.fork_hazards import files_read, open_descriptors, read_apart, reasons_against_forking
from flakehound_inside.worker.process import Output, dump_on_crash, last_words, leave, limit_memory
from flakehound_inside.worker.supervise import supervise

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Callable, Iterable, Mapping, Sequence

    from flakehound_inside.message_types import Handler, RandomState, Request
    from flakehound_inside.observe.features.meter import Meter
    from flakehound_inside.observe.state.watch import StateWatch
    from flakehound_inside.recorder import Recorder

_DEADLY = (pytest.exit.Exception, KeyboardInterrupt)
RESULTS_LOST = 74  # the exit code that sysexits.h calls EX_IOERR


class Child:
    """Runs requests inside a pytest session that has collected."""

    def __init__(
        self,
        session: pytest.Session,
        recorder: Recorder,
        random_state: tuple[Any, ...],
        descriptors: Mapping[int, str],
    ) -> None:
        self._session = session
        self._config = session.config
        self._recorder = recorder
        self._random_state = random_state
        self._files_read = files_read(descriptors)
        self._log: EventLog = None  # type: ignore[assignment]  # opened when a request starts
        self._output = Output(self._config)
        self._meter: Meter | None = None  # made when the first request asks for it, and so is the next
        self._watch: StateWatch | None = None
        self._config.pluginmanager.register(recorder, "flakehound-recorder")
        prepare_tear_down(session)

    def run_in_this_process(self, request: Request) -> None:
        """Run a request here and end the process; for a new interpreter."""
        with _Ending(request):
            self.prepare(request)
            self._move_temporary_files(request["tmp"])
            self._start(request)
            dump_on_crash(request["output"])
            try:
                self._run_once(request)
            finally:
                recording = self._config.pluginmanager.getplugin("flakehound-dependencies")
                if recording is not None:
                    recording.finish()
            _without_reporting(self._config._ensure_unconfigure)

    def _run_once(self, request: Request) -> None:
        items = items_for(request["order"], self._session.items)
        state = request.get("random_state")
        if not state:
            self._run(items)
        elif self._run(items[:-1], after=items[-1]):
            self._restore_generators(state)
            self._run(items[-1:], first=len(items) - 1)

    def _restore_generators(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            state: RandomState = isolated_os.loads(file.read())
        version, numbers, gauss_next = state["random"]
        random_seeds.restore((version, tuple(numbers), gauss_next))
        numpy_random = sys.modules.get("numpy.random")
        if numpy_random is not None and state["numpy"]:
            numpy_random.set_state(tuple(state["numpy"]))
        randomly = sys.modules.get("pytest_randomly")
        if randomly is not None and state["seed"] is not None:
            self._config.option.randomly_seed, self._config.option.randomly_reset_seed = state["seed"], True
            self._config.pluginmanager.register(_Reseeding(randomly))

    def settle(self, output: str) -> None:
        """Prepare the process from which children are forked: where they print."""
        self._output.settle(output)

    def run_forked(self, request: Request, signals: Mapping[int, Handler]) -> None:
        """Run a request in the process that was just forked for it, and end that process."""
        with _Ending(request):
            self._enter(request, signals)
            self._run_tree(request)

    def _enter(self, request: Request, signals: Mapping[int, Handler]) -> None:
        isolated_os.setsid()
        gc.unfreeze()
        for number, handler in signals.items():
            if handler is not None:  # set by C code, and not ours to put back
                isolated_os.set_handler(number, handler)
        read_apart(self._files_read)
        self._move_temporary_files(request["tmp"])
        self._start(request)

    def _start(self, request: Request) -> None:
        self._log = self._recorder._log = EventLog(request["events"])
        limit_memory(request)
        self._seed(request)
        wish = request.get("trace")
        if wish:
            from flakehound_inside.observe.calls.plugin import trace

            trace(self._config, self._recorder, wish)
        measure = request.get("measure")
        if self._meter is not None and measure:
            self._recorder.gauges.append(self._meter)
            self._meter.start(measure.get("lines", True))
        if self._watch is not None and request.get("states"):
            self._recorder.gauges.append(self._watch)
            self._watch.start(request["tmp"])

    def prepare(self, request: Request) -> None:
        """Do once, in the process from which children are forked, what a request needs beside its tests."""
        wish = request.get("measure")
        if wish is not None and self._meter is None:
            from flakehound_inside.observe.features.meter import Meter

            self._meter = Meter(wish, self._session, os.path.dirname(request["events"]))
        if request.get("states") and self._watch is None:
            from flakehound_inside.observe.state.watch import StateWatch

            self._watch = StateWatch(self._session, os.path.dirname(request["events"]))
            self._watch.prepare()

    def _seed(self, request: Request) -> None:
        untouched = request.get("self_seeded", ())
        if "random" in untouched:
            random_seeds.restore(self._random_state)
        seed = request.get("seed")
        if seed is not None:
            random_seeds.apply_seed(seed, untouched)

    def _move_temporary_files(self, folder: str) -> None:
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None:
            # A given base is made when the first test asks for it; most never do.
            factory._given_basetemp = type(self._config.rootpath)(folder, "pytest")
            factory._basetemp = None

    def _run_tree(self, request: Request) -> None:
        branches = request.get("branches", ())
        before, items = request["order"], self._session.items
        trunk = items_for(before, items)
        if not branches:
            self._run(trunk)
            return
        at = request.get("at") or [len(before)] * len(branches)
        twigs = [items_for(before[:place] + branch, items)[place:] for place, branch in zip(at, branches)]  # noqa: B905
        descriptors = open_descriptors()
        # Whatever comes next, what a class or module has set up stays until the branches are made.
        trunk.append(items_for([before[-1], before[-1]], items)[1] if before else None)
        begun = 0
        for place in sorted(set(at)):
            follower = next((item for item in trunk[place:] if item is not None), None)
            if not self._run(trunk[begun:place], after=follower, first=begun):
                return
            begun = place
            due = [(number, twig) for number, twig in enumerate(twigs) if at[number] == place]
            if not self._branch_out(request, due, descriptors):
                return

    def _branch_out(
        self,
        request: Request,
        twigs: Iterable[tuple[int, Sequence[pytest.Item | None]]],
        descriptors: Mapping[int, str],
    ) -> bool:
        """Run each branch in a copy of this process; False where it cannot be copied, or no more are wanted."""
        try:
            against = reasons_against_forking(descriptors)
            apart, random_state = files_read(descriptors), random_seeds.saved_state()
            keeper = FolderKeeper(request["tmp"])
            for number, twig in twigs:
                if against:
                    break
                begun = self._log.size() if request.get("until") else 0
                self._run_branch(number, twig, request, apart, random_state)
                keeper.put_back()
                if request.get("until") and ended_with(self._log.since(begun)) == request["until"]:
                    return False
        except (OSError, TooMuch) as obstacle:
            against = [str(obstacle)]
        if against:
            self._log.write("u " + isolated_os.dumps("; ".join(against)))
        return not against

    def _run_branch(
        self,
        number: int,
        twig: Sequence[pytest.Item | None],
        request: Request,
        files_to_read_apart: Iterable[int],
        random_state: tuple[Any, ...],
    ) -> None:
        self._log.write("B %d" % number)
        on_child = isolated_os.handler_of(signal.SIGCHLD)
        if on_child == signal.SIG_IGN:
            isolated_os.set_handler(signal.SIGCHLD, int(signal.SIG_DFL))
        pid = isolated_os.fork()
        if pid == 0:
            if on_child == signal.SIG_IGN:
                isolated_os.set_handler(signal.SIGCHLD, on_child)
            read_apart(files_to_read_apart)
            self._be_a_branch(number, twig, request, random_state)
        ended = supervise(pid, request, peer=None)
        self._log.write("b %d %s" % (number, isolated_os.dumps(ended)))

    def _be_a_branch(
        self, number: int, twig: Sequence[pytest.Item | None], request: Request, random_state: tuple[Any, ...]
    ) -> None:
        with _Ending(request):
            isolated_os.setsid()
            self._log.adopt()
            seed = request.get("seed")
            if request["order"]:
                # Python seeds `random` anew in a copy; what ran so far decides instead, as in one process.
                random_seeds.restore(random_state)
                first = next((item for item in twig if item is not None), None)
                _without_reporting(tear_down_for, self._session, first)
            elif seed is not None:
                # Nothing ran before it: a run of its own, with a seed of its own.
                self._seed({**request, "seed": (seed + number) % 2**32})
            else:
                self._seed(request)
            # What a class or module has set up is still there when the next test of it runs: look before it goes.
            kept = fresh_copy(twig[-1]) if request.get("states") and twig and twig[-1] is not None else None
            self._run(twig, after=kept)
            if kept is not None:
                _without_reporting(tear_down_for, self._session, None)

    def _run(self, items: Sequence[pytest.Item | None], after: pytest.Item | None = None, first: int = 0) -> bool:
        """Run the items in order, numbered from `first`; False when one of them ended the session."""
        hook, recorder = self._config.hook, self._recorder
        present = [(place, item) for place, item in enumerate(items, first) if item is not None]
        followers = [item for _place, item in present[1:]] + [after]
        for (place, item), follower in zip(present, followers):  # noqa: B905 (Python 3.8)
            recorder.start(place)
            try:
                hook.pytest_runtest_protocol(item=item, nextitem=follower)
            except BaseException as stop:
                self._leave_if_forked_by_a_test()
                recorder.stop(stop)
                if not isinstance(stop, _DEADLY):
                    raise
                _without_reporting(tear_down_for, self._session, None)
                return False
            self._leave_if_forked_by_a_test()
            recorder.end()
        return True

    def _leave_if_forked_by_a_test(self) -> None:
        if not self._log.is_of_this_process():
            isolated_os.exit(0)


class _Ending:
    """However the block inside ends, the process ends with it."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def __enter__(self) -> _Ending:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        code = 0
        if sort is not None:
            code = RESULTS_LOST if issubclass(sort, ResultsLost) else 1
            try:
                last_words(self._request, "".join(traceback.format_exception(sort, error, trace)))
            except Exception:
                leave(code)
        leave(code)


class _Reseeding:
    """Lets pytest-randomly, which is switched off, seed one test as it did in the run that is repeated."""

    def __init__(self, randomly: Any) -> None:
        self.pytest_runtest_setup = lambda item: randomly.pytest_runtest_setup(item)
        self.pytest_runtest_call = lambda item: randomly.pytest_runtest_call(item)
        self.pytest_runtest_teardown = lambda item: randomly.pytest_runtest_teardown(item)


def _without_reporting(step: Callable[..., object], *arguments: object) -> None:
    # An error in the teardown of the earlier test is that test's; the one that follows still runs.
    try:
        step(*arguments)
    except Exception:
        try:
            traceback.print_exc()
        except Exception:  # a test closed or replaced what it prints to
            return
