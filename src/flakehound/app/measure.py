"""Measure the features of a suite's tests: churn from git, metrics of the source, and means of measured runs."""

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
from flakehound.app.limited_step import attempt_within
from flakehound.app.lint.files import scan
from flakehound.app.progress import SILENT, Progress, run_observer
from flakehound.app.sessions.new_session import new_session
from flakehound.core.errors import FailedStep, attempt
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
from flakehound.features.table import FEATURE_NAMES, FEATURES, STATIC_FEATURES
from flakehound.features.vectors import FeatureVector, mean_vectors
from flakehound.hunt.limits import MEASURED_RUNS
from flakehound.lint.analyse import measure_file
from flakehound.report.features_table import FeatureColumn, FeatureReport
from flakehound.store import SessionCommand, SourceFeatures, Store

_STAGE = "measuring"
_WHY = "features in the original order"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """Validated options of one `flakehound features`."""

    target: Target
    runs: int
    jobs: int
    seed: int
    store_path: Path
    isolation: Isolation | None = None
    test_limit_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRuns:
    """The runs that measured a suite."""

    records: Sequence[RunRecord]
    interrupted: bool  # by the user


@dataclass(slots=True, kw_only=True)
class ChurnFile:
    """The file from which measured runs read the changed lines of a project; written while pytest collects."""

    target: Target  # names the file
    churn: Churn | None = None  # None until it is written

    def write(self) -> None:
        """Ask git for the churn and write it."""
        churn = self.churn = churn_of(self.target.cwd)
        if not churn.problem and self.target.churn is not None:
            changed_lines = churn.counts.items() if churn.top else ()
            counts = {str((churn.top or Path()) / path): list(lines) for path, lines in changed_lines}
            self.target.churn.write_text(json.dumps(counts))


@contextmanager
def churn_file(target: Target) -> Iterator[ChurnFile]:
    """A temporary churn file for the suite."""
    with tempfile.TemporaryDirectory(prefix="fh-churn-") as folder:
        yield ChurnFile(target=replace(target, churn=Path(folder) / "churn.json"))


class MeasurePlanner:
    """Plans measured runs until every test ran `runs` times, also tests that follow one that ends its process."""

    def __init__(
        self,
        order: Order,
        runs: int,
        history: History,
        isolation: Isolation,
        *,
        is_busy: Callable[[], bool],
        lines_interval: int = 1,
    ) -> None:
        self._order = order
        self._runs = runs
        self._history = history  # of measured runs only
        self._isolation = isolation
        self._is_busy = is_busy
        self._lines_interval = lines_interval
        self._planned = 0

    @classmethod
    def for_suite(cls, opened: OpenSuite, runs: int, history: History) -> MeasurePlanner:
        """The planner for an open suite; the history holds measured runs only."""
        return cls(
            opened.suite.order,
            runs,
            history,
            opened.isolation,
            is_busy=lambda: bool(opened.pool.running),
            lines_interval=lines_interval(opened.handshake.python),
        )

    def follow_ups(self) -> list[RunPlan]:
        """None: measuring does not follow up failures."""
        return []

    def next_search_run(self) -> RunPlan | None:
        """The whole order `runs` times, then the tests that ran less often."""
        if self._planned < self._runs:
            self._planned += 1
            with_lines = (self._planned - 1) % self._lines_interval == 0
            return self._plan(self._order, Setting.ORIGINAL, with_lines=with_lines)
        can_retry = not self._is_busy() and self._planned <= self._runs + len(self._order)
        missing = self._missing_tests() if can_retry else ()
        if not missing:
            return None
        self._planned += 1
        return self._plan(missing, Setting.PROBE)

    def _missing_tests(self) -> Order:
        ran: Counter[NodeId] = Counter()
        for record in self._history.records:
            ran.update(test for _position, test, outcome in record if outcome is not Outcome.NOT_RUN)
        return tuple(test for test in self._order if ran[test] < self._runs)

    def _plan(self, order: Order, setting: Setting, *, with_lines: bool = True) -> RunPlan:
        return SingleRun(
            order=order,
            why=_WHY,
            setting=setting,
            isolation=self._isolation,
            measure_features=True,
            measure_lines=with_lines,
        )


def lines_interval(python: str) -> int:
    """Every how many runs executed lines are measured; before Python 3.12 it nearly doubles a run's time."""
    major, minor = map(int, python.split(".")[:2])
    return 1 if (major, minor) >= (3, 12) else 3


def measure_suite(options: MeasureOptions, progress: Progress = SILENT) -> FeatureReport:
    """Measure the suite, store every run, and return the means."""
    with churn_file(options.target) as file:
        opened = open_suite(
            file.target,
            jobs=options.jobs,
            isolation=options.isolation,
            hash_seed=options.seed % 4294967295,
            limits=Limits(test_limit_s=options.test_limit_s or FIRST_TEST_LIMIT_S),
            during_collection=file.write,
        )
        try:
            assert file.churn is not None
            with Store.open(options.store_path) as store:
                return _measure(options, progress, opened, store, file.churn)
        finally:
            opened.close()


def _measure(
    options: MeasureOptions, progress: Progress, opened: OpenSuite, store: Store, churn: Churn
) -> FeatureReport:
    info = new_session(options.target, opened, command=SessionCommand.FEATURES, seed=options.seed)
    session = store.begin(info, opened.suite)
    assert session.id is not None
    source = attempt(lambda: source_features(opened))
    if not isinstance(source, FailedStep):
        store.save_source_features(session.id, source)
    runs = _measured_runs(options, progress, opened, store, session.id)
    vectors = mean_vectors(opened.suite.order, runs.records, {} if isinstance(source, FailedStep) else source)
    store.finish(session.id, "interrupted" if runs.interrupted else "done")
    return FeatureReport(
        columns=tuple(FeatureColumn(name=feature.name, unit=feature.unit) for feature in FEATURES),
        tests={vector.id: vector.values for vector in vectors},
        runs=options.runs,
        commits=churn.commits,
        seed=options.seed,
        notes=(*opened.notes, *_notes(vectors, churn, source)),
        remedies=tuple([churn.remedy] if churn.remedy else []),
        interrupted=runs.interrupted,
    )


def _measured_runs(
    options: MeasureOptions, progress: Progress, opened: OpenSuite, store: Store, session_id: int
) -> MeasuredRuns:
    history, budget = History(opened.suite), Budget(limit_s=math.inf)
    saved: list[RunRecord] = []

    def save(records: Sequence[RunRecord]) -> None:
        saved.extend(store.append(session_id, records))

    def found() -> str:
        return f"{sum(bool(record.measures) for record in saved)} measured runs"

    progress.message(f"{len(opened.suite.tests)} tests, {options.runs} measured runs (seed {options.seed}) ...")
    loop = RunLoop(
        opened,
        history,
        budget,
        save=save,
        seed=options.seed,
        test_limit_s=options.test_limit_s,
        report=run_observer(progress, budget, stage=lambda: _STAGE, found=found),
    )
    try:
        loop.run(MeasurePlanner.for_suite(opened, options.runs, history))
    except KeyboardInterrupt:
        return MeasuredRuns(records=saved, interrupted=True)
    return MeasuredRuns(records=saved, interrupted=False)


def measure_in_hunt(hunt: PreparedHunt) -> list[FeatureVector]:
    """Measure the suite before the search of a hunt, within its time; tests that were not reached have no runs."""
    hunt.progress.message(f"measuring the features of {len(hunt.opened.suite.order)} tests ...")
    source_or_failure = attempt_within(
        lambda: source_features(hunt.opened),
        math.inf if hunt.options.ends_by_count_only else hunt.budget.left_s,
        lambda: hunt.progress.show_state(lambda: f"reading the source of {len(hunt.opened.suite.order)} tests"),
    )
    source = {} if isinstance(source_or_failure, FailedStep) else source_or_failure
    hunt.save_source_features(source)
    history, saved = History(hunt.opened.suite), list[RunRecord]()

    def save(records: Sequence[RunRecord]) -> None:
        saved.extend(records)
        hunt.save_runs(records)

    loop = RunLoop(
        hunt.opened,
        history,
        hunt.budget,
        save=save,
        seed=hunt.seed,
        test_limit_s=hunt.options.test_limit_s,
        report=run_observer(hunt.progress, hunt.budget, stage=lambda: _STAGE),
    )
    loop.run(MeasurePlanner.for_suite(hunt.opened, MEASURED_RUNS, history))
    return mean_vectors(hunt.opened.suite.order, saved, source)


def source_features(opened: OpenSuite) -> SourceFeatures:
    """The seven features of the collected tests that their source alone gives, as lint measures them."""
    root = opened.handshake.rootdir
    files = [os.path.join(root, test.module) for test in opened.suite.tests if test.module.endswith(".py")]
    files = [file for file in dict.fromkeys(files) if os.path.isfile(file)]
    if not files:
        return {}
    found = scan(files, measure_file, cwd=opened.target.cwd)
    cells = {row.test_id: row.metric_cells() for rows in found.answers.values() for row in rows}
    return {test_id: {name: metrics[name] for name in STATIC_FEATURES} for test_id, metrics in cells.items()}


def _notes(vectors: Sequence[FeatureVector], churn: Churn, source: SourceFeatures | FailedStep) -> Iterator[str]:
    """What the report says about features that are missing."""
    if churn.problem:
        yield f"covered_changes is not known: {churn.problem}"
    elif churn.commits < COMMITS:
        yield f"the repository has only {churn.commits} commits"
    if isinstance(source, FailedStep):
        yield f"the source could not be read: {source.what}"
    elif any(vector.values[STATIC_FEATURES[0]] is None for vector in vectors):
        example = next(vector.id for vector in vectors if vector.values[STATIC_FEATURES[0]] is None)
        yield f"some tests have no source that can be read, such as {example}"
    unmeasured = [vector.id for vector in vectors if not vector.runs]
    if unmeasured:
        yield f"{len(unmeasured)} tests never came to an end and were not measured, such as {unmeasured[0]}"
    measured = [vector for vector in vectors if vector.runs]
    names = [name for name in FEATURE_NAMES if name not in STATIC_FEATURES and name != "covered_changes"]
    missing = [name for name in names if measured and all(vector.values[name] is None for vector in measured)]
    if missing:
        yield f"could not be measured here: {', '.join(missing)} (lines need coverage in the suite's environment)"
