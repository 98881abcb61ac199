"""The controller, `flakehound triage-facts`: the facts that it gets, its progress, and its answer.

`FLAKEHOUND_TRIAGE_COMMAND`, a JSON list, is another command to start instead; our own tests use it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.controller_process import ControllerProcess, TimeIsUp
from flakehound_inside.triage.options import without_own_options

if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Sequence

    import pytest

    from flakehound_inside.triage.facts import FailureFacts, RedRunFacts
    from flakehound_inside.triage.journal import SessionJournal
    from flakehound_inside.triage.options import PluginOptions

SCHEMA = "flakehound/triage-facts/1"
_RERUN_KEYS = ("stage", "outcome", "seed", "message", "same_state")
_COMMAND_VARIABLE = "FLAKEHOUND_TRIAGE_COMMAND"
# Prefixes of variables that pytest and its plugins set for their own processes. Those of the user stay.
_VARIABLES_OF_THIS_RUN = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_", "COV_CORE_")
_MAX_DELAY_S = 30.0  # after the time for verdicts; the controller keeps to that time itself


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
            "time_s": options.time_s,
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


def variables_of_interpreter() -> dict[str, str]:
    """The flags of this interpreter as variables, so that reruns in new processes have them: -W, -X dev and -O."""
    variables = {}
    if sys.warnoptions and not any("," in option for option in sys.warnoptions):
        variables["PYTHONWARNINGS"] = ",".join(sys.warnoptions)
    if sys.flags.dev_mode:
        variables["PYTHONDEVMODE"] = "1"
    if sys.flags.optimize:
        variables["PYTHONOPTIMIZE"] = str(sys.flags.optimize)
    return variables


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
        """The answer to the facts; raises NoAnswer without one. `show` is called with the newest progress."""
        # The id of this process is in the name, so that a later hunt removes it if both processes are killed.
        folder = tempfile.mkdtemp(prefix="fh-%d-triage-" % isolated_os.getpid())
        try:
            facts_path, answer = os.path.join(folder, "facts.json"), os.path.join(folder, "answer.json")
            with open(facts_path, "w", encoding="utf-8") as file:
                file.write(isolated_os.dumps(facts))
            self._run([*self._command(), facts_path, answer], folder, show, facts["options"]["time_s"])
            return _answer_in(answer)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _command(self) -> list[str]:
        command_json = self._environment.get(_COMMAND_VARIABLE)
        if command_json is None:
            # The user's PYTHONWARNINGS are for the tests, and not for the controller, which could end by them.
            return [self._python, "-W", "ignore", "-m", "flakehound", "triage-facts", "--with-parent"]
        return [str(word) for word in isolated_os.loads(command_json)]

    def _run(self, command: list[str], folder: str, show: Callable[[str], None] | None, time_s: float) -> None:
        answer, log = command[-1], os.path.join(folder, "progress.txt")
        try:
            process = ControllerProcess(command, self._folder, self._environment, log)
        except OSError as error:
            raise NoAnswer("%s cannot be started: %s" % (command[0], error)) from None
        try:
            code = process.wait(time_s + _MAX_DELAY_S, show)
        except (KeyboardInterrupt, TimeIsUp) as reason:
            was_interrupted = isinstance(reason, KeyboardInterrupt)
            process.stop(was_interrupted=was_interrupted)
            if os.path.exists(answer):
                return
            if was_interrupted:
                raise Interrupted("it was interrupted") from None
            raise NoAnswer("no verdicts in time; --flakehound-time gives it more than %g s" % time_s) from None
        finally:
            process.close()
        if code != 0:
            raise NoAnswer(process.progress.last_lines() or "%s ended with %s" % (command[0], code))


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
