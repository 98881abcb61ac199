"""Wire one hunt together: open the suite, loop, judge, keep."""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from flakehound.app.hunt.causes_by_calls import MOST_S, CauseFinder, reserve_s
from flakehound.app.hunt.causes_by_state import StateFinder
from flakehound.app.hunt.extra_runs import Probes
from flakehound.app.hunt.priors import Earlier, earlier_in, priors_of, time_ranks
from flakehound.app.hunt.start import HuntStart
from flakehound.app.hunt.static_priors import static_scores
from flakehound.app.hunt.suite_trace import calls_if_cheap
from flakehound.app.sessions.plain_runs import drained, failed_lately
from flakehound.app.sessions.stored import runs_of
from flakehound.app.sessions.target import commit_of, plain_arguments
from flakehound.app.trace.settings import characteristic_in
from flakehound.cli.progress import Progress
from flakehound.core.errors import UsageError, same_command
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, RunPlan, Setting
from flakehound.core.records import RunRecord
from flakehound.core.statistics.prevalence import Priors
from flakehound.core.verdicts import Verdict
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.loop import Loop
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.counted_agenda import CountedAgenda
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.options import INDEX, TECHNIQUES, Candidates, SearchOptions
from flakehound.report.durations import spoken
from flakehound.report.hunt.summary import Hunted, SpentFacts, SuiteFacts
from flakehound.store import SessionInfo, Store

if TYPE_CHECKING:
    from flakehound.app.hunt.selection import Selection  # imports what learns, which most hunts do not need

Tell = Callable[[Hunted], None]
Select = Callable[[HuntStart], "Selection"]
MOST_SUSPECTS = 50  # that are looked at first
MOST_TOLD = 5
LEAST_TOLD = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked for."""

    target: Target
    seed: int  # of a new hunt
    jobs: int | None  # None: as many as the suite bears
    store_path: Path
    budget_s: float | None = None
    runs: int | None = None
    shuffles: int | None = None
    policy: str = INDEX
    select: Select | None = None  # which tests the policy reruns and pairs; None: all
    techniques: tuple[str, ...] = TECHNIQUES
    pairs: str = "auto"
    states: bool = False
    measure: bool = False
    isolation: Isolation | None = None
    test_limit_s: float | None = None
    shown_store: str | None = None  # how the user named the store, None for the default
    earlier: SessionInfo | None = None  # the hunt to go on with
    quiet: bool = False

    @property
    def base_seed(self) -> int:
        """The seed of the whole hunt, from its first start on."""
        return self.seed if self.earlier is None else self.earlier.base_seed

    @property
    def is_counted(self) -> bool:
        """Whether the user named a number of runs to make; `--shuffles 0` only names what not to do."""
        return bool(self.runs or self.shuffles)

    @property
    def lifts_the_default_time(self) -> bool:
        """Whether only the counted runs say when to end."""
        return self.is_counted and self.budget_s is None


def hunt(wishes: Wishes, tell: Tell) -> Hunted:
    """Hunt until the time is up, nothing is left to do, or the user interrupts; then tell and keep the result."""
    if not wishes.measure:
        return _hunted_in(wishes.target, wishes, tell)
    from flakehound.app.measure import beside_churn

    with beside_churn(wishes.target) as (target, write_churn, _churn):
        return _hunted_in(target, wishes, tell, meanwhile=write_churn)


def _hunted_in(target: Target, wishes: Wishes, tell: Tell, meanwhile: Callable[[], None] = lambda: None) -> Hunted:
    budget = Budget(limit_s=wishes.budget_s)
    opened = open_suite(
        target,
        jobs=wishes.jobs,
        isolation=wishes.isolation,
        hash_seed=wishes.base_seed % 4294967295,
        limits=Limits(test_limit_s=wishes.test_limit_s or FIRST_TEST_LIMIT_S),
        meanwhile=meanwhile,
    )
    try:
        budget.settle(opened.suite_s)
        budget.reserved_s = reserve_s(budget.limit_s)
        # Not before the suite is open: a folder without tests should not be left with a store.
        with Store.open(wishes.store_path) as store:
            drained(store)
            return _Hunt(wishes, budget, store, opened, tell).run()
    finally:
        opened.close()


class _OpenCases:
    """A planner that looks for nothing new."""

    def __init__(self, agenda: Agenda) -> None:
        self.urgent = agenda.urgent

    def next_sweep(self) -> RunPlan | None:
        """None: there is no time for it."""
        return None


class _Hunt:
    """One hunt from the open suite to the report."""

    def __init__(self, wishes: Wishes, budget: Budget, store: Store, opened: OpenSuite, tell: Tell) -> None:
        self._wishes = wishes
        self._budget = budget
        self._store = store
        self._opened = opened
        self._tell = tell
        self._known = characteristic_in(Path(opened.handshake.rootdir))
        self._session = wishes.earlier or store.begin(self._session_info(), opened.suite)
        assert self._session.id is not None
        self._session_id = self._session.id
        self._history = History(opened.suite, self._earlier_records() if wishes.earlier else ())
        self._keep_reference()
        self._interrupted = False
        self._selection = self._selected()
        if wishes.measure and not (self._selection and self._selection.measured):
            self._measure()
        self._priors = self._believed()
        self._suspects = failed_lately(store, opened.handshake.rootdir)
        self._agenda = self._planner()

    def _believed(self) -> Priors:
        """What is known beforehand; models are only asked where the policy goes by their answers."""
        suite, time_s = self._opened.suite, self._budget.limit_s if self._wishes.policy == INDEX else None
        scores = static_scores(Path(self._opened.handshake.rootdir), suite.order, time_s)
        earlier = replace(
            earlier_in(self._store, self._session, self._known, time_s), time_ranks=time_ranks(self._times_s())
        )
        return priors_of(suite, self._with_calls(earlier) if self._wishes.policy == INDEX else earlier, scores)

    def _times_s(self) -> dict[NodeId, float]:
        """What the tests took that have run, in the reference run or before this hunt was resumed."""
        history = self._history
        return {
            test: history.mean_s(test) for test in self._opened.suite.order if history.slowest_s(test) is not None
        }

    def _with_calls(self, earlier: Earlier) -> Earlier:
        """With what a trace of this hunt tells, where there is the time for one and no earlier one tells it."""
        traced = sum(test in earlier.calls for test in self._opened.suite.order)
        if self._interrupted or 2 * traced > len(self._opened.suite.order):
            return earlier
        try:
            return replace(earlier, calls={**earlier.calls, **calls_if_cheap(self._start())})
        except KeyboardInterrupt:
            self._interrupted = True
            return earlier

    def _selected(self) -> Selection | None:
        return None if self._wishes.select is None else self._wishes.select(self._start())

    def _start(self) -> HuntStart:
        return HuntStart(
            opened=self._opened,
            known=self._known,
            budget=self._budget,
            seed=self._run_seed(),
            test_limit_s=self._wishes.test_limit_s,
            quiet=self._wishes.quiet,
            keep=self._keep_apart,
            keep_source=lambda told: self._store.keep_source_features(self._session_id, told),
        )

    def _planner(self) -> Agenda:
        options, pool = self._options(), self._opened.pool
        if not self._wishes.lifts_the_default_time:
            return Agenda(self._history, options, lambda: self._budget.left_s)
        return CountedAgenda(
            self._history, options, lambda: self._budget.left_s, is_busy=lambda: bool(pool.running)
        )

    def _session_info(self) -> SessionInfo:
        target, told = self._wishes.target, self._opened.handshake
        return SessionInfo(
            rootdir=str(target.cwd),
            python=told.python,
            pytest=told.pytest,
            commit=commit_of(target.cwd),
            base_seed=self._wishes.base_seed,
            started_s=time.time(),
            isolation=self._opened.isolation,
            options={
                "python": target.python,
                "pytest_args": json.dumps(target.pytest_args),
                "keep_plugins": json.dumps(target.keep_plugins),
                "memory_bytes": json.dumps(target.memory_bytes),
                "rootdir": told.rootdir,
                "switched_off": json.dumps(sorted(told.switched_off)),
                "hash_seed": str(self._opened.hash_seed),
                "self_seeded": json.dumps(list(self._opened.pool.self_seeded)),
            },
        )

    def _earlier_records(self) -> Sequence[RunRecord]:
        if self._store.suite(self._session_id).order != self._opened.suite.order:
            raise UsageError(
                "the suite's tests are not the ones of the hunt that was to be resumed",
                remedy=same_command(resume=None),
            )
        evidence, _looks = runs_of(self._store, self._session_id)
        return evidence

    def _keep_reference(self) -> None:
        records = [record for record in self._opened.reference if record.executed]
        self._store.append(self._session_id, records)
        for record in records:
            self._history.add(record)

    def _options(self) -> SearchOptions:
        wishes, guard = self._wishes, self._opened.guard
        serial = guard is not None and guard.active
        return SearchOptions(
            seed=self._session.base_seed,
            jobs=1 if serial else self._opened.pool.jobs,
            isolation=self._opened.isolation,
            snapshots=not serial,
            techniques=wishes.techniques,
            runs=wishes.runs,
            shuffles=wishes.shuffles,
            hash_seeds="PYTHONHASHSEED" not in os.environ,
            endless=wishes.budget_s is not None and not wishes.is_counted,
            pairs=wishes.pairs,
            states=wishes.states,
            suspects=tuple(self._suspects)[:MOST_SUSPECTS],
            policy=wishes.policy,
            candidates=Candidates() if self._selection is None else self._selection.candidates,
            priors=self._priors,
        )

    def run(self) -> Hunted:
        """Loop, then tell."""
        patience = self._patience()
        with Progress(patience, self._found, self._stage, quiet=self._wishes.quiet) as progress:
            self._greet(progress)
            loop = self._loop(self._history, patience, self._keep, progress)
            if not self._interrupted:
                self._search(loop)
        return self._conclude(loop)

    def _search(self, loop: Loop) -> None:
        try:
            loop.run(self._agenda)
            # Proof comes before causes: open cases may have the time that was kept for these.
            self._budget.reserved_s = 0.0
            loop.run(_OpenCases(self._agenda))
        except KeyboardInterrupt:
            self._interrupted = True

    def _loop(
        self,
        history: History,
        budget: Budget,
        keep: Callable[[Sequence[RunRecord]], None],
        progress: Progress,
    ) -> Loop:
        return Loop(
            self._opened,
            history,
            budget,
            keep=keep,
            seed=self._run_seed(),
            test_limit_s=self._wishes.test_limit_s,
            tell=progress.tell,
            at_once=self._agenda.runs_at_once,
        )

    def _measure(self) -> None:
        """Runs that measure features. Measuring may disturb a test, so that no verdict depends on them."""
        from flakehound.app.measure import measured_first

        try:
            measured_first(self._start())
        except KeyboardInterrupt:
            self._interrupted = True

    def _patience(self) -> Budget:
        """How long the loop goes on; the agenda keeps to the budget by itself where that is for ever."""
        if not self._wishes.lifts_the_default_time:
            return self._budget
        return Budget(limit_s=math.inf, started=self._budget.started)

    def _run_seed(self) -> int:
        """The seed of this stretch: a resumed hunt must not repeat the seeds of the first one."""
        seed = self._session.base_seed
        return seed if self._wishes.earlier is None else (seed * 31 + int(time.time())) % 2**31

    def _greet(self, progress: Progress) -> None:
        tests = len(self._opened.suite.tests)
        progress.say(f"{tests} tests, hunting {self._how_long()} (seed {self._session.base_seed}) ...")
        bought = self._agenda.outlook(self._budget.left_s)
        if bought is not None:
            progress.say(f"the time is expected to show {flaky_tests(bought)}, as far as other suites tell")

    def _stage(self) -> str:
        expected = self._agenda.expected
        return self._agenda.stage + ("" if expected is None else f" ({flaky_tests(expected)} to expect)")

    def _how_long(self) -> str:
        time_s = spoken(self._budget.limit_s or 0.0)
        if not self._wishes.lifts_the_default_time:
            return f"for at most {time_s}"
        counts = ((self._wishes.runs, "runs"), (self._wishes.shuffles, "shuffles"))
        named = " and ".join(f"{number} {what}" for number, what in counts if number)
        return f"for at most {time_s}, longer only if {named} take longer"

    def _keep_apart(self, records: Sequence[RunRecord]) -> None:
        self._store.append(self._session_id, records)

    def _keep(self, records: Sequence[RunRecord]) -> None:
        self._store.append(self._session_id, records)
        for record in records:
            whole = len(record.order) == len(self._opened.suite.tests) and not record.ended
            if whole and record.setting is Setting.ORIGINAL and record.isolation is Isolation.FORK:
                self._budget.shorten(self._opened.start_s + record.usage.wall_s)

    def _found(self) -> str:
        kinds = Counter(finding.kind.value for finding in self._agenda.findings())
        return ", ".join(f"{times} {kind}" for kind, times in sorted(kinds.items()))

    def _conclude(self, loop: Loop) -> Hunted:
        from flakehound.report.hunt.as_json import report_json

        hunted = self._hunted(loop)
        try:
            # First: a store that fails at the last moment should not cost the user the report.
            self._tell(hunted)
        finally:
            self._store.keep_verdicts(self._session_id, report_json(hunted))
            self._store.finish(self._session_id, "interrupted" if self._interrupted else "done")
        return hunted

    def _verdicts(self) -> tuple[Verdict, ...]:
        """What the runs prove, and what may be behind it as far as calls tell."""
        verdicts = judge(self._history, self._agenda.conclude())
        if self._interrupted:
            return tuple(verdicts)
        self._budget.reserved_s = 0.0
        grace = Budget(limit_s=MOST_S if self._wishes.lifts_the_default_time else 0.0)
        probes = Probes(
            opened=self._opened,
            history=self._history,
            left_s=lambda: max(self._budget.left_s, grace.left_s),
            keep=self._keep_apart,
            seed=self._run_seed() % 2**32,
        )
        try:
            verdicts = StateFinder(probes).with_shared_state(verdicts)
            return tuple(CauseFinder(probes, self._known).with_causes(verdicts))
        except KeyboardInterrupt:
            self._interrupted = True
            self._opened.pool.call_off()
            return tuple(verdicts)

    def _hunted(self, loop: Loop) -> Hunted:
        target, told = self._wishes.target, self._opened.handshake
        return Hunted(
            verdicts=self._verdicts(),
            suite=SuiteFacts(
                tests=len(self._history.suite.tests),
                original_order_s=self._original_order_s(),
                python=told.python,
                pytest=told.pytest,
                commit=self._session.commit,
                rootdir=told.rootdir,
            ),
            spent=SpentFacts(
                wall_s=self._budget.spent_s,
                cpu_s=loop.spent.cpu_s,
                test_runs=loop.spent.test_runs,
                processes=loop.spent.processes,
            ),
            seed=self._session.base_seed,
            runs=self._whole_runs(),
            notes=(
                *self._opened.notes,
                *self._notes_on_suspects(),
                *self._notes_on_load(),
                *self._notes_on_selection(),
                *self._notes_on_the_rest(),
            ),
            priors={test: round(self._priors.flaky(test), 6) for test in self._history.suite.order},
            pairs=self._agenda.pairs_used,
            complete=self._agenda.is_done,
            interrupted=self._interrupted,
            cwd=str(target.cwd),
            python_path=target.python,
            pytest_args=plain_arguments(target.pytest_args, told.switched_off),
            store=self._wishes.shown_store,
        )

    def _notes_on_selection(self) -> list[str]:
        """What was chosen, and what that saved."""
        if self._selection is None:
            return []
        chosen, order = self._selection.candidates.reruns, self._history.suite.order
        if chosen is None or not 0 < len(chosen) < len(order):
            return list(self._selection.notes)
        made = sum(self._history.tally(test, Setting.ALONE).n for test in chosen)
        saved = round(made / len(chosen) * (len(order) - len(chosen)))
        return [*self._selection.notes, f"about {saved} reruns of single tests were saved, {made} were made"]

    def _notes_on_the_rest(self) -> list[str]:
        """What as much time again is expected to bring."""
        again_s = self._budget.limit_s or 0.0
        bought = self._agenda.outlook(again_s)
        if bought is None or self._wishes.is_counted:
            return []
        early = ", so the hunt ended before its time" if self._agenda.is_worthless else ""
        return [f"{spoken(again_s)} more are expected to show {flaky_tests(bought)}{early}"]

    def _notes_on_load(self) -> list[str]:
        """Why runs went slower than they could."""
        tests, most = self._agenda.under_load, self._options().jobs
        if self._agenda.runs_at_once(most) == most:
            return []
        return [
            f"{len(tests)} tests failed only beside other runs ({tests[0]}, ...): fewer runs went at once since"
        ]

    def _notes_on_suspects(self) -> list[str]:
        known = set(self._opened.suite.order)
        return [
            f"in your own pytest runs {test} {past}" for test, past in self._suspects.items() if test in known
        ][:MOST_TOLD]

    def _original_order_s(self) -> float:
        return sum(self._history.mean_s(test.id, default=0.0) for test in self._history.suite.tests)

    def _whole_runs(self) -> dict[str, int]:
        whole = (Setting.ORIGINAL, Setting.SHUFFLED)
        return dict(Counter(record.setting.value for record in self._history.records if record.setting in whole))


def flaky_tests(number: float) -> str:
    """An expected number of tests in words."""
    return f"{number:.2g} flaky tests" if number >= LEAST_TOLD else f"less than {LEAST_TOLD} flaky tests"
