"""Sweeps by expected detections per second: the next run is the one that is worth most for what it costs.

Every technique offers its next run. Its worth comes from what nobody has seen yet (`worth.py`), its cost from
measured times. The rates behind the worth are those of other people's suites, so a part of the time follows the
fixed stages: whatever they would find is found, only later.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SingleRun
from flakehound.core.statistics.index import chance_of_flaky
from flakehound.core.statistics.prevalence import RATES, Way
from flakehound.core.statistics.rates import highest_unseen_rate
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.expected_gain import ALONE, ORIGINAL, OTHER_ORDER, TOGETHER, Worth
from flakehound.hunt.search.forecast import Forecast, RunSort
from flakehound.hunt.search.stages import Sweeps


@dataclass(slots=True)
class Source:
    """One technique's runs, the next of them in view."""

    plans: Iterator[RunPlan]
    is_empty: bool = False  # it has nothing more
    _next: RunPlan | None = None

    def view(self, is_fresh: Callable[[RunPlan], bool]) -> RunPlan | None:
        """The next run that still makes sense; None where there is none."""
        while self._next is None or not is_fresh(self._next):
            self._next = next(self.plans, None)
            if self._next is None:
                self.is_empty = True
                return None
        return self._next

    def take(self) -> None:
        """The run in view is made."""
        self._next = None


class IndexedSweeps(Sweeps):
    """The sequence for one suite, by index."""

    def __init__(self, history: History, options: SearchOptions, test_order: Callable[[], OriginalOrder]) -> None:
        super().__init__(history, options, test_order)
        self._spent_s = self._staged_s = 0.0  # as estimated beforehand
        self._orders_made: set[Order] = set()
        self._suite_s, self._timed_at = 0.0, -1  # all tests, and how many runs were known when it was summed up
        self._hash_seeds_made: set[int | None] = set()
        self._other_orders: Source | None = None
        self._pair_runs: Source | None = None
        self._repeated_made: set[NodeId] = set()
        self._again: Counter[NodeId] = Counter()
        self._again_together: Counter[NodeId] = Counter()

    def plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """All plans worth making, best first; may be endless."""
        worth, stages = self._worth, super().plans(time_left_s)
        round_ends_s = (1 - limits.MAX_FIRST_ROUND_SHARE) * time_left_s()
        for first in stages if self._affords_first_look(time_left_s()) else ():
            worth.count(first)
            self._mark(first)
            yield first
            if not self.at_first_look and (not self.at_first_round or time_left_s() < round_ends_s):
                break
        sources = self._sources(worth, time_left_s)
        look_below_s = time_left_s()
        pause_s = look_below_s / limits.EARLY_END_CHECKS
        while True:
            worth.notice()
            if time_left_s() <= look_below_s:
                look_below_s = time_left_s() - pause_s
                self.expected = self._outlook(worth, time_left_s())
                ended_early = self.expected < limits.MIN_EXPECTED_DETECTIONS
                if ended_early and not self._is_counted and self._is_bounded(worth):
                    self.ended_early = time_left_s() > pause_s
                    return
            plan = self._next(stages, sources, worth, time_left_s())
            if plan is None:
                return
            worth.count(plan)
            yield plan

    @cached_property
    def _worth(self) -> Worth:
        return Worth(self._history, self._options.priors)

    def outlook(self, seconds: float) -> float:
        """Detections that so much time is expected to buy from now on."""
        self._worth.notice()
        return self._outlook(self._worth, seconds)

    @property
    def _is_counted(self) -> bool:
        """Counted runs are made in any case, and no others beside them that nobody counted."""
        return self._options.runs is not None or self._options.shuffles is not None

    def _is_bounded(self, worth: Worth) -> bool:
        """Whether every test that ever passed did so often enough to rule out that it fails one time in a hundred.

        Rates of other suites call few tests flaky. Whoever hunts in a small suite has a reason to.
        """
        runs = (self._history.tally(test).n for test in worth.tests)
        return all(highest_unseen_rate(n) <= limits.MAX_UNSEEN_FAILURE_RATE for n in runs if n)

    def _next(
        self, stages: Iterator[RunPlan], sources: list[Source], worth: Worth, time_left_s: float
    ) -> RunPlan | None:
        staged = self._staged_s <= limits.MIN_STAGES_SHARE * self._spent_s
        plan = self._next_staged(stages) if staged else None
        plan = plan or self._best(sources, worth, time_left_s)
        if plan is None:
            staged, plan = True, self._next_staged(stages)
        if plan is not None:
            self._note(plan, staged=staged)
        return plan

    def _next_staged(self, stages: Iterator[RunPlan]) -> RunPlan | None:
        return next((plan for plan in stages if self._is_fresh(plan)), None)

    def _best(self, sources: list[Source], worth: Worth, time_left_s: float) -> RunPlan | None:
        """The run with the most expected detections per second; of equal ones that of the first source."""
        best, most = None, 0.0
        for source in sources:
            plan = source.view(self._is_fresh)
            if plan is None or (cost_s := self._cost_s(plan)) > time_left_s:
                continue
            index = worth.of(plan) / cost_s
            if index > most:
                best, most = source, index
        plan = None if best is None else best.view(self._is_fresh)
        if best is not None:
            best.take()
        return plan

    def _sources(self, worth: Worth, time_left_s: Callable[[], float]) -> list[Source]:
        wants, forks = self._options.techniques, self._options.isolation is Isolation.FORK
        found: list[Iterator[RunPlan]] = [self._orders()] if "idflakies" in wants else []
        if "rerun" in wants and self._options.runs is None:
            found.append(self._originals(self._most_originals()))
        if "rerun" in wants or self._can_pair:
            found.append(self._alone(Setting.REPEATED))
        if "rerun" in wants:
            found.append(self._chosen(worth))
        if "rerun" in wants and not self._is_counted:
            found.append(self._together(worth))
        if forks and "rerun" in wants and self._options.hash_seeds:
            found.append(self._hash_seeds())
        if self._can_pair:
            found.append(self._pairs_by_index(time_left_s))
        sources = [Source(plans) for plans in found]
        self._other_orders = sources[0] if "idflakies" in wants else None
        self._pair_runs = sources[-1] if self._can_pair else None
        return sources

    def _pairs_by_index(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        form = self._pair_form(time_left_s())
        for plan in self._pair_rows(form):
            yield plan
            self.pairs_used = form

    def _chosen(self, worth: Worth) -> Iterator[RunPlan]:
        """Tests alone, always the one with the largest index."""
        lifts, queue = worth.lifts, self._queue(worth, self._index_alone)
        while batch := self._largest(worth, queue):
            yield self._batch([(test,) for test in batch])
            self._again.update(batch)
            if worth.lifts > lifts:
                lifts, queue = worth.lifts, self._queue(worth, self._index_alone)

    def _queue(self, worth: Worth, index: Callable[[Worth, NodeId], float]) -> list[tuple[float, int, NodeId]]:
        """All tests by their index, the largest first."""
        found = [(-index(worth, test), place, test) for place, test in enumerate(self._history.suite.order)]
        heapq.heapify(found)
        return found

    def _largest(self, worth: Worth, queue: list[tuple[float, int, NodeId]]) -> list[NodeId]:
        """One batch; a test may come several times, and nothing of far less worth than the first comes with it.

        Between two lifts an index only falls, so a place in the queue is an upper bound: only the first few are
        looked at again.
        """
        most = limits.UNLIMITED_RUNS if self._options.endless else limits.MAX_RERUNS_ALONE
        batch: list[NodeId] = []
        seconds = least = 0.0
        room = limits.MAX_BATCH_SIZE
        while queue and -queue[0][0] > least and seconds < limits.MAX_BATCH_S and len(batch) < room:
            bound, place, test = queue[0]
            more = batch.count(test)
            index = self._index_alone(worth, test, more) if self._again[test] + more < most else 0.0
            if index < -bound:
                heapq.heapreplace(queue, (-index, place, test))
                continue
            batch.append(test)
            seconds += self._alone_s(test)
            least = least or index * limits.MIN_INDEX_SHARE_IN_BATCH
            heapq.heapreplace(queue, (-self._index_alone(worth, test, more + 1), place, test))
        return batch

    def _index_alone(self, worth: Worth, test: NodeId, more: int = 0) -> float:
        return worth.of_one(test, ALONE, more) / self._alone_s(test)

    def _together(self, worth: Worth) -> Iterator[RunPlan]:
        """The tests with the largest index many in one process, as most take less time than a fork."""
        lifts, queue = worth.lifts, self._queue(worth, self._index_together)
        while group := self._largest_group(worth, queue):
            if len(group) == 1:
                yield self._batch([tuple(group)] * self._repeats(worth, group[0]))
            else:
                yield SingleRun(
                    order=tuple(group),
                    why="tests that are worth a rerun, in one process",
                    setting=Setting.PROBE,
                    isolation=self._options.isolation,
                )
            self._again_together.update(group)
            if worth.lifts > lifts:
                lifts, queue = worth.lifts, self._queue(worth, self._index_together)

    def _largest_group(self, worth: Worth, queue: list[tuple[float, int, NodeId]]) -> list[NodeId]:
        """Tests of one run, each once, in the order of the suite; by the same rules as a batch of tests alone.

        Never all tests of the suite: that would be one more run in the original order.
        """
        room = min(limits.MAX_BATCH_SIZE, max(1, len(self._history.suite.order) // 2))
        most = limits.UNLIMITED_RUNS if self._options.endless else limits.MAX_RERUNS_ALONE
        taken: list[tuple[int, NodeId]] = []
        seconds = least = 0.0
        while queue and -queue[0][0] > least and seconds < limits.MAX_BATCH_S and len(taken) < room:
            bound, place, test = queue[0]
            index = self._index_together(worth, test) if self._again_together[test] < most else 0.0
            if index < -bound:
                heapq.heapreplace(queue, (-index, place, test))
                continue
            heapq.heappop(queue)
            taken.append((place, test))
            seconds += self._history.costs.test_s(test)
            least = least or index * limits.MIN_INDEX_SHARE_IN_BATCH
        for place, test in taken:
            heapq.heappush(queue, (-self._index_together(worth, test, 1), place, test))
        return [test for _place, test in sorted(taken)]

    def _repeats(self, worth: Worth, test: NodeId) -> int:
        """How often it may run alone before that is worth far less than at first."""
        room = limits.MAX_BATCH_SIZE if self._options.endless else 1
        most = min(room, ceil(limits.MAX_BATCH_S / self._alone_s(test)))
        least = self._index_alone(worth, test) * limits.MIN_INDEX_SHARE_IN_BATCH
        return next((more for more in range(1, most) if self._index_alone(worth, test, more) < least), most)

    def _start_s(self) -> float:
        return self._history.costs.start_s(self._options.isolation)

    def _index_together(self, worth: Worth, test: NodeId, more: int = 0) -> float:
        share_s = self._start_s() / limits.MAX_BATCH_SIZE
        return worth.of_one(test, TOGETHER, more) / (share_s + self._history.costs.test_s(test))

    def _is_fresh(self, plan: RunPlan) -> bool:
        """Whether nobody made this run meanwhile, and the tests are still the ones to run."""
        if isinstance(plan, Batch):
            twice = _repeated_tests(plan)
            return not twice or not self._repeated_made.issuperset(twice)
        if not isinstance(plan, SingleRun) or plan.setting is Setting.PROBE:
            return True
        if plan.setting is Setting.SHUFFLED and plan.order in self._orders_made:
            return False
        if plan.hash_seed is not None and plan.hash_seed in self._hash_seeds_made:
            return False
        return len(plan.order) == len(self._test_order().tests)

    def _affords_first_look(self, time_left_s: float) -> bool:
        """Whether a few original runs, each test alone and a few orders leave most of the time.

        They show no more per second than other runs, but what they show tells the kinds of flaky tests apart.
        """
        tests, costs = self._history.suite.order, self._history.costs
        orders_s = 2 * limits.FIRST_LOOK_ORDERS * costs.tests_s(tests)
        alone_s = sum(costs.run_s((test, test), self._options.isolation) for test in tests)
        return orders_s + alone_s <= limits.MAX_FIRST_LOOK_SHARE * time_left_s * self._options.jobs

    def _note(self, plan: RunPlan, *, staged: bool) -> None:
        cost_s = self._cost_s(plan)
        self._spent_s += cost_s
        self._staged_s += cost_s if staged else 0.0
        self._mark(plan)

    def _mark(self, plan: RunPlan) -> None:
        if isinstance(plan, SingleRun) and plan.setting is Setting.SHUFFLED:
            self._orders_made.add(plan.order)
            self.at_first_look = self.at_first_look and len(self._orders_made) < limits.FIRST_LOOK_ORDERS
        if plan.hash_seed is not None:
            self._hash_seeds_made.add(plan.hash_seed)
        if isinstance(plan, Batch):
            self._repeated_made |= _repeated_tests(plan)

    def _cost_s(self, plan: RunPlan) -> float:
        """What a plan costs; the time of the whole suite is asked for often, and summed up only now and then."""
        costs = self._history.costs
        if not isinstance(plan, SingleRun) or len(plan.order) < len(self._test_order().tests):
            return costs.plan_s(plan)
        if len(self._history.records) > limits.SUITE_TIME_REFRESH_FACTOR * self._timed_at:
            self._timed_at = len(self._history.records)
            self._suite_s = costs.tests_s(plan.order)
        return costs.start_s(plan.isolation) + self._suite_s

    def _outlook(self, worth: Worth, seconds: float) -> float:
        """Detections that the time left is expected to buy in this suite; of a large one a part stands for all."""
        tests = worth.tests
        asked = tests
        if len(tests) > limits.MAX_FORECAST_TESTS:
            asked = random.Random(self._options.seed).sample(tests, limits.MAX_FORECAST_TESTS)
        if not asked:
            return 0.0  # every one has failed, and is followed up
        found, times = len(self._history.suite.tests) - len(tests), len(tests) / len(asked)
        sorts = list(self._sorts(worth, asked, seconds / times))
        bought = Forecast(known=worth.known).worth_of(seconds / times * self._options.jobs, sorts)
        bought = times * (bought + self._bought_by_pairs(worth, asked, seconds))
        return worth.lift(found, times * worth.left(asked)) * bought

    def _bought_by_pairs(self, worth: Worth, tests: list[NodeId], seconds: float) -> float:
        """Victims among these that pairs would show in that time; where other orders show them sooner, none."""
        done = self._pair_runs is not None and self._pair_runs.is_empty
        if not self._can_pair or self._has_orders or done:
            return 0.0
        order = self._history.suite.order
        whole_s = len(order) * sum(self._alone_s(test) for test in order)
        hidden = sum(chance_of_flaky(worth.known(test, Way.ORDER), RATES[Way.ORDER]) for test in tests)
        return hidden * min(1.0, seconds * self._options.jobs / whole_s)

    @property
    def _can_pair(self) -> bool:
        return self._options.isolation is Isolation.FORK and "pairwise" in self._options.techniques

    @property
    def _has_orders(self) -> bool:
        return "idflakies" in self._options.techniques and not (self._other_orders and self._other_orders.is_empty)

    def _sorts(self, worth: Worth, tests: list[NodeId], seconds: float) -> Iterator[RunSort]:
        """What the time can be spent on: the whole suite in two ways, or tests alone, all or the best of them."""
        wants = self._options.techniques
        most = limits.UNLIMITED_RUNS if self._options.endless else limits.MAX_PLAIN_SHUFFLES
        suite_s = self._start_s() + self._history.costs.tests_s(tests)
        if "rerun" in wants:
            yield RunSort(tests=tests, ways=ORIGINAL, cost_s=suite_s, most=self._most_originals())
        if self._has_orders:
            yield RunSort(tests=tests, ways=OTHER_ORDER, cost_s=suite_s, most=most)
        by_index = sorted(tests, key=lambda test: -self._index_alone(worth, test))
        for share in (1.0, *limits.FORECAST_BEST_SHARES):
            chosen = [test for test in by_index[: ceil(share * len(tests))] if self._alone_s(test) < seconds]
            cost_s = sum(self._alone_s(test) for test in chosen)
            yield RunSort(tests=chosen, ways=ALONE, cost_s=cost_s, most=limits.UNLIMITED_RUNS)
            together_s = cost_s - self._start_s() * (len(chosen) - ceil(len(chosen) / limits.MAX_BATCH_SIZE))
            if "rerun" in wants:
                yield RunSort(tests=chosen, ways=TOGETHER, cost_s=together_s, most=limits.UNLIMITED_RUNS)


def _repeated_tests(batch: Batch) -> set[NodeId]:
    """The tests that run twice in one process."""
    return {order[0] for order in batch.orders if len(order) > 1}
