"""A pytest run with failures, read from the facts file that our pytest plugin wrote (decision 0015)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.app.sessions.default_paths import DEFAULT_STORE
from flakehound.core.errors import FlakehoundError
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Order
from flakehound.core.records import Failure
from flakehound.triage.evidence import Rerun, Stage

SCHEMA = "flakehound/triage-facts/1"
DEFAULT_TIME_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTest:
    """One test that failed, and how its reruns in its own process ended."""

    id: NodeId
    worker: str  # of pytest-xdist; empty without xdist
    position: int  # in that worker's order
    failure: Failure
    random_state: Mapping[str, Any] | None  # of the generators when the test started; None: not known
    reruns: tuple[Rerun, ...]  # each with its own seed
    same_state: Tally  # reruns from the random state of the failure

    @property
    def passed(self) -> bool:
        """Whether a rerun in its own process passed."""
        return any(rerun.passed for rerun in self.reruns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedProcess:
    """The tests that one process of the run executed."""

    worker: str
    order: Order
    outcomes: tuple[Outcome, ...]
    durations_s: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageOptions:
    """Validated options of `pytest --flakehound` that concern the triage outside pytest."""

    forked: int  # reruns in new processes
    since: str | None  # None: the base is found from the environment and from git
    intersect: bool
    check_base: bool
    json_file: Path | None
    store: Path
    seed: int
    time_s: float = DEFAULT_TIME_S  # for all verdicts of the run


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRun:
    """A pytest run with failures."""

    rootdir: Path
    cwd: Path
    python: str
    pytest_args: tuple[str, ...]
    options: TriageOptions
    tests: int
    started_s: float  # seconds since 1970, estimated from the durations of the tests
    processes: tuple[ObservedProcess, ...]
    failures: tuple[FailedTest, ...]
    not_rerun: str  # why some failures were not rerun; empty: all were
    rerun_by_others: tuple[NodeId, ...]
    notes: tuple[str, ...]

    def before(self, failed: FailedTest) -> Order:
        """The tests that ran before it in its process."""
        process = self._process_of(failed)
        return process.order[: failed.position] if process else ()

    def duration_s(self, failed: FailedTest) -> float:
        """How long its process took for all tests up to the failed one."""
        process = self._process_of(failed)
        return sum(process.durations_s[: failed.position + 1]) if process else 0.0

    def has_crashed(self, failed: FailedTest) -> bool:
        """Whether the failure was the end of its process."""
        process = self._process_of(failed)
        return process is not None and process.outcomes[failed.position] is Outcome.CRASHED

    def tests_s(self, tests: Order) -> float:
        """How long these tests took; those without a known time count as nothing."""
        known = {
            test: duration_s
            for process in self.processes
            for test, duration_s in zip(process.order, process.durations_s, strict=False)
        }
        return sum(known.get(test, 0.0) for test in tests)

    def _process_of(self, failed: FailedTest) -> ObservedProcess | None:
        return next((process for process in self.processes if process.worker == failed.worker), None)


class UnreadableFacts(FlakehoundError):
    """The file is not a facts file of our plugin."""


def read_facts(path: Path) -> FailingRun:
    """Read a facts file."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if written["schema"] != SCHEMA:
            raise UnreadableFacts(f"{str(path)!r} is of schema {written['schema']!r}, not {SCHEMA!r}")
        return _run_from(written)
    except OSError as problem:
        raise UnreadableFacts(f"cannot read {str(path)!r}: {problem.strerror}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise UnreadableFacts(f"{str(path)!r} holds no facts of a pytest run: {problem!r}") from problem


def _run_from(written: Mapping[str, Any]) -> FailingRun:
    rootdir, cwd = Path(written["rootdir"]), Path(written["cwd"])
    processes = tuple(map(_process, written["sessions"]))
    return FailingRun(
        rootdir=rootdir,
        cwd=cwd,
        python=written["python"],
        pytest_args=tuple(written["args"]),
        options=_options(written["options"], cwd, rootdir),
        tests=written["tests"],
        started_s=time.time() - max((sum(process.durations_s) for process in processes), default=0.0),
        processes=processes,
        failures=tuple(map(_failed_test, written["failures"])),
        not_rerun=written["not_rerun"] or "",
        rerun_by_others=tuple(NodeId(test) for test in written["rerun_by_others"]),
        notes=tuple(written["notes"]),
    )


def _options(options: Mapping[str, Any], cwd: Path, rootdir: Path) -> TriageOptions:
    return TriageOptions(
        forked=options["forked"],
        since=options["since"],
        intersect=options["intersect"],
        check_base=options["check_base"],
        json_file=cwd / options["json"] if options["json"] else None,
        store=cwd / options["store"] if options["store"] else rootdir / DEFAULT_STORE,
        seed=options["seed"],
        time_s=float(options.get("time_s", DEFAULT_TIME_S)),
    )


def _process(session: Mapping[str, Any]) -> ObservedProcess:
    return ObservedProcess(
        worker=session["worker"],
        order=tuple(NodeId(test) for test in session["order"]),
        outcomes=tuple(map(Outcome, session["outcomes"])),
        durations_s=[spent_us / 1e6 for spent_us in session["durations_us"]],
    )


def _failed_test(failure: Mapping[str, Any]) -> FailedTest:
    same_state = [rerun for rerun in failure["reruns"] if rerun.get("same_state")]
    failed = sum(Outcome(rerun["outcome"]).is_failure for rerun in same_state)
    return FailedTest(
        id=NodeId(failure["id"]),
        worker=failure["worker"],
        position=failure["place"],
        failure=Failure(**{key: failure[key] for key in ("phase", "exception", "message", "where", "text")}),
        random_state=failure["random_state"],
        reruns=tuple(_rerun(rerun) for rerun in failure["reruns"] if not rerun.get("same_state")),
        same_state=Tally(n=len(same_state), failed=failed),
    )


def _rerun(rerun: Mapping[str, Any]) -> Rerun:
    return Rerun(stage=Stage(rerun["stage"]), outcome=Outcome(rerun["outcome"]), seed=rerun["seed"])
