"""Wire the measuring of features together: churn, source, measured runs, means."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.lint.files import scan
from flakehound.app.progress import SILENT, Progress, run_observer
from flakehound.app.sessions.new_session import new_session
from flakehound.core.errors import FailedStep, attempted
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.git.churn import COMMITS, Churn, churn_of
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import RunLoop
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.features.table import FEATURES, NAMES, STATIC
from flakehound.features.vectors import FeatureVector, mean_vectors
from flakehound.lint.analyse import measure_file
from flakehound.report.features_table import FeatureColumn, FeatureReport
from flakehound.store import SessionCommand, Store

STAGE = "measuring"
WHY = "features in the original order"
RUNS_IN_HUNT = 3  # measured runs of every test before the search of a hunt


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureWishes:
    """What the user asked for."""

    target: Target
    runs: int
    jobs: int
    seed: int
    store_path: Path
    isolation: Isolation | None = None
    test_limit_s: float | None = None


class Rounds:
    """The planner: every test measured so many times, also those behind one that ends the process."""

    def __init__(
        self,
        order: Order,
        runs: int,
        history: History,
        isolation: Isolation,
        *,
        is_busy: Callable[[], bool],
        covered_every: int = 1,
    ) -> None:
        self._order = order
        self._runs = runs
        self._history = history
        self._isolation = isolation
        self._is_busy = is_busy
        self._covered_every = covered_every
        self._given = 0

    def follow_ups(self) -> list[RunPlan]:
        """Nothing is suspected here."""
        return []

    def next_search_run(self) -> RunPlan | None:
        """The whole order until it was given often enough, then what did not get its turn."""
        if self._given < self._runs:
            self._given += 1
            return self._plan(self._order, Setting.ORIGINAL, covered=(self._given - 1) % self._covered_every == 0)
        left = () if self._is_busy() or self._given > self._runs + len(self._order) else self._left()
        if not left:
            return None
        self._given += 1
        return self._plan(left, Setting.PROBE)

    def _left(self) -> Order:
        ran: Counter[NodeId] = Counter()
        for record in self._history.records:
            ran.update(test for _place, test, outcome in record if outcome is not Outcome.NOT_RUN)
        return tuple(test for test in self._order if ran[test] < self._runs)

    def _plan(self, order: Order, setting: Setting, *, covered: bool = True) -> RunPlan:
        return SingleRun(
            order=order,
            why=WHY,
            setting=setting,
            isolation=self._isolation,
            measure_features=True,
            measure_lines=covered,
        )


def covered_every(python: str) -> int:
    """Every how many runs lines are traced: before Python 3.12 that nearly doubles the time of a run."""
    major, minor = map(int, python.split(".")[:2])
    return 1 if (major, minor) >= (3, 12) else 3


@contextmanager
def beside_churn(target: Target) -> Iterator[tuple[Target, Callable[[], None], list[Churn]]]:
    """The target with a place for churn; what writes it there while pytest collects; and what it wrote."""
    with tempfile.TemporaryDirectory(prefix="fh-churn-") as folder:
        measured_target = replace(target, churn=Path(folder) / "churn.json")
        churn: list[Churn] = []
        yield measured_target, lambda: churn.append(_churn_written(measured_target)), churn


def measured(wishes: MeasureWishes, progress: Progress = SILENT) -> FeatureReport:
    """Measure the suite, keep every run, and take the means."""
    with beside_churn(wishes.target) as (target, write_churn, churn):
        opened = open_suite(
            target,
            jobs=wishes.jobs,
            isolation=wishes.isolation,
            hash_seed=wishes.seed % 4294967295,
            limits=Limits(test_limit_s=wishes.test_limit_s or FIRST_TEST_LIMIT_S),
            during_collection=write_churn,
        )
        try:
            with Store.open(wishes.store_path) as store:
                return _measured(wishes, progress, opened, store, churn[0])
        finally:
            opened.close()


def _churn_written(target: Target) -> Churn:
    """Ask git while pytest collects; measured runs look the file up."""
    churn = churn_of(target.cwd)
    if not churn.absent and target.churn is not None:
        counts = {str(churn.top / path): list(lines) for path, lines in churn.counts.items()} if churn.top else {}
        target.churn.write_text(json.dumps(counts))
    return churn


def _measured(
    wishes: MeasureWishes, progress: Progress, opened: OpenSuite, store: Store, churn: Churn
) -> FeatureReport:
    info = new_session(wishes.target, opened, command=SessionCommand.FEATURES, seed=wishes.seed)
    session = store.begin(info, opened.suite)
    assert session.id is not None
    static = attempted(lambda: of_source(opened))
    if not isinstance(static, FailedStep):
        store.save_source_features(session.id, static)
    records, interrupted = _runs(wishes, progress, opened, store, session.id)
    vectors = mean_vectors(opened.suite.order, records, {} if isinstance(static, FailedStep) else static)
    store.finish(session.id, "interrupted" if interrupted else "done")
    return FeatureReport(
        columns=tuple(FeatureColumn(name=feature.name, unit=feature.unit) for feature in FEATURES),
        tests={vector.id: vector.values for vector in vectors},
        runs=wishes.runs,
        commits=churn.commits,
        seed=wishes.seed,
        notes=(*opened.notes, *_notes(vectors, churn, static)),
        remedies=tuple([churn.remedy] if churn.remedy else []),
        interrupted=interrupted,
    )


def _runs(
    wishes: MeasureWishes, progress: Progress, opened: OpenSuite, store: Store, session_id: int
) -> tuple[Sequence[RunRecord], bool]:
    history, budget = History(opened.suite), Budget(limit_s=math.inf)
    kept: list[RunRecord] = []

    def keep(records: Sequence[RunRecord]) -> None:
        kept.extend(store.append(session_id, records))

    planner = rounds_of(opened, wishes.runs, history)
    found = lambda: f"{sum(bool(record.measures) for record in kept)} measured runs"  # noqa: E731
    progress.message(f"{len(opened.suite.tests)} tests, {wishes.runs} measured runs (seed {wishes.seed}) ...")
    loop = RunLoop(
        opened,
        history,
        budget,
        save=keep,
        seed=wishes.seed,
        test_limit_s=wishes.test_limit_s,
        report=run_observer(progress, budget, stage=lambda: STAGE, found=found),
    )
    try:
        loop.run(planner)
    except KeyboardInterrupt:
        return kept, True
    return kept, False


def measured_at(hunt: PreparedHunt, runs: int) -> list[FeatureVector]:
    """Measure within a hunt, before its other runs and as long as its time lasts."""
    told = attempted(lambda: of_source(hunt.opened))
    static = {} if isinstance(told, FailedStep) else told
    hunt.save_source_features(static)
    history, kept = History(hunt.opened.suite), list[RunRecord]()

    def keep(records: Sequence[RunRecord]) -> None:
        kept.extend(records)
        hunt.save_runs(records)

    loop = RunLoop(
        hunt.opened,
        history,
        hunt.budget,
        save=keep,
        seed=hunt.seed,
        test_limit_s=hunt.options.test_limit_s,
        report=run_observer(hunt.progress, hunt.budget, stage=lambda: STAGE),
    )
    loop.run(rounds_of(hunt.opened, runs, history))
    return mean_vectors(hunt.opened.suite.order, kept, static)


def measure_in_hunt(hunt: PreparedHunt) -> list[FeatureVector]:
    """The same with a line that says so, for whoever plans a hunt by features; empty places where time ran out."""
    hunt.progress.message(f"measuring the features of {len(hunt.opened.suite.order)} tests ...")
    return measured_at(hunt, RUNS_IN_HUNT)


def rounds_of(opened: OpenSuite, runs: int, history: History) -> Rounds:
    """The planner for a suite; the history is that of its runs alone."""
    return Rounds(
        opened.suite.order,
        runs,
        history,
        opened.isolation,
        is_busy=lambda: bool(opened.pool.running),
        covered_every=covered_every(opened.handshake.python),
    )


def of_source(opened: OpenSuite) -> dict[str, dict[str, float | None]]:
    """The seven features that the source of the collected tests tells, as the lint room measures them."""
    root = opened.handshake.rootdir
    files = [os.path.join(root, test.module) for test in opened.suite.tests if test.module.endswith(".py")]
    files = [file for file in dict.fromkeys(files) if os.path.isfile(file)]
    if not files:
        return {}
    found = scan(files, measure_file, cwd=opened.target.cwd)
    cells = {row.test_id: row.metric_cells() for rows in found.answers.values() for row in rows}
    return {test_id: {name: metrics[name] for name in STATIC} for test_id, metrics in cells.items()}


def _notes(vectors: Sequence[FeatureVector], churn: Churn, static: object) -> Iterator[str]:
    if churn.absent:
        yield f"covered_changes is not known: {churn.absent}"
    elif churn.commits < COMMITS:
        yield f"the repository has only {churn.commits} commits"
    if isinstance(static, FailedStep):
        yield f"the source could not be read: {static.what}"
    elif any(vector.values[STATIC[0]] is None for vector in vectors):
        some = next(vector.id for vector in vectors if vector.values[STATIC[0]] is None)
        yield f"some tests have no source that can be read, such as {some}"
    never = [vector.id for vector in vectors if not vector.runs]
    if never:
        yield f"{len(never)} tests never came to an end and were not measured, such as {never[0]}"
    lost = [name for name in NAMES if name not in STATIC and name != "covered_changes"]
    seen = [vector for vector in vectors if vector.runs]
    missing = [name for name in lost if seen and all(vector.values[name] is None for vector in seen)]
    if missing:
        yield f"could not be measured here: {', '.join(missing)} (lines need coverage in the suite's environment)"
