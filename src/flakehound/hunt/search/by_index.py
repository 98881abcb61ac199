"""The search by index (`--policy index`): the next run is the one with the most expected detections per second.

Every technique offers its next run. Its expected gain comes from what no run has shown yet (`expected_gain.py`),
its cost from measured times (`core/costs.py`). The rates behind the gain are those of other people's suites, so a
part of the time follows the fixed stages: whatever they would find is found, only later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SharedPrefix, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.expected_gain import ExpectedGain
from flakehound.hunt.search.likely_tests import LikelyTests
from flakehound.hunt.search.outlook import Outlook
from flakehound.hunt.search.stages import StagedSearch
from flakehound.hunt.search.suite_pairs import SuitePairs
from flakehound.hunt.search.techniques import TechniqueRuns


@dataclass(slots=True)
class RunSource:
    """One technique's runs, with a look at the next of them."""

    plans: Iterator[RunPlan]
    is_empty: bool = False  # it has nothing more
    _next: RunPlan | None = None

    def peek(self, is_due: Callable[[RunPlan], bool]) -> RunPlan | None:
        """The next run that still makes sense; None where there is none."""
        while self._next is None or not is_due(self._next):
            self._next = next(self.plans, None)
            if self._next is None:
                self.is_empty = True
                return None
        return self._next

    def take(self) -> None:
        """Go on to the run after the one that was looked at."""
        self._next = None


@dataclass(slots=True)
class PlannedRuns:
    """The runs that were planned already, whichever source they came from."""

    orders: set[Order] = field(default_factory=set)  # other than the original
    hash_seeds: set[int] = field(default_factory=set)
    repeated_tests: set[NodeId] = field(default_factory=set)

    def add(self, plan: RunPlan) -> None:
        """Take in one planned run."""
        if isinstance(plan, SingleRun) and plan.setting is Setting.SHUFFLED:
            self.orders.add(plan.order)
        if plan.hash_seed is not None:
            self.hash_seeds.add(plan.hash_seed)
        if isinstance(plan, Batch):
            self.repeated_tests |= _repeated_tests(plan)

    def is_due(self, plan: RunPlan, tests: Order) -> bool:
        """Whether no such run was planned yet, and these are still the tests to run."""
        if isinstance(plan, Batch):
            repeated = _repeated_tests(plan)
            return not repeated or not self.repeated_tests.issuperset(repeated)
        if not isinstance(plan, SingleRun) or plan.setting is Setting.PROBE:
            return True
        if plan.setting is Setting.SHUFFLED and plan.order in self.orders:
            return False
        if plan.hash_seed is not None and plan.hash_seed in self.hash_seeds:
            return False
        return len(plan.order) == len(tests)


class IndexSearch:
    """The sequence of runs for one suite, by index."""

    def __init__(self, history: History, options: SearchOptions, test_order: Callable[[], OriginalOrder]) -> None:
        self._history = history
        self._options = options
        self._test_order = test_order
        self._stages = StagedSearch(history, options, test_order)
        self._runs = TechniqueRuns(history, options, test_order)
        self._pairs = SuitePairs(history, options, test_order)
        self._planned = PlannedRuns()
        self._spent_s = self._staged_s = 0.0  # on runs after the first round, as estimated beforehand
        self._suite_s, self._suite_timed_at = 0.0, -1  # all tests, and how many runs were known when summed up
        self._order_source: RunSource | None = None
        self._pair_source: RunSource | None = None
        self._pair_form = self._pairs_used = ""  # as chosen, and once a pair ran
        self._check_below_s: float | None = None  # time left at which the end is considered next
        self._check_every_s = 0.0
        self.ended_early = False  # no detections were expected of the time left
        self.expected: float | None = None  # detections in the time left, when last estimated

    @property
    def at_first_look(self) -> bool:
        """Whether nothing but the first few orders was run so far."""
        return self._stages.at_first_look and len(self._planned.orders) < limits.FIRST_LOOK_ORDERS

    @property
    def pairs_used(self) -> str:
        """Which form of PAIRWISE ran; empty when none did."""
        return self._pairs_used or self._stages.pairs_used

    @cached_property
    def _gain(self) -> ExpectedGain:
        return ExpectedGain(self._history, self._options.priors)

    def outlook(self, seconds: float) -> float | None:
        """Detections expected from so much more time."""
        self._gain.update()
        return self._outlook().detections_in(seconds)

    def plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """All runs of the search, best first; may be endless."""
        stages = self._stages.plans(time_left_s)
        yield from self._first_round(stages, time_left_s)
        sources = self._sources(time_left_s)
        while not self._ends_early(time_left_s):
            plan = self._next(stages, sources, time_left_s())
            if plan is None:
                return
            self._gain.count_planned(plan)
            yield plan

    def _first_round(self, stages: Iterator[RunPlan], time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """A few runs of every kind, as in the stages: only they show what no rate foretells."""
        ends_at_s = (1 - limits.MAX_FIRST_ROUND_SHARE) * time_left_s()
        if not self._affords_first_look(time_left_s()):
            return
        for plan in stages:
            self._gain.count_planned(plan)
            self._planned.add(plan)
            yield plan
            if not self.at_first_look and (not self._stages.at_first_round or time_left_s() < ends_at_s):
                return

    def _affords_first_look(self, time_left_s: float) -> bool:
        """Whether a few original runs, each test alone and a few orders leave most of the time.

        They show no more per second than other runs, but what they show tells the kinds of flaky tests apart.
        """
        tests, costs = self._history.suite.order, self._history.costs
        orders_s = 2 * limits.FIRST_LOOK_ORDERS * costs.tests_s(tests)
        alone_s = sum(costs.run_s((test, test), self._options.isolation) for test in tests)
        return orders_s + alone_s <= limits.MAX_FIRST_LOOK_SHARE * time_left_s * self._options.jobs

    def _ends_early(self, time_left_s: Callable[[], float]) -> bool:
        """Whether nothing is to be expected of the time left; considered only now and then."""
        if self._check_below_s is None:
            self._check_below_s = time_left_s()
            self._check_every_s = self._check_below_s / limits.EARLY_END_CHECKS
        self._gain.update()
        if time_left_s() > self._check_below_s:
            return False
        self._check_below_s = time_left_s() - self._check_every_s
        outlook = self._outlook()
        self.expected = outlook.detections_in(time_left_s())
        is_hopeless = self.expected < limits.MIN_EXPECTED_DETECTIONS
        if not is_hopeless or self._has_counted_runs or not outlook.rules_out_rare_failures():
            return False
        self.ended_early = time_left_s() > self._check_every_s
        return True

    @property
    def _has_counted_runs(self) -> bool:
        """Whether the user named a number of runs: they are made in any case, and no others beside them."""
        return self._options.runs is not None or self._options.shuffles is not None

    def _outlook(self) -> Outlook:
        orders_left = self._order_source is None or not self._order_source.is_empty
        pairs_left = self._pair_source is None or not self._pair_source.is_empty
        return Outlook(
            history=self._history,
            options=self._options,
            gain=self._gain,
            has_orders="idflakies" in self._options.techniques and orders_left,
            has_pairs=self._can_pair and pairs_left,
        )

    @property
    def _can_pair(self) -> bool:
        return self._options.isolation is Isolation.FORK and "pairwise" in self._options.techniques

    def _next(self, stages: Iterator[RunPlan], sources: list[RunSource], time_left_s: float) -> RunPlan | None:
        is_staged = self._staged_s <= limits.MIN_STAGES_SHARE * self._spent_s
        plan = self._next_staged(stages) if is_staged else None
        plan = plan or self._best(sources, time_left_s)
        if plan is None:
            is_staged, plan = True, self._next_staged(stages)
        if plan is not None:
            cost_s = self._cost_s(plan)
            self._spent_s += cost_s
            self._staged_s += cost_s if is_staged else 0.0
            self._planned.add(plan)
        return plan

    def _next_staged(self, stages: Iterator[RunPlan]) -> RunPlan | None:
        return next((plan for plan in stages if self._is_due(plan)), None)

    def _is_due(self, plan: RunPlan) -> bool:
        return self._planned.is_due(plan, self._test_order().tests)

    def _best(self, sources: list[RunSource], time_left_s: float) -> RunPlan | None:
        """The run with the most expected detections per second; of equal ones that of the first source."""
        best, best_plan, largest_index = None, None, 0.0
        for source in sources:
            plan = source.peek(self._is_due)
            if plan is None or (cost_s := self._cost_s(plan)) > time_left_s:
                continue
            index = self._gain.of_plan(plan) / cost_s
            if index > largest_index:
                best, best_plan, largest_index = source, plan, index
        if best is not None:
            best.take()
            if best is self._pair_source:
                self._pairs_used = self._pair_form
        return best_plan

    def _sources(self, time_left_s: Callable[[], float]) -> list[RunSource]:
        techniques, runs = self._options.techniques, self._runs
        likely = LikelyTests(self._history, self._options, self._gain, runs)
        forks = self._options.isolation is Isolation.FORK
        found: list[Iterator[RunPlan]] = [runs.other_orders()] if "idflakies" in techniques else []
        if "rerun" in techniques and self._options.runs is None:
            found.append(runs.original_order())
        if "rerun" in techniques or self._can_pair:
            found.append(runs.each_alone())
        if "rerun" in techniques:
            found.append(likely.alone())
        if "rerun" in techniques and not self._has_counted_runs:
            found.append(likely.together())
        if forks and "rerun" in techniques and self._options.hash_seeds:
            found.append(runs.other_hash_seeds())
        if self._can_pair:
            found.append(self._pair_plans(time_left_s))
        sources = [RunSource(plans) for plans in found]
        self._order_source = sources[0] if "idflakies" in techniques else None
        self._pair_source = sources[-1] if self._can_pair else None
        return sources

    def _pair_plans(self, time_left_s: Callable[[], float]) -> Iterator[SharedPrefix]:
        self._pair_form = self._pairs.form_within(time_left_s())
        yield from self._pairs.plans(self._pair_form)

    def _cost_s(self, plan: RunPlan) -> float:
        """What a plan costs; the time of the whole suite is asked for often, and summed up only now and then."""
        costs = self._history.costs
        if not isinstance(plan, SingleRun) or len(plan.order) < len(self._test_order().tests):
            return costs.plan_s(plan)
        if len(self._history.records) > limits.SUITE_TIME_REFRESH_FACTOR * self._suite_timed_at:
            self._suite_timed_at = len(self._history.records)
            self._suite_s = costs.tests_s(plan.order)
        return costs.start_s(plan.isolation) + self._suite_s


def _repeated_tests(batch: Batch) -> set[NodeId]:
    """The tests that run twice in one process."""
    return {order[0] for order in batch.orders if len(order) > 1}
