"""The search by index (`--policy index`): the next run is the one with the most expected detections per second.

Every technique offers its next run. `expected_gain.py` says how many detections the run is expected to bring, and
`core/costs.py` what it costs. The rates behind the gain were measured in other suites, so a part of the time
follows the fixed stages: everything that they would find is still found, only later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SharedPrefix, SingleRun
from flakehound.hunt import limits, long_limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.expected_gain import WAYS_WITHOUT_NEIGHBOURS, ExpectedGain, Ways
from flakehound.hunt.search.likely_tests import LikelyTests
from flakehound.hunt.search.long_suite import LongSuite
from flakehound.hunt.search.stages import StagedSearch
from flakehound.hunt.search.suite_forecast import SuiteForecast
from flakehound.hunt.search.suite_pairs import SuitePairs
from flakehound.hunt.search.techniques import TechniqueRuns

# Runs in a row that were made before, or have a test that ends its process, after which a technique has no others.
_MAX_RUNS_NOT_DUE = 100


@dataclass(slots=True)
class RunSource:
    """The runs of one technique; the next one can be inspected before it is taken."""

    plans: Iterator[RunPlan]
    ways: Ways | None = None  # which its runs can show, if not the usual ones of such plans
    is_empty: bool = False
    _next_plan: RunPlan | None = None

    def peek(self, is_due: Callable[[RunPlan], bool]) -> RunPlan | None:
        """The next run that is still due; None if there is none."""
        if self.is_empty:
            return None
        tried = 0
        while self._next_plan is None or not is_due(self._next_plan):
            tried += 1
            self._next_plan = next(self.plans, None) if tried <= _MAX_RUNS_NOT_DUE else None
            if self._next_plan is None:
                self.is_empty = True
                return None
        return self._next_plan

    def take(self) -> None:
        """Remove the run that `peek` returned."""
        self._next_plan = None


@dataclass(slots=True)
class PlannedRuns:
    """The runs of all sources that were planned so far."""

    orders: set[Order] = field(default_factory=set)  # other than the original
    hash_seeds: set[int] = field(default_factory=set)
    repeated_tests: set[NodeId] = field(default_factory=set)

    def add(self, plan: RunPlan) -> None:
        """Record that this run was planned."""
        if isinstance(plan, SingleRun) and plan.setting is Setting.SHUFFLED:
            self.orders.add(plan.order)
        if plan.hash_seed is not None:
            self.hash_seeds.add(plan.hash_seed)
        if isinstance(plan, Batch):
            self.repeated_tests |= _repeated_tests(plan)

    def is_due(self, plan: RunPlan, excluded: frozenset[NodeId]) -> bool:
        """Whether no such run was planned yet, and the plan has no test that is excluded by now."""
        if isinstance(plan, Batch):
            repeated = _repeated_tests(plan)
            return not repeated or not self.repeated_tests.issuperset(repeated)
        if not isinstance(plan, SingleRun) or plan.setting is Setting.PROBE:
            return True
        if plan.setting is Setting.SHUFFLED and plan.order in self.orders:
            return False
        if plan.hash_seed is not None and plan.hash_seed in self.hash_seeds:
            return False
        return not excluded or excluded.isdisjoint(plan.order)


class IndexSearch:
    """Orders the runs for one suite by their index: expected detections per second."""

    def __init__(
        self,
        history: History,
        options: SearchOptions,
        test_order: Callable[[], OriginalOrder],
        long_suite: LongSuite | None = None,
    ) -> None:
        self._history = history
        self._options = options
        self._test_order = test_order
        self._stages = StagedSearch(history, options, test_order, long_suite)
        self._runs = TechniqueRuns(history, options, test_order)
        self._pairs = SuitePairs(history, options, test_order)
        self._planned = PlannedRuns()
        # Estimated cost of the runs after the first round: of all, and of those that came from the stages.
        self._spent_s = self._staged_s = 0.0
        # Time of all tests, and the number of records when it was summed up.
        self._order_source: RunSource | None = None
        self._pair_source: RunSource | None = None
        self._pair_form = self._pairs_used = ""  # the form that was chosen, and the form that ran
        self._check_below_s: float | None = None  # when less time is left, `_ends_early` decides again
        self._check_every_s = 0.0
        self.ended_early = False  # because no detections were expected in the time left

    @property
    def at_first_look(self) -> bool:
        """Whether the first look at the suite is not over yet."""
        return self._stages.at_first_look and len(self._planned.orders) < limits.FIRST_LOOK_ORDERS

    @property
    def awaits_first_orders(self) -> bool:
        """Whether an order that will show most suspects of a long suite is still running."""
        return self._stages.awaits_first_orders

    @property
    def pairs_used(self) -> str:
        """Which form of PAIRWISE ran; empty when none did."""
        return self._pairs_used or self._stages.pairs_used

    @cached_property
    def _gain(self) -> ExpectedGain:
        return ExpectedGain(self._history, self._options.priors)

    def expected_detections_in(self, seconds: float) -> float | None:
        """Detections expected from this much more time."""
        self._gain.update()
        return self._forecast().detections_in(seconds)

    def plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """All runs of the search, best first; may be endless."""
        stages = self._stages.plans(time_left_s)
        yield from self._first_round(stages, time_left_s)
        sources = self._sources(time_left_s)
        while not self._ends_early(time_left_s):
            plan = self._next_plan(stages, sources, time_left_s())
            if plan is None:
                return
            yield plan

    def _first_round(self, stages: Iterator[RunPlan], time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """A few runs of every kind, as in the stages: they find what the rates of other suites do not predict."""
        time_left_at_end_s = (1 - limits.MAX_FIRST_ROUND_SHARE) * time_left_s()
        is_long = self._stages.is_long
        if not is_long and not self._can_afford_first_look(time_left_s()):
            return
        for plan in stages:
            self._gain.count_planned(plan)
            self._planned.add(plan)
            yield plan
            is_over = not is_long and time_left_s() < time_left_at_end_s
            if not self.at_first_look and (not self._stages.at_first_round or is_over):
                return

    def _can_afford_first_look(self, time_left_s: float) -> bool:
        """Whether a few original runs, each test alone and a few orders leave most of the time.

        They find no more per second than other runs, but they tell the kinds of flaky tests apart.
        """
        tests, costs = self._history.suite.order, self._history.costs
        orders_s = 2 * limits.FIRST_LOOK_ORDERS * costs.tests_s(tests)
        alone_s = sum(costs.run_s((test, test), self._options.isolation) for test in tests)
        return orders_s + alone_s <= limits.MAX_FIRST_LOOK_SHARE * time_left_s * self._options.jobs

    def _ends_early(self, time_left_s: Callable[[], float]) -> bool:
        """Whether to end now because the time left is expected to show nothing; checked only now and then."""
        if self._check_below_s is None:
            self._check_below_s = time_left_s()
            self._check_every_s = self._check_below_s / limits.EARLY_END_CHECKS
        self._gain.update()
        if time_left_s() > self._check_below_s:
            return False
        self._check_below_s = time_left_s() - self._check_every_s
        forecast = self._forecast()
        expects_nothing = forecast.detections_in(time_left_s()) < limits.MIN_EXPECTED_DETECTIONS
        if not expects_nothing or self._has_counted_runs or not forecast.rules_out_rare_failures():
            return False
        self.ended_early = time_left_s() > self._check_every_s
        return True

    @property
    def _has_counted_runs(self) -> bool:
        """Whether the user asked for a number of runs: they are made in any case, and no others in addition."""
        return self._options.runs is not None or self._options.shuffles is not None

    def _forecast(self) -> SuiteForecast:
        has_orders_left = self._order_source is None or not self._order_source.is_empty
        has_pairs_left = self._pair_source is None or not self._pair_source.is_empty
        return SuiteForecast(
            history=self._history,
            options=self._options,
            gain=self._gain,
            has_orders="idflakies" in self._options.techniques and has_orders_left,
            has_pairs=self._can_run_pairs and has_pairs_left,
        )

    @property
    def _can_run_pairs(self) -> bool:
        return self._options.isolation is Isolation.FORK and "pairwise" in self._options.techniques

    def _next_plan(
        self, stages: Iterator[RunPlan], sources: list[RunSource], time_left_s: float
    ) -> RunPlan | None:
        is_staged = self._staged_s <= limits.MIN_STAGES_SHARE * self._spent_s
        plan, ways = (self._next_staged(stages) if is_staged else None), None
        if plan is None:
            plan, ways = self._take_best(sources, time_left_s)
        if plan is None:
            is_staged, plan = True, self._next_staged(stages)
        if plan is not None:
            self._gain.count_planned(plan, ways)
            cost_s = self._history.costs.plan_s(plan)
            self._spent_s += cost_s
            self._staged_s += cost_s if is_staged else 0.0
            self._planned.add(plan)
        return plan

    def _next_staged(self, stages: Iterator[RunPlan]) -> RunPlan | None:
        return next((plan for plan in stages if self._is_due(plan)), None)

    def _is_due(self, plan: RunPlan) -> bool:
        return self._planned.is_due(plan, self._test_order().excluded)

    def _take_best(self, sources: list[RunSource], time_left_s: float) -> tuple[RunPlan | None, Ways | None]:
        """Take the run with the most expected detections per second; of equal ones, that of the first source.

        Also returns the ways that the source names.
        """
        best, best_plan, largest_index = None, None, 0.0
        for source in sources:
            plan = source.peek(self._is_due)
            if plan is None or (cost_s := self._history.costs.plan_s(plan)) > time_left_s:
                continue
            index = self._gain.of_plan(plan, source.ways) / cost_s
            if index > largest_index:
                best, best_plan, largest_index = source, plan, index
        if best is None:
            return None, None
        best.take()
        if best is self._pair_source:
            self._pairs_used = self._pair_form
        return best_plan, best.ways

    def _sources(self, time_left_s: Callable[[], float]) -> list[RunSource]:
        techniques, runs = self._options.techniques, self._runs
        likely = LikelyTests(self._history, self._options, self._gain, runs)
        uses_forks = self._options.isolation is Isolation.FORK
        plan_sequences: list[Iterator[RunPlan]] = [runs.other_orders()] if "idflakies" in techniques else []
        long_runs = self._stages.long_suite_runs
        uses_quick_tests = self._stages.is_long and not self._has_counted_runs
        if uses_quick_tests:
            plan_sequences += [
                *map(long_runs.quick_orders, long_limits.ORDER_SHARES),
                long_runs.quick_hash_seeds(),
            ]
        if "rerun" in techniques and self._options.runs is None:
            plan_sequences.append(runs.original_order())
        if "rerun" in techniques or self._can_run_pairs:
            plan_sequences.append(runs.each_alone())
        if "rerun" in techniques:
            plan_sequences.append(likely.alone())
        if "rerun" in techniques and not self._has_counted_runs:
            plan_sequences.append(likely.together())
        if uses_forks and "rerun" in techniques and self._options.hash_seeds:
            plan_sequences.append(runs.other_hash_seeds())
        if self._can_run_pairs:
            plan_sequences.append(self._pair_plans(time_left_s))
        sources = [RunSource(plans) for plans in plan_sequences]
        self._order_source = sources[0] if "idflakies" in techniques else None
        self._pair_source = sources[-1] if self._can_run_pairs else None
        if uses_quick_tests:
            sources.append(RunSource(long_runs.spread_groups(), ways=WAYS_WITHOUT_NEIGHBOURS))
        return sources

    def _pair_plans(self, time_left_s: Callable[[], float]) -> Iterator[SharedPrefix]:
        self._pair_form = self._pairs.affordable_form(time_left_s())
        yield from self._pairs.plans(self._pair_form)


def _repeated_tests(batch: Batch) -> set[NodeId]:
    """The tests that run twice in one process."""
    return {order[0] for order in batch.orders if len(order) > 1}
