"""Runs that look for trouble before there is a suspect: RERUN, alone, repeated, IDFLAKIES' orders, PAIRWISE.

One lazy sequence of plans, the ones that find most per second first. A resumed hunt walks through it again and
skips what the history holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain as chain_of
from itertools import count, islice
from math import inf

from flakehound.core.history import History, chain
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, CollectedTest, Isolation, Order, RunPlan, Setting, SharedPrefix, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.orders import each_first, full_rows, grouped_rows, reversed_order, shuffles
from flakehound.hunt.shared_state import Sharing


class Sweeps:
    """The sequence for one suite."""

    def __init__(self, history: History, options: SearchOptions, test_order: Callable[[], OriginalOrder]) -> None:
        self._history = history
        self._options = options
        self._test_order = test_order
        self._sharing = Sharing(history)
        self.pairs_used = ""  # which form of PAIRWISE ran, for the report
        self.at_first_look = True  # nothing but the first few orders so far
        self.at_first_round = True  # a few runs of every sort but pairs
        self.ended_early = False  # nothing was to be expected of the time left
        self.expected: float | None = None  # detections in the time left, when last asked; stages do not ask

    def outlook(self, seconds: float) -> float | None:
        """Detections that so much time is expected to buy from now on; None: fixed stages have no idea."""

    def plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """All plans worth making, best first; may be endless."""
        if self._options.isolation is Isolation.SPAWN:
            return self._dear_plans()
        return self._cheap_plans(time_left_s)

    def _cheap_plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        wants = self._options.techniques
        yield from self._originals(min(limits.FIRST_ORIGINAL_RUNS, self._most_originals()))
        yield from self._suspected()
        originals = self._originals(self._most_originals())
        if "rerun" in wants or "pairwise" in wants:
            yield from self._alone(Setting.REPEATED, time_left_s() * limits.MAX_EARLY_RUN_SHARE)
        orders = self._orders() if "idflakies" in wants else iter(())
        yield from islice(orders, limits.FIRST_LOOK_ORDERS)
        self.at_first_look = False
        yield from islice(orders, limits.FIRST_ORDERS - limits.FIRST_LOOK_ORDERS)
        hashes = self._hash_seeds() if self._options.hash_seeds and "rerun" in wants else iter(())
        yield from self._interleaved(
            islice(orders, limits.FIRST_ROUND_ORDERS),
            islice(originals, limits.FIRST_ROUND_ORIGINAL_RUNS),
            islice(hashes, limits.FIRST_ROUND_HASH_SEEDS),
        )
        self.at_first_round = False
        if "pairwise" in wants:
            yield from self._pairs(time_left_s())
        repeated = self._repeated() if "rerun" in wants or "pairwise" in wants else iter(())
        yield from self._interleaved(orders, originals, hashes, chain_of(repeated, self._alone_again()))

    def _dear_plans(self) -> Iterator[RunPlan]:
        """Where every process is a new interpreter, whole runs come first: they tell most per second."""
        wants = self._options.techniques
        originals = self._originals(self._most_originals())
        yield from islice(originals, limits.SPAWN_FIRST_ORIGINAL_RUNS)
        yield from self._suspected()
        orders = self._orders() if "idflakies" in wants else iter(())
        yield from self._whole_runs(orders, originals)
        self.at_first_look = False
        yield from self._whole_runs(orders, originals)
        self.at_first_round = False
        once = self._alone(Setting.REPEATED) if "rerun" in wants else iter(())
        yield from self._interleaved(once, orders, originals)
        yield from self._alone_again()

    def _whole_runs(self, orders: Iterator[RunPlan], originals: Iterator[RunPlan]) -> Iterator[RunPlan]:
        return self._interleaved(
            islice(orders, limits.SPAWN_ROUND_ORDERS), islice(originals, limits.SPAWN_ROUND_ORIGINAL_RUNS)
        )

    def _interleaved(self, *sources: Iterator[RunPlan]) -> Iterator[RunPlan]:
        waiting = list(sources)
        while waiting:
            for source in list(waiting):
                plan = next(source, None)
                if plan is None:
                    waiting.remove(source)
                else:
                    yield plan

    def _most_originals(self) -> int:
        if self._options.runs is not None:
            return self._options.runs
        if self._options.endless:
            return limits.UNLIMITED_RUNS
        return limits.MAX_ORIGINAL_RUNS if "rerun" in self._options.techniques else limits.FIRST_ORIGINAL_RUNS

    def _originals(self, most: int) -> Iterator[RunPlan]:
        for number in range(most):
            order = self._test_order().tests
            if self._original_runs(order) <= number:
                yield SingleRun(
                    order=order,
                    why="original order",
                    setting=Setting.ORIGINAL,
                    isolation=self._options.isolation,
                )

    def _suspected(self) -> Iterator[RunPlan]:
        """Tests that failed in runs of the user's own, alone: most failures come from a few tests."""
        known = {test.id for test in self._history.suite.tests}
        for test in self._options.suspects:
            missing = limits.RUNS_OF_EARLIER_FAILURES - self._history.tally_after((), test).n
            if test in known and missing > 0 and "rerun" in self._options.techniques:
                yield Batch(
                    orders=((test,),) * missing,
                    why=f"does {test} fail again, as in an earlier pytest run?",
                    setting=Setting.ALONE,
                    isolation=self._options.isolation,
                )

    def _original_runs(self, order: Order) -> int:
        """Runs in the original order, the reference among them; those with another hash seed count apart."""
        made = self._history.runs_of(order, self._options.isolation)
        if self._options.isolation is Isolation.FORK:
            made += min(1, self._history.runs_of(order, Isolation.SPAWN))
        return made

    def _hash_seeds(self) -> Iterator[RunPlan]:
        """The original order in new interpreters: only they can have another hash seed."""
        tried = {record.hash_seed for record in self._history.records if record.isolation is Isolation.SPAWN}
        seeds = (
            (self._options.seed * 7919 + number * 104729 + 1) % 4294967295
            for number in range(limits.MAX_HASH_SEEDS)
        )
        for hash_seed in seeds:
            if hash_seed in tried:
                continue
            yield SingleRun(
                order=self._test_order().tests,
                why="original order, another hash seed",
                setting=Setting.ORIGINAL,
                isolation=Isolation.SPAWN,
                hash_seed=hash_seed,
            )

    def _alone(self, setting: Setting, dear_s: float = inf) -> Iterator[RunPlan]:
        """Each test in a process of its own, twice in a row where it can be repeated: two facts for one fork.

        A dear test is repeated later, see `_repeated`.
        """
        batch: list[Order] = []
        seconds = 0.0
        for test in self._tests_for(setting):
            cheap = self._history.costs.test_s(test.id) <= dear_s
            twice = setting is Setting.REPEATED and test.repeatable and cheap
            order: Order = (test.id, test.id) if twice else (test.id,)
            if setting is Setting.REPEATED and self._history.tally(test.id, Setting.ALONE).n:
                continue
            batch.append(order)
            seconds += self._history.costs.run_s(order, self._options.isolation)
            if seconds > limits.MAX_BATCH_S or len(batch) >= limits.MAX_BATCH_SIZE:
                yield self._batch(batch, compare_state=setting is Setting.REPEATED)
                batch, seconds = [], 0.0
        if batch:
            yield self._batch(batch, compare_state=setting is Setting.REPEATED)

    def _tests_for(self, setting: Setting) -> tuple[CollectedTest, ...]:
        """The tests that are run alone, once and repeated or again and again."""
        return self._history.suite.tests

    def _repeated(self) -> Iterator[RunPlan]:
        """Each test twice in one process that was not repeated yet."""
        for test in self._history.suite.tests:
            if test.repeatable and not self._history.runs_of((test.id, test.id)):
                yield self._batch([(test.id, test.id)])

    def _batch(self, orders: list[Order], *, compare_state: bool = False) -> RunPlan:
        return Batch(
            orders=tuple(orders),
            why="each test alone",
            setting=Setting.ALONE,
            isolation=self._options.isolation,
            compare_state=compare_state and self._options.states,
        )

    def _alone_again(self) -> Iterator[RunPlan]:
        most = limits.UNLIMITED_RUNS if self._options.endless else limits.MAX_RERUNS_ALONE
        for _number in range(most):
            yield from self._alone(Setting.ALONE)

    def _orders(self) -> Iterator[RunPlan]:
        """Reversed first, then neighbours within classes, files, and the whole suite, then plain shuffles."""
        most = self._options.shuffles
        named: set[int] = set()
        for order in self._new_orders():
            if most is not None and len(named) >= most:
                return
            named.add(chain(order))
            if self._history.runs_of(order) == 0:
                yield SingleRun(
                    order=order,
                    why="another order",
                    setting=Setting.SHUFFLED,
                    isolation=self._options.isolation,
                )

    def _new_orders(self) -> Iterator[Order]:
        """Each order once; ends when only known ones come: a tiny suite has few."""
        known = {chain(self._test_order().tests)}
        in_vain = 0
        for order in self._various_orders():
            if chain(order) in known:
                in_vain += 1
                if in_vain > limits.MAX_REPEATED_ORDERS_IN_A_ROW:
                    return
                continue
            known.add(chain(order))
            in_vain = 0
            yield order

    def _various_orders(self) -> Iterator[Order]:
        suite, seed = self._history.suite, self._options.seed
        yield reversed_order(self._test_order().tests)
        random_ones = shuffles(self._test_order().tests, seed)
        by_class = grouped_rows(suite, "parent", seed, self._present())
        by_file = grouped_rows(suite, "module", seed, self._present())
        full = full_rows(suite, seed, self._present())
        systematic = self._in_turn(by_class, by_file, full)
        for number in count():
            order = next(systematic, None)
            if order is None:
                break
            yield order
            if (number + 1) % limits.SYSTEMATIC_ORDERS_PER_SHUFFLE == 0:
                yield next(random_ones)
        if len(suite.tests) <= limits.MAX_TESTS_FOR_EACH_FIRST:
            yield from each_first(self._test_order().tests)
        unlimited = self._options.endless or self._options.shuffles is not None
        yield from random_ones if unlimited else islice(random_ones, limits.MAX_PLAIN_SHUFFLES)

    @staticmethod
    def _in_turn(*sources: Iterator[Order]) -> Iterator[Order]:
        waiting = list(sources)
        while waiting:
            for source in list(waiting):
                order = next(source, None)
                if order is None:
                    waiting.remove(source)
                else:
                    yield order

    def _present(self) -> frozenset[NodeId]:
        return frozenset(self._test_order().tests)

    def _pairs(self, time_left_s: float) -> Iterator[RunPlan]:
        """PAIRWISE: exact where the time allows it, else grouped."""
        form = self._pair_form(time_left_s)
        for plan in self._pair_rows(form):
            self.pairs_used = form
            yield plan

    def _pair_form(self, time_left_s: float) -> str:
        form = self._options.pairs
        return self._affordable_form(self._test_order().tests, time_left_s) if form == "auto" else form

    def _pair_rows(self, form: str) -> Iterator[RunPlan]:
        polluters, victims = self._possible_polluters(), self._test_order().tests
        size = {"exact": 1, "grouped": limits.POLLUTERS_PER_GROUP}.get(form, 0)
        for start in range(0, len(polluters), size) if size else ():
            yield from self._pair_plans(polluters[start : start + size], victims)

    def _possible_polluters(self) -> Order:
        return self._test_order().tests

    def _can_be_victim(self, test: NodeId) -> bool:
        return True

    def _affordable_form(self, tests: Order, time_left_s: float) -> str:
        if self._options.isolation is Isolation.SPAWN:
            return "none"
        each = sum(self._alone_s(test) for test in tests)
        room = limits.MAX_PAIRS_SHARE * time_left_s * self._options.jobs
        if each * len(tests) <= room:
            return "exact"
        return "grouped" if each * len(tests) / limits.POLLUTERS_PER_GROUP <= room else "none"

    def _alone_s(self, test: NodeId) -> float:
        """What a process with this one test costs."""
        return self._history.costs.run_s((test,), self._options.isolation)

    def _pair_plans(self, polluters: Order, tests: Order) -> Iterator[RunPlan]:
        among = set(polluters)
        victims = [
            (test,)
            for test in tests
            if test not in among
            and self._can_be_victim(test)
            and not self._is_nod(test)
            and not self._history.after(polluters, test)
            and any(self._sharing.can(polluter, test) for polluter in polluters)
        ]
        if victims:
            yield SharedPrefix(
                prefix=polluters,
                continuations=tuple(victims),
                why="does one test change the outcome of another?",
                setting=Setting.PROBE,
                isolation=self._options.isolation,
            )

    def _is_nod(self, test: NodeId) -> bool:
        return self._history.tally(test, Setting.ORIGINAL).is_mixed
