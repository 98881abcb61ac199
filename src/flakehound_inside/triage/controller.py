"""The controller, `flakehound triage-facts`: the facts that it gets, its progress, and its answer.

`FLAKEHOUND_TRIAGE_COMMAND`, a JSON list, is another command to start instead; our own tests use it.
"""

from __future__ import annotations

import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.options import without_own_options

if TYPE_CHECKING:
    from typing import IO, Any, Callable, Mapping, Sequence

    import pytest

    from flakehound_inside.triage.facts import FailureFacts, RedRunFacts
    from flakehound_inside.triage.journal import SessionJournal
    from flakehound_inside.triage.options import PluginOptions

SCHEMA = "flakehound/triage-facts/1"
_RERUN_KEYS = ("stage", "outcome", "seed", "message", "same_state")
_COMMAND_VARIABLE = "FLAKEHOUND_TRIAGE_COMMAND"
# Prefixes of variables that pytest and its plugins set for their own processes. Those of the user stay.
_VARIABLES_OF_THIS_RUN = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_", "COV_CORE_")
_REMEDY_PREFIX = "try: "  # how the last line of an error of flakehound may begin
_POLL_S = 0.1  # between two reads of the progress
_STOP_S = 3.0  # that it gets to write its last lines: at its end, after an interrupt, after each further signal


def facts_of(
    session: pytest.Session, options: PluginOptions, seed: int, journals: Sequence[SessionJournal]
) -> RedRunFacts:
    """Everything that is known about the run inside pytest, as values for JSON."""
    config = session.config
    return {
        "schema": SCHEMA,
        "rootdir": str(config.rootpath),
        "cwd": str(config.invocation_params.dir),
        "python": sys.executable,
        "args": without_own_options([str(argument) for argument in config.invocation_params.args]),
        "options": {
            "forked": options.forked,
            "since": options.since,
            "intersect": options.intersect,
            "check_base": options.check_base,
            "json": options.json,
            "store": options.store,
            "seed": seed,
        },
        "tests": session.testscollected,
        "sessions": [journal.session_facts() for journal in journals],
        "failures": [_facts_to_send(failure) for journal in journals for failure in journal.failures],
        "not_rerun": next((journal.not_rerun for journal in journals if journal.not_rerun), None),
        "rerun_by_others": sorted({test for journal in journals for test in journal.rerun_by_others}),
        "notes": list(dict.fromkeys(note for journal in journals for note in journal.notes)),
    }


def _facts_to_send(failure: FailureFacts) -> dict[str, object]:
    facts: dict[str, object] = {key: value for key, value in failure.items() if key != "line"}
    facts["reruns"] = [
        {key: value for key, value in rerun.items() if key in _RERUN_KEYS} for rerun in failure["reruns"]
    ]
    return facts


class NoAnswer(Exception):
    """The controller did not answer; the message is the reason."""


class Interrupted(NoAnswer):
    """The user interrupted it before it had an answer."""


class Controller:
    """Starts the controller with the interpreter and the environment that pytest was started with."""

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        # Both are from before the first test, because tests may change them.
        self._environment = {k: v for k, v in environment.items() if not k.startswith(_VARIABLES_OF_THIS_RUN)}
        self._python = sys.executable
        self._folder = folder

    def ask(self, facts: RedRunFacts, show: Callable[[str], None] | None) -> dict[str, Any]:
        """The answer to the facts; raises NoAnswer without one. `show` is called with each line of progress."""
        folder = tempfile.mkdtemp(prefix="fh-triage-")
        try:
            facts_path, answer = os.path.join(folder, "facts.json"), os.path.join(folder, "answer.json")
            with open(facts_path, "w", encoding="utf-8") as file:
                file.write(isolated_os.dumps(facts))
            self._run([*self._command(), facts_path, answer], answer, show)
            return _answer_in(answer)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _command(self) -> list[str]:
        command_json = self._environment.get(_COMMAND_VARIABLE)
        if command_json is None:
            return [self._python, "-m", "flakehound", "triage-facts"]
        return [str(word) for word in isolated_os.loads(command_json)]

    def _run(self, command: list[str], answer: str, show: Callable[[str], None] | None) -> None:
        try:
            process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise NoAnswer("%s cannot be started: %s" % (command[0], error)) from None
        progress = _Progress(process.stderr)
        try:
            code = _wait(process, progress, show)
        except KeyboardInterrupt:
            _stop(process)
            if not os.path.exists(answer):
                raise Interrupted("it was interrupted") from None
            return
        if code != 0:
            raise NoAnswer(progress.last_lines() or "%s ended with %s" % (command[0], code))


class _Progress:
    """The standard error of the controller, read in a thread while we wait for its end."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=20)
        # A daemon thread, because a process that the controller leaves behind may keep the stream open.
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream: Any) -> None:
        incomplete_line = ""
        while True:
            # Not by lines, because a line of progress may end with only a carriage return.
            chunk = stream.read1(4096)
            if not chunk:
                break
            text = incomplete_line + chunk.decode("utf-8", "replace")
            *complete_lines, incomplete_line = text.replace("\r", "\n").split("\n")
            self._lines.extend(part.strip() for part in complete_lines if part.strip())
        if incomplete_line.strip():
            self._lines.append(incomplete_line.strip())

    def newest(self) -> str:
        """The newest line; empty before the first."""
        return self._lines[-1] if self._lines else ""

    def last_lines(self) -> str:
        """Its last lines after it has ended: the error, and what to do about it."""
        self._reader.join(timeout=_STOP_S)
        lines = [line for line in self._lines if not line.startswith(_REMEDY_PREFIX)][-1:]
        lines += [line for line in self._lines if line.startswith(_REMEDY_PREFIX)][-1:]
        return ". ".join(lines)


def _wait(process: subprocess.Popen[bytes], progress: _Progress, show: Callable[[str], None] | None) -> int:
    last_shown = ""
    while True:
        try:
            return process.wait(timeout=_POLL_S)
        except subprocess.TimeoutExpired:  # noqa: PERF203
            if show is not None and progress.newest() != last_shown:
                last_shown = progress.newest()
                show(last_shown)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # The terminal has interrupted it together with us. It gets time to write its answer, then signals.
    for number in (None, signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        try:
            if number is not None:
                process.send_signal(number)
            process.wait(timeout=_STOP_S)
        except (subprocess.TimeoutExpired, KeyboardInterrupt, ValueError, OSError):
            continue
        return


def _answer_in(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            answer = isolated_os.loads(file.read())
    except OSError:
        raise NoAnswer("it ended without an answer") from None
    except ValueError as error:
        raise NoAnswer("its answer is no JSON: %s" % error) from None
    if not _is_answer(answer):
        raise NoAnswer("its answer is not of the shape that was agreed on")
    valid_answer: dict[str, Any] = answer
    return valid_answer


def _is_answer(answer: Any) -> bool:
    triage = answer.get("triage") if isinstance(answer, dict) else None
    return (
        isinstance(triage, dict)
        and isinstance(triage.get("failures"), list)
        and all(isinstance(failure, dict) and "id" in failure for failure in triage["failures"])
        and all(isinstance(line, str) for line in answer.get("summary", ()))
    )
