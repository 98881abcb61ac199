"""Find out what ails one test that has failed at least once.

IDFLAKIES' Classification, extended: clean runs (original order, alone) are compared with runs after other tests,
then the decisive earlier tests are found and confirmed in new processes. Pure: asks the history, wants plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, comb, log

from flakehound.core.history import History, Sighting, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order
from flakehound.core.rates import chance_of_such_a_gap, failure_rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay
from flakehound.hunt.asking import Asker, Need
from flakehound.hunt.coincidence import NodInquiry, best_replay
from flakehound.hunt.findings import Finding
from flakehound.hunt.neighbourhood import Neighbourhood
from flakehound.hunt.shrink import guesses_for, shrink

CLEAN_RUNS = 3  # in the original order and alone, before anything is concluded
CONFIRMATIONS = 3  # the least number of separate processes that must agree before a result is printed
CHEAP_CONFIRMATIONS = 5  # where one run costs next to nothing
CHEAP_RUN_S = 0.5
MORE_RUNS = 10  # when a test fails only sometimes after the same tests
MOST_TRIALS = 30  # runs per question about such a test
LUCK = 0.01  # a gap between two failure rates that is likelier than this by luck alone proves nothing


class Inquiry:
    """One test's case."""

    def __init__(
        self,
        test: NodeId,
        history: History,
        hood: Neighbourhood,
        *,
        isolation: Isolation,
        known: Sequence[NodeId],
        width: int = 2,
        eager: bool = False,
    ) -> None:
        self._test = test
        self._history = history
        self._hood = hood
        self._known = known  # polluters found in other cases
        self._width = width  # how many questions may be put at once
        self._eager = eager  # take the test for order-dependent at its first failure; the end is confirmed anyway
        self._ask = Asker(history=history, isolation=isolation)
        self.finding = Finding(test=test)

    def pursue(self) -> Finding:
        """Conclude as much as the history allows and say which runs would allow more."""
        try:
            self._classify()
        except Need as need:
            self.finding.wanted = need.plans
        if self.finding.replay is None:
            self.finding.replay = best_replay(self._history, self._test)
        return self.finding

    def _classify(self) -> None:
        alone, original = self._clean_tallies()
        if alone.is_mixed or original.is_mixed:
            NodInquiry(self._ask, self._history, self.finding).pursue()
            return
        if not _always_failed(alone, original):
            self._gather_clean_runs(alone, original)
        alone, original = self._clean_tallies()
        if original.failed and alone.failed:
            self._always_fails()
        elif alone.failed:
            self._brittle([self._prefix_in_original(), *self._groups_of_others()])
        elif original.failed:
            self._victim_in_original()
        else:
            self._fails_elsewhere()

    def _clean_tallies(self) -> tuple[Tally, Tally]:
        return self._history.tally_after((), self._test), self._hood.original_tally(self._test)

    def _gather_clean_runs(self, alone: Tally, original: Tally) -> None:
        order = self._hood.original_order
        if self._test in order and not self._eager:
            why = f"does {self._test} pass in the original order?"
            self._ask.original(order, original.n, times=CLEAN_RUNS, why=why)
        self._ask.last_of((self._test,), times=CLEAN_RUNS, why=f"does {self._test} pass alone?")

    def _prefix_in_original(self) -> Order:
        order = self._hood.original_order
        return order[: order.index(self._test)] if self._test in order else ()

    def _always_fails(self) -> None:
        passed = self._history.first_pass_of(self._test)
        if passed is None:
            self.finding.kind = Kind.FAILING
            return
        self._brittle([passed.record.order[: passed.place], *self._groups_of_others()])

    def _groups_of_others(self) -> list[Order]:
        """Where a state-setter may be that comes later in the original order, before a shared teardown."""
        others = tuple(t for t in self._hood.original_order if t != self._test)
        same_class, same_file = self._hood.near(self._test, others)
        return [same_class, same_file, others, *((other,) for other in same_file)]

    def _victim_in_original(self) -> None:
        prefix = self._prefix_in_original()
        why = f"does {self._test} fail after the tests before it?"
        if self._ask.last_of((*prefix, self._test), why=why).failed:
            self._victim(prefix, "in the original order")

    def _fails_elsewhere(self) -> None:
        sighting = self._shortest_failure()
        if sighting is None:
            self._non_idempotent()
            return
        prefix = sighting.record.order[: sighting.place]
        if self._fails_again(prefix):
            self._victim(prefix, f"after {_count(prefix)} in another order")
        else:
            self._sometimes(prefix)

    def _fails_again(self, prefix: Order) -> bool:
        """Whether the failure is no one-off: seen often enough, or again after the same tests."""
        order = (*prefix, self._test)
        if self._history.tally_after(prefix, self._test).is_mixed:
            return False
        if self._eager or len(self._history.failures_of(self._test)) >= CONFIRMATIONS:
            return True
        # Dear runs are repeated once here; whatever is concluded is confirmed on the shortest order anyway.
        times = CONFIRMATIONS if self._cost_s(order) < CHEAP_RUN_S else CONFIRMATIONS - 1
        again = self._ask.last_of(order, times=times, why=f"does {self._test} fail again after the same tests?")
        return again.failed == again.n

    def _shortest_failure(self) -> Sighting | None:
        """The failure with the fewest tests before it, the test itself not among them."""
        candidates = [
            s for s in self._history.failures_of(self._test) if self._test not in s.record.order[: s.place]
        ]
        return min(candidates, key=lambda s: s.place, default=None)

    def _sometimes(self, prefix: Order) -> None:
        order = (*prefix, self._test)
        why = f"how often does {self._test} fail after the same tests?"
        after = self._ask.last_of(order, times=MORE_RUNS, why=why)
        clean = self._ask.last_of((self._test,), times=MORE_RUNS, why=f"does {self._test} fail alone?")
        if self._gap_is_luck(after, clean):
            NodInquiry(self._ask, self._history, self.finding).pursue()
        else:
            self._victim(prefix, f"after {_count(prefix)}, sometimes", trials=_trials_for(after))

    def _gap_is_luck(self, after: Tally, clean: Tally) -> bool:
        clean = clean + self._passes_in_original()
        return chance_of_such_a_gap(after.failed, after.n, clean.failed, clean.n) > LUCK

    def _passes_in_original(self) -> Tally:
        """The original order as further clean runs; nothing where the test fails in it."""
        original = self._hood.original_tally(self._test)
        return Tally() if original.failed else original

    def _victim(self, prefix: Order, where: str, trials: int = 1) -> None:
        finding = self.finding
        finding.kind = Kind.VICTIM
        finding.evidence.append(f"passes alone, fails {where}")
        minimal = self._smallest(prefix, lambda seen: seen.failed > 0, trials)
        if len(minimal) > 1:
            minimal = self._without_innocents(minimal, trials)
        self._confirm_victim(minimal)

    def _without_innocents(self, minimal: Order, trials: int) -> Order:
        """Joint polluters are rare; a test that fails only sometimes after one of them looks just like it."""
        why = f"does one of them alone decide about {self._test}?"
        for suspect in minimal:
            order = (suspect, self._test)
            times = 2 * max(trials, self._confirmations(order))
            if self._ask.last_of(order, times=times, why=why).failed:
                return (suspect,)
        return minimal

    def _smallest(self, prefix: Order, effect: Callable[[Tally], bool], trials: int = 1) -> Order:
        def decides(candidates: Sequence[Order]) -> list[bool]:
            why = f"which earlier tests decide about {self._test}?"
            orders = [(*candidate, self._test) for candidate in candidates]
            return [effect(seen) for seen in self._ask.each_last_of(orders, times=trials, why=why)]

        # A group that is most of the list is no better a guess than its half.
        near = [group for group in self._hood.near(self._test, prefix) if 2 * len(group) <= len(prefix)]
        guesses = guesses_for(self._test, prefix, self._known, [*near, self._cheap_part(prefix)])
        guesses.sort(key=self._cost_s)
        proven = self._known_to_decide(prefix, effect)
        return shrink(prefix, decides, [*proven, *guesses], width=self._width)

    def _cheap_part(self, prefix: Order) -> Order:
        """The earlier tests without the few that take most of the time; nothing where the whole is cheap."""
        total = self._cost_s(prefix)
        return () if total < 1.0 else tuple(t for t in prefix if self._history.mean_s(t) < 0.2 * total)

    def _cost_s(self, order: Order) -> float:
        # Coarse, so that guesses of one price keep the order that makes them good guesses.
        return round(sum(self._history.mean_s(test) for test in order), 1)

    def _known_to_decide(self, prefix: Order, effect: Callable[[Tally], bool]) -> list[Order]:
        """Short lists that had the effect before, best proven first: a search never changes its mind."""
        return [
            short
            for short in self._history.short_prefixes(self._test)
            if self._test not in short and effect(self._history.tally_after(short, self._test))
        ]

    def _confirmations(self, order: Order) -> int:
        return CHEAP_CONFIRMATIONS if self._cost_s(order) < CHEAP_RUN_S else CONFIRMATIONS

    def _confirm_victim(self, minimal: Order) -> None:
        finding, order = self.finding, (*minimal, self._test)
        times = self._confirmations(order)
        why = f"confirms that {_names(minimal)} makes {self._test} fail"
        after = self._ask.last_of(order, times=times, why=why)
        enough = max(times, self._clean_runs_that_rule_out_luck(after))
        clean = self._ask.last_of((self._test,), times=enough, why=f"confirms that {self._test} passes alone")
        if after.is_mixed:
            after = self._ask.last_of(order, times=MORE_RUNS, why=why)
            clean = self._ask.last_of((self._test,), times=MORE_RUNS, why=f"does {self._test} fail alone?")
        if not after.failed or clean.failed or self._gap_is_luck(after, clean):
            self._not_proven(after, clean)
            return
        finding.polluters = list(minimal)
        finding.joint = len(minimal) > 1
        finding.minimal_order = order
        finding.pollution_rate = failure_rate(after.failed, after.n) if after.is_mixed else None
        finding.evidence.insert(0, _blames(minimal, after, clean))
        finding.causes.append(LikelyCause(cause=Cause.TEST_ORDER, evidence=finding.evidence[0]))
        finding.replay = Replay(order=order, failed=after.failed, runs=after.n)

    def _clean_runs_that_rule_out_luck(self, after: Tally) -> int:
        """Passes alone that, beside so many failures after other tests, leave no room for luck."""
        others = self._passes_in_original().n
        needed = next(n for n in range(1, 200) if comb(after.n + n, after.n) >= 1 / LUCK)
        return max(1, needed - others)

    def _not_proven(self, after: Tally, clean: Tally) -> None:
        # The search was led astray by a test that fails by itself now and then.
        self.finding.evidence.clear()
        self.finding.kind = Kind.UNRESOLVED
        if clean.failed or (after + clean).is_mixed:
            NodInquiry(self._ask, self._history, self.finding).pursue()

    def _brittle(self, prefixes: Sequence[Order]) -> None:
        finding = self.finding
        prefix = self._first_that_helps(prefixes)
        if prefix is None:
            return
        finding.kind = Kind.BRITTLE
        finding.evidence.append("fails alone, passes after other tests")
        minimal = self._smallest(prefix, lambda seen: seen.n > 0 and seen.failed == 0)
        order = (*minimal, self._test)
        times = self._confirmations(order)
        after = self._ask.last_of(
            order, times=times, why=f"confirms that {self._test} passes after {_names(minimal)}"
        )
        alone = self._ask.last_of((self._test,), times=times, why=f"confirms that {self._test} fails alone")
        if after.failed or alone.passed:
            finding.evidence.clear()
            finding.kind = Kind.UNRESOLVED
            if after.is_mixed or alone.is_mixed:
                NodInquiry(self._ask, self._history, finding).pursue()
            return
        finding.state_setters = list(minimal)
        finding.joint = len(minimal) > 1
        finding.minimal_order = order
        finding.evidence[:] = [
            f"failed {_of(alone)} alone, passed {after.passed} of {after.n} after {_names(minimal)}"
        ]
        finding.causes.append(LikelyCause(cause=Cause.TEST_ORDER, evidence=finding.evidence[0]))
        finding.replay = Replay(order=(self._test,), failed=alone.failed, runs=alone.n)

    def _first_that_helps(self, prefixes: Sequence[Order]) -> Order | None:
        """The first list of earlier tests after which the test passes."""
        for prefix in prefixes:
            why = f"does {self._test} pass after other tests?"
            seen = self._ask.last_of((*prefix, self._test), why=why) if prefix else Tally()
            if seen.n and not seen.failed:
                return prefix
        return None

    def _non_idempotent(self) -> None:
        finding, twice = self.finding, (self._test, self._test)
        why = f"does {self._test} fail when repeated?"
        again = self._ask.last_of(twice, times=CHEAP_CONFIRMATIONS, why=why)
        if again.is_mixed:
            again = self._ask.last_of(twice, times=MORE_RUNS, why=why)
        clean = self._ask.last_of((self._test,), times=CHEAP_CONFIRMATIONS, why=why)
        if clean.failed or not again.failed or self._gap_is_luck(again, clean):
            if again.failed:
                NodInquiry(self._ask, self._history, finding).pursue()
            return
        finding.kind = Kind.NON_IDEMPOTENT
        finding.minimal_order = twice
        finding.evidence.append(
            f"passed {clean.n} of {clean.n} first, failed {_of(again)} when run again in the same process"
        )
        finding.replay = Replay(order=twice, failed=again.failed, runs=again.n)


def _always_failed(alone: Tally, original: Tally) -> bool:
    """Enough to call a test failing: more runs of it would only cost time, and sweeps go on anyway."""
    return original.n >= 2 and alone.n >= 1 and not original.passed and not alone.passed


def _trials_for(after: Tally) -> int:
    """Runs per question so that a sometimes-failing victim shows with high probability."""
    share = min(0.9, max(0.1, failure_rate(after.failed, after.n).low))
    return min(MOST_TRIALS, max(3, ceil(log(0.01) / log(1 - share))))


def _blames(minimal: Order, after: Tally, clean: Tally) -> str:
    joint = " run together" if len(minimal) > 1 else ""
    return f"failed {_of(after)} after {_names(minimal)}{joint}, passed {clean.passed} of {clean.n} alone"


def _of(tally: Tally) -> str:
    return f"{tally.failed} of {tally.n}"


def _names(tests: Sequence[NodeId]) -> str:
    return " and ".join(tests)


def _count(tests: Sequence[NodeId]) -> str:
    return f"{len(tests)} other test{'s' * (len(tests) != 1)}"
