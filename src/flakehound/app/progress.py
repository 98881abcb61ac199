"""How a use case reports its progress; the caller decides whether and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from flakehound.engine.suite.budget import Budget
    from flakehound.engine.suite.loop import WorkDone
    from flakehound.engine.suite.opening_progress import OpeningProgress
    from flakehound.engine.suite.reference_run import RunProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """The progress of a series of test runs."""

    stage: str  # what the runs are for, such as "shuffles"
    processes: int  # ended so far
    test_runs: int  # tests executed so far, each as often as it ran
    found: str | None  # the findings so far, empty: none yet; None: the runs do not search
    spent_s: float
    left_s: float  # infinite where no time limit is set


class Progress(Protocol):
    """Receives the progress of a long use case."""

    def message(self, text: str) -> None:
        """Report one line that should stay visible."""

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Report after every run; `state` is called only if it will be shown."""

    def show_state(self, state: Callable[[], str]) -> None:
        """Report what goes on, again and again while waiting; `state` is called only if it will be shown."""

    def show_steps(self, stage: str, done: int, total: int) -> None:
        """Report how many of a known number of steps are done."""

    def clear(self) -> None:
        """Stop showing the state: the work is over, or results are about to be printed."""


class SilentProgress:
    """Ignores every report."""

    def message(self, text: str) -> None:
        """Do nothing."""

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Do nothing."""

    def show_state(self, state: Callable[[], str]) -> None:
        """Do nothing."""

    def show_steps(self, stage: str, done: int, total: int) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


SILENT: Progress = SilentProgress()


def run_observer(
    progress: Progress, budget: Budget, *, stage: Callable[[], str], found: Callable[[], str | None] = lambda: ""
) -> Callable[[WorkDone], None]:
    """A function for the engine's loop to call after every run; it reports to `progress`."""

    def report(spent: WorkDone) -> None:
        progress.show_runs(lambda: _state(spent, budget, stage(), found()))

    return report


def opening_observer(progress: Progress) -> Callable[[OpeningProgress], None]:
    """A function for the engine to call while a suite is opened; it reports to `progress`."""
    return lambda opening: progress.show_state(lambda: _opening_text(opening))


def first_run_text(run: RunProgress) -> str:
    """How far the first run of the suite is."""
    return f"first run: {run.ended} of {run.tests} tests, {run.failed} failed"


def _opening_text(opening: OpeningProgress) -> str:
    if opening.run is not None:
        return first_run_text(opening.run)
    collection = opening.collection
    if not collection.files:
        return "collecting: pytest starts"
    return f"collecting: {collection.tests} tests in {collection.files} files so far"


def _state(spent: WorkDone, budget: Budget, stage: str, found: str | None) -> RunState:
    return RunState(
        stage=stage,
        processes=spent.processes,
        test_runs=spent.test_runs,
        found=found,
        spent_s=budget.spent_s,
        left_s=budget.left_s,
    )
