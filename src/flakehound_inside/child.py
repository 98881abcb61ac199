"""What happens in the process that runs tests, from the fork to its end."""

import faulthandler
import os
import signal
import sys
import tempfile
import traceback

import pytest

from flakehound_inside import seeds
from flakehound_inside.events import EventLog
from flakehound_inside.items import items_for, tear_down_for
from flakehound_inside.real import real
from flakehound_inside.supervise import supervise

_OUTPUT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND
_DEADLY = (pytest.exit.Exception, KeyboardInterrupt)


class Child:
    """Runs requests inside a pytest session that has collected."""

    def __init__(self, session, recorder, random_state):
        self._session = session
        self._config = session.config
        self._recorder = recorder
        self._random_state = random_state
        self._config.pluginmanager.register(recorder, "flakehound-recorder")

    def run_in_this_process(self, request):
        """Run a request here and end the process; for a new interpreter."""
        log = EventLog(request["events"])
        self._recorder._log = log
        self._seed(request)
        _limit_memory(request)
        _dump_on_crash(request["output"])
        self._run(items_for(request["order"], self._session.items))
        _leave(0)

    def run_forked(self, request, signals):
        """Run a request in the process that was just forked for it, and end that process."""
        code = 1
        try:
            log = self._enter(request, signals)
            self._run_tree(request, log)
            code = 0
        except BaseException:
            _last_words(request, traceback.format_exc())
        finally:
            _leave(code)

    def _enter(self, request, signals):
        real.setsid()
        for number, handler in signals.items():
            real.set_handler(number, handler)
        _redirect_output(self._config, request["output"])
        _dump_on_crash(request["output"])
        self._move_temporary_files(request["tmp"])
        log = EventLog(request["events"])
        self._recorder._log = log
        _limit_memory(request)
        self._seed(request)
        return log

    def _move_temporary_files(self, folder):
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        factory = getattr(self._config, "_tmp_path_factory", None)
        if factory is not None:
            # A given base is made when the first test asks for it; most never do.
            factory._given_basetemp = type(self._config.rootpath)(folder, "pytest")
            factory._basetemp = None

    def _seed(self, request):
        untouched = request.get("self_seeded", ())
        if "random" in untouched:
            seeds.restore(self._random_state)
        if request.get("seed") is not None:
            seeds.apply_seed(request["seed"], untouched)

    def _run_tree(self, request, log):
        branches = request.get("branches", ())
        before, items = request["order"], self._session.items
        trunk = items_for(before, items)
        twigs = [items_for(list(before) + branch, items)[len(before) :] for branch in branches]
        if not twigs:
            self._run(trunk)
            return
        keep_standing = items_for([before[-1], before[-1]], items)[1] if before else None
        if not self._run(trunk, after=keep_standing):
            return
        for number, twig in enumerate(twigs):
            self._run_branch(number, twig, request, log, bool(before))

    def _run_branch(self, number, twig, request, log, shares_folder):
        log.write("B %d" % number)
        own = dict(request)
        if not shares_folder:
            own["tmp"] = "%s/%d" % (request["tmp"], number)
            real.mkdir(own["tmp"], 0o700)
        pid = real.fork()
        if pid == 0:
            self._be_a_branch(own, twig, log, shares_folder)
        ended = supervise(pid, request, peer=None)
        log.write("b %d %s" % (number, real.dumps(ended)))

    def _be_a_branch(self, request, twig, log, shares_folder):
        code = 1
        try:
            real.setsid()
            log.adopt()
            if not shares_folder:
                self._move_temporary_files(request["tmp"])
            self._seed(request)
            if shares_folder:
                _without_reporting(tear_down_for, self._session, twig[0])
            self._run(twig)
            code = 0
        except BaseException:
            _last_words(request, traceback.format_exc())
        finally:
            _leave(code)

    def _run(self, items, after=None):
        """Run the items in order; False when one of them ended the session."""
        hook, recorder = self._config.hook, self._recorder
        present = [(place, item) for place, item in enumerate(items) if item is not None]
        followers = [item for _place, item in present[1:]] + [after]
        for (place, item), follower in zip(present, followers):
            recorder.start(place)
            try:
                hook.pytest_runtest_protocol(item=item, nextitem=follower)
            except _DEADLY as stop:
                recorder.stop("%s: %s" % (type(stop).__name__, stop))
                return False
            recorder.end()
        return True


def _without_reporting(step, *arguments):
    # An error in the teardown of the earlier test is that test's; the one that follows still runs.
    try:
        step(*arguments)
    except Exception:
        traceback.print_exc()


def _redirect_output(config, path):
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    output = real.open(path, _OUTPUT_FLAGS, 0o600)
    real.dup2(output, 1)
    real.dup2(output, 2)
    real.close(output)
    if capture is not None:
        # Its own capture files: a forked copy would share the read position with its siblings.
        capture.start_global_capturing()
        capture.suspend_global_capture(in_=True)


_crash_files = []


def _dump_on_crash(path):
    # Kept open for good: faulthandler needs the descriptor when the process is already dying.
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    _crash_files.append(file)
    faulthandler.enable(file)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR2, file, all_threads=True)


def _limit_memory(request):
    limit = request.get("memory_bytes")
    if limit:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _last_words(request, text):
    try:
        output = real.open(request["output"], _OUTPUT_FLAGS, 0o600)
        real.write(output, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _leave(code):
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        code = code or 0
    real.exit(code)
