"""Start the controller outside with the facts, wait for its answer, and show its progress meanwhile.

`FLAKEHOUND_TRIAGE_COMMAND`, a JSON list, names another command in its place; for our own tests.
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

if TYPE_CHECKING:
    from typing import IO, Any, Callable, Mapping

_COMMAND = "FLAKEHOUND_TRIAGE_COMMAND"
# Set by pytest and its plugins for their own processes. The user's own PYTEST_ADDOPTS and the like stay.
_OF_THIS_RUN = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_", "COV_CORE_")
_REMEDY = "try: "  # how the last line of an error of ours may begin
_LOOK_S = 0.1  # between two looks at the progress
_STOP_S = 3.0  # for its last words: at its end, after an interrupt, and after each reminder


class NoAnswer(Exception):
    """The controller did not answer; the message is the reason."""


class Interrupted(NoAnswer):
    """The user interrupted it before it had an answer."""


class Outside:
    """The controller, as this process is able to start it."""

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        # Kept from before the first test: tests change both.
        self._environment = {k: v for k, v in environment.items() if not k.startswith(_OF_THIS_RUN)}
        self._python = sys.executable
        self._folder = folder

    def ask(self, facts: dict[str, Any], show: Callable[[str], None] | None) -> dict[str, Any]:
        """The answer to the facts, or NoAnswer; `show` gets each line of progress."""
        place = tempfile.mkdtemp(prefix="fh-triage-")
        try:
            question, answer = os.path.join(place, "facts.json"), os.path.join(place, "answer.json")
            with open(question, "w", encoding="utf-8") as file:
                file.write(isolated_os.dumps(facts))
            self._run([*self._command(), question, answer], answer, show)
            return _answer_in(answer)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _command(self) -> list[str]:
        named = self._environment.get(_COMMAND)
        if named is None:
            return [self._python, "-m", "flakehound", "triage-facts"]
        return [str(word) for word in isolated_os.loads(named)]

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
        said = _Said(process.stderr)
        try:
            code = _wait(process, said, show)
        except KeyboardInterrupt:
            _stop(process)
            if not os.path.exists(answer):
                raise Interrupted("it was interrupted") from None
            return
        if code != 0:
            raise NoAnswer(said.last() or "%s ended with %s" % (command[0], code))


class _Said:
    """What the controller writes to its standard error, read beside our waiting for its end."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._lines: collections.deque[str] = collections.deque(maxlen=20)
        # A daemon: a process that it leaves behind may hold the stream open.
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream: Any) -> None:
        rest = ""
        while True:
            # As much as there is: a line of progress may end with a carriage return only.
            chunk = stream.read1(4096)
            if not chunk:
                break
            *whole, rest = (rest + chunk.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
            self._lines.extend(part.strip() for part in whole if part.strip())
        if rest.strip():
            self._lines.append(rest.strip())

    def newest(self) -> str:
        """The newest line; empty before the first."""
        return self._lines[-1] if self._lines else ""

    def last(self) -> str:
        """Its last words, when it has ended: the error, and what to do about it."""
        self._reader.join(timeout=_STOP_S)
        words = [line for line in self._lines if not line.startswith(_REMEDY)][-1:]
        words += [line for line in self._lines if line.startswith(_REMEDY)][-1:]
        return ". ".join(words)


def _wait(process: subprocess.Popen[bytes], said: _Said, show: Callable[[str], None] | None) -> int:
    shown = ""
    while True:
        try:
            return process.wait(timeout=_LOOK_S)
        except subprocess.TimeoutExpired:  # noqa: PERF203
            if show is not None and said.newest() != shown:
                shown = said.newest()
                show(shown)


def _stop(process: subprocess.Popen[bytes]) -> None:
    # A terminal has interrupted it together with us; it gets time to say what it knows, then a reminder.
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
    found: dict[str, Any] = answer
    return found


def _is_answer(answer: Any) -> bool:
    triage = answer.get("triage") if isinstance(answer, dict) else None
    return (
        isinstance(triage, dict)
        and isinstance(triage.get("failures"), list)
        and all(isinstance(failure, dict) and "id" in failure for failure in triage["failures"])
        and all(isinstance(line, str) for line in answer.get("summary", ()))
    )
