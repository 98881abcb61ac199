"""The facts of a red run, as the plugin inside pytest wrote them (decision 0015)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.core.errors import FlakehoundError
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Order
from flakehound.core.records import Failure
from flakehound.triage.case import Rerun, Stage

SCHEMA = "flakehound/triage-facts/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTest:
    """One test that failed, and what its own process saw of it afterwards."""

    id: NodeId
    worker: str  # of pytest-xdist; empty without
    place: int  # in that worker's order
    failure: Failure
    random_state: Mapping[str, Any] | None  # of the generators as it started; None: not known
    reruns: tuple[Rerun, ...]  # with seeds of their own
    same_state: Tally  # reruns from the random state of the failure

    @property
    def passed(self) -> bool:
        """Whether a rerun in its own process passed."""
        return any(rerun.passed for rerun in self.reruns)

    @property
    def hangs_on_random_state(self) -> bool:
        """Whether it passes with other random numbers and fails with the same ones again."""
        return self.passed and self.same_state.failed > 0 and self.random_state is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What one process ran."""

    worker: str
    order: Order
    outcomes: tuple[Outcome, ...]
    durations_s: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked of the triage."""

    forked: int
    since: str | None
    intersect: bool
    check_base: bool
    json_file: Path | None
    store: Path | None
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRun:
    """A pytest run with failures."""

    rootdir: Path
    cwd: Path
    python: str
    pytest_args: tuple[str, ...]
    wishes: Wishes
    tests: int
    started_s: float  # seconds since 1970, as near as the tests' own times tell
    processes: tuple[Watched, ...]
    failures: tuple[FailedTest, ...]
    not_rerun: str  # why nothing more was rerun; empty: everything was
    rerun_by_others: tuple[NodeId, ...]
    notes: tuple[str, ...]

    def before(self, failed: FailedTest) -> Order:
        """The tests that ran ahead of it in its process."""
        for process in self.processes:
            if process.worker == failed.worker:
                return process.order[: failed.place]
        return ()


class FactsUnreadable(FlakehoundError):
    """The file is not what the plugin writes."""


def read_facts(path: Path) -> FailingRun:
    """The run that the file tells of."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        if written["schema"] != SCHEMA:
            raise FactsUnreadable(f"{str(path)!r} is of schema {written['schema']!r}, not {SCHEMA!r}")
        return _run_from(written)
    except OSError as problem:
        raise FactsUnreadable(f"cannot read {str(path)!r}: {problem.strerror}") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise FactsUnreadable(f"{str(path)!r} holds no facts of a pytest run: {problem!r}") from problem


def _run_from(written: Mapping[str, Any]) -> FailingRun:
    cwd = Path(written["cwd"])
    processes = tuple(_process(one) for one in written["sessions"])
    return FailingRun(
        rootdir=Path(written["rootdir"]),
        cwd=cwd,
        python=written["python"],
        pytest_args=tuple(written["args"]),
        wishes=_wishes(written["options"], cwd),
        tests=written["tests"],
        started_s=time.time() - max((sum(one.durations_s) for one in processes), default=0.0),
        processes=processes,
        failures=tuple(_failed_test(one) for one in written["failures"]),
        not_rerun=written["not_rerun"] or "",
        rerun_by_others=tuple(NodeId(test) for test in written["rerun_by_others"]),
        notes=tuple(written["notes"]),
    )


def _wishes(options: Mapping[str, Any], cwd: Path) -> Wishes:
    return Wishes(
        forked=options["forked"],
        since=options["since"],
        intersect=options["intersect"],
        check_base=options["check_base"],
        json_file=cwd / options["json"] if options["json"] else None,
        store=cwd / options["store"] if options["store"] else None,
        seed=options["seed"],
    )


def _process(session: Mapping[str, Any]) -> Watched:
    return Watched(
        worker=session["worker"],
        order=tuple(NodeId(test) for test in session["order"]),
        outcomes=tuple(map(Outcome, session["outcomes"])),
        durations_s=[spent_us / 1e6 for spent_us in session["durations_us"]],
    )


def _failed_test(failure: Mapping[str, Any]) -> FailedTest:
    again = [rerun for rerun in failure["reruns"] if rerun.get("same_state")]
    failed = sum(Outcome(rerun["outcome"]).is_failure for rerun in again)
    return FailedTest(
        id=NodeId(failure["id"]),
        worker=failure["worker"],
        place=failure["place"],
        failure=Failure(**{key: failure[key] for key in ("phase", "exception", "message", "where", "text")}),
        random_state=failure["random_state"],
        reruns=tuple(_rerun(rerun) for rerun in failure["reruns"] if not rerun.get("same_state")),
        same_state=Tally(n=len(again), failed=failed),
    )


def _rerun(rerun: Mapping[str, Any]) -> Rerun:
    return Rerun(stage=Stage(rerun["stage"]), outcome=Outcome(rerun["outcome"]), seed=rerun["seed"])
