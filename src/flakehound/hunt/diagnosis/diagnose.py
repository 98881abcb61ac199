"""Find out what ails one test that has failed at least once.

IDFLAKIES' Classification, extended: clean runs (original order, alone) are compared with runs after other tests,
then the decisive earlier tests are found and confirmed in new processes. Pure: asks the history, wants plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log

from flakehound.core.failure_signatures import are_measured, signature_of
from flakehound.core.history import History, Sighting, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Kind, Replay
from flakehound.hunt.diagnosis.deciding_tests import DEAR_S, DecisiveSearch, fails, passes
from flakehound.hunt.diagnosis.findings import Finding, names, of
from flakehound.hunt.diagnosis.nod import NodInquiry, best_replay
from flakehound.hunt.diagnosis.questions import Asker, Need, is_luck, passes_that_rule_out_luck, turns_of
from flakehound.hunt.original_order import OriginalOrder

CLEAN_RUNS = 3  # in the original order and alone, before anything is concluded
CONFIRMATIONS = 3  # the least number of separate processes that must agree before a result is printed
CHEAP_CONFIRMATIONS = 5  # where one run costs next to nothing
CHEAP_RUN_S = 0.5
MEASURED_CONFIRMATIONS = 20  # where something measured decides, such as a time
MOST_SECONDS = 30.0  # for so many runs
TURNS = 4  # failing and passing, before an order is blamed: one slow spell of the machine makes two or three
CHEAP_TURNS = 6  # where one run costs next to nothing
MORE_RUNS = 10  # when a test fails only sometimes after the same tests
MOST_TRIALS = 30  # runs per question about such a test
MOST_CLEAN_RUNS = 40  # alone, to tell such a test from one that fails by itself
SECONDS_PER_QUESTION = 2.0  # about a test that is proven NOD already, and may be more than that


class Inquiry:
    """One test's case."""

    def __init__(
        self,
        test: NodeId,
        history: History,
        test_order: OriginalOrder,
        *,
        isolation: Isolation,
        known: Sequence[NodeId],
        width: int = 2,
        eager: bool = False,
        snapshots: bool = True,
        patient: bool = True,
    ) -> None:
        self._test = test
        self._history = history
        self._test_order = test_order
        self._known = known  # polluters found in other cases
        self._eager = eager  # take the test for order-dependent at its first failure; the end is confirmed anyway
        self._ask = Asker(history=history, isolation=isolation, patient=patient)
        self._search = DecisiveSearch(
            test=test,
            ask=self._ask,
            history=history,
            test_order=test_order,
            known=known,
            width=width,
            snapshots=snapshots and isolation is Isolation.FORK,
        )
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
        if alone.is_mixed or (original.is_mixed and not self._fails_whenever_alone()):
            self._passes_and_fails()
            return
        if not _always_failed(alone, original):
            self._gather_clean_runs(alone, original)
        alone, original = self._clean_tallies()
        if original.failed and alone.failed:
            self._always_fails()
        elif alone.failed:
            self._brittle([self._test_order.earlier(self._test), *self._groups_of_others()])
        elif original.failed:
            self._victim_in_original()
        else:
            self._fails_elsewhere()

    def _fails_whenever_alone(self) -> bool:
        """Whether load may hide a brittle test: it fails in the original order only beside other runs."""
        quiet = self._history.tally(self._test, Setting.ORIGINAL, disturbed=False)
        if quiet.failed or self._alone().passed:
            return False
        alone = self._ask.failing_last_of((self._test,), times=CLEAN_RUNS, why=f"does {self._test} pass alone?")
        return alone.n >= CLEAN_RUNS and not alone.passed and self._ask.failed_undisturbed((self._test,))

    def _clean_tallies(self) -> tuple[Tally, Tally]:
        return self._alone(), self._test_order.tally(self._test)

    def _alone(self) -> Tally:
        return self._history.tally_after((), self._test)

    def _gather_clean_runs(self, alone: Tally, original: Tally) -> None:
        order = self._test_order.tests
        if self._test in order and not self._eager:
            why = f"does {self._test} pass in the original order?"
            self._ask.original(order, original.n, times=CLEAN_RUNS, why=why)
        self._ask.last_of((self._test,), times=CLEAN_RUNS, why=f"does {self._test} pass alone?")

    def _passes_and_fails(self) -> None:
        """In one and the same order: NOD, unless the tests before it prove to matter."""
        self._coincidence()
        if self.finding.kind is Kind.NOD and not self.finding.causes:
            self._fails_sometimes_in_original()

    def _coincidence(self) -> None:
        NodInquiry(self._ask, self._history, self._test_order, self.finding).pursue()

    def _fails_sometimes_in_original(self) -> None:
        """A victim that fails only now and then looks like NOD in the original order, but never fails alone."""
        prefix = self._test_order.earlier(self._test)
        seen = self._test_order.tally_of_equal_runs(self._test, self._ask.isolation)
        enough = passes_that_rule_out_luck(seen, MOST_CLEAN_RUNS)
        trials = _trials_for(seen)
        dear = trials * self._ask.cost_s(prefix, self._ask.isolation) > SECONDS_PER_QUESTION
        if self._alone().failed or not seen.is_mixed or enough == MOST_CLEAN_RUNS or dear:
            return
        if self._ask.last_of((self._test,), times=enough, why=f"does {self._test} fail alone?").failed:
            return
        why = f"how often does {self._test} fail after the tests before it?"
        if self._ask.last_of((*prefix, self._test), times=trials, why=why).failed:
            minimal = self._decisive(prefix, trials)
            after, clean = self._runs_that_prove(minimal)
            if self._is_proven(minimal):
                self.finding.blame(minimal, after, clean)

    def _always_fails(self) -> None:
        passed = self._history.first_pass_of(self._test)
        if passed is not None:
            self._brittle([passed.record.order[: passed.place], *self._groups_of_others()])
        else:
            self._never_passed()

    def _never_passed(self) -> None:
        if all(s.record.disturbed for s in self._history.failures_of(self._test)):
            why = f"does {self._test} fail with nothing beside it?"
            self._ask.last_of((self._test,), why=why, undisturbed=True)
        self.finding.kind = Kind.FAILING

    def _groups_of_others(self) -> list[Order]:
        """Where a state-setter may be that comes later in the original order, before a shared teardown."""
        others = tuple(t for t in self._test_order.tests if t != self._test)
        same_class, same_file = self._test_order.close_to(self._test, others)
        seen = [short for short in self._search.known_to_decide(passes) if short]
        return [same_class, same_file, others, *((other,) for other in same_file), *seen]

    def _victim_in_original(self) -> None:
        prefix = self._test_order.earlier(self._test)
        why = f"does {self._test} fail after the tests before it?"
        if self._ask.last_of((*prefix, self._test), why=why).failed:
            self._victim(prefix)
        else:
            self._fails_elsewhere()  # before tests were left out that end their process

    def _fails_elsewhere(self) -> None:
        self._try_known_polluters()
        sighting = self._shortest_failure()
        if sighting is None:
            self._non_idempotent()
            return
        prefix = sighting.record.order[: sighting.place]
        if self._fails_again(prefix):
            self._victim(prefix)
        else:
            self._sometimes(prefix)

    def _try_known_polluters(self) -> None:
        """Where the same tests again would take long: what polluted others may have polluted this one."""
        sighting = self._shortest_failure()
        earlier = () if sighting is None else sighting.record.order[: sighting.place]
        if self._search.cost_s(earlier) >= DEAR_S:
            orders = [(known, self._test) for known in self._known if known in earlier]
            cheap = [order for order in orders if self._search.cost_s(order) < CHEAP_RUN_S]
            self._ask.each_last_of(cheap, why=f"does {self._test} fail after a polluter of others?")

    def _fails_again(self, prefix: Order) -> bool:
        """Whether the failure is no one-off: seen often enough, or again after the same tests."""
        order = (*prefix, self._test)
        if self._history.tally_after(prefix, self._test).is_mixed:
            return False
        if self._eager or len(self._history.failures_of(self._test)) >= CONFIRMATIONS:
            return True
        # Dear runs are repeated once here; whatever is concluded is confirmed on the shortest order anyway.
        times = CONFIRMATIONS if self._search.cost_s(order) < CHEAP_RUN_S else CONFIRMATIONS - 1
        again = self._ask.last_of(order, times=times, why=f"does {self._test} fail again after the same tests?")
        return again.failed == again.n

    def _shortest_failure(self) -> Sighting | None:
        """The failure with the fewest tests before it, the test itself not among them.

        A victim may also fail by chance, in another way: what failed after tests after which it has passed as well
        tells nothing about its polluter, as long as there are failures of another sort.
        """
        candidates = [
            s for s in self._history.failures_of(self._test) if self._test not in s.record.order[: s.place]
        ]
        shortest = min(candidates, key=lambda s: s.place, default=None)
        if shortest is None or not self._after_the_same(shortest).is_mixed:
            return shortest  # mostly so; there may be hundreds of failures to look at else
        chance = {_sort_of(s) for s in candidates if self._after_the_same(s).is_mixed}
        telling = [s for s in candidates if _sort_of(s) not in chance]
        return min(telling, key=lambda s: s.place, default=shortest)

    def _after_the_same(self, sighting: Sighting) -> Tally:
        return self._history.tally_after(sighting.record.order[: sighting.place], self._test)

    def _sometimes(self, prefix: Order) -> None:
        order = (*prefix, self._test)
        why = f"how often does {self._test} fail after the same tests?"
        after = self._ask.last_of(order, times=MORE_RUNS, why=why)
        clean = self._ask.last_of((self._test,), times=MORE_RUNS, why=f"does {self._test} fail alone?")
        if self._gap_is_luck(after, clean):
            self._coincidence()
        else:
            self._victim(prefix, trials=_trials_for(after))

    def _gap_is_luck(self, after: Tally, clean: Tally) -> bool:
        return is_luck(after, clean + self._passes_in_original())

    def _passes_in_original(self) -> Tally:
        """The original order as further clean runs; nothing where the test fails in it."""
        original = self._test_order.tally(self._test)
        return Tally() if original.failed else original

    def _victim(self, prefix: Order, trials: int = 1) -> None:
        self._note_victim(prefix)
        minimal = self._decisive(prefix, trials)
        after, clean = self._runs_that_prove(minimal)
        if self._is_proven(minimal):
            self.finding.blame(minimal, after, clean)
        elif after.failed and not self._ask.failed_undisturbed((*minimal, self._test)):
            self._note_load(minimal, f"after {names(minimal)}")
        else:
            self._not_proven(after, clean)

    def _note_victim(self, prefix: Order) -> None:
        after, clean = self._history.tally_after(prefix, self._test), self._alone()
        counts = f"failed {of(after)} after {_group(prefix)}, {of(clean)} alone"
        self._note_meanwhile(Kind.VICTIM, counts, proven=self._is_proven(prefix))

    def _note_meanwhile(self, kind: Kind, counts: str, *, proven: bool) -> None:
        """What holds should the time be up before the tests are known that decide."""
        if proven:
            self.finding.kind = kind
            self.finding.evidence = [f"{counts}; which tests it takes is not known yet"]
        else:
            self.finding.evidence = [f"{counts}; not proven yet that the order decides"]

    def _is_proven(self, prefix: Order) -> bool:
        """Whether it fails after these tests and not alone, without any doubt.

        Not by luck, not for load, and not because the machine changed meanwhile: both took turns.
        """
        after, clean = self._history.tally_after(prefix, self._test), self._alone()
        order, alone = (*prefix, self._test), (self._test,)
        return (
            after.failed >= CONFIRMATIONS
            and clean.n >= CONFIRMATIONS
            and not clean.failed
            and turns_of(self._history, order, alone) >= self._turns(order)
            and self._ask.failed_undisturbed((*prefix, self._test))
            and not self._gap_is_luck(after, clean)
        )

    def _turns(self, order: Order) -> int:
        return CHEAP_TURNS if self._search.cost_s(order) < CHEAP_RUN_S else TURNS

    def _decisive(self, prefix: Order, trials: int) -> Order:
        """The few of these tests after which it fails."""
        minimal = self._search.smallest(prefix, fails, trials)
        return self._without_innocents(minimal, trials) if len(minimal) > 1 else minimal

    def _without_innocents(self, minimal: Order, trials: int) -> Order:
        """Joint polluters are rare; a test that fails only sometimes after one of them looks just like it."""
        why = f"does one of them alone decide about {self._test}?"
        for suspect in minimal:
            order = (suspect, self._test)
            times = 2 * max(trials, self._confirmations(order))
            if self._ask.last_of(order, times=times, why=why).failed:
                return (suspect,)
        return minimal

    def _confirmations(self, order: Order) -> int:
        return CHEAP_CONFIRMATIONS if self._search.cost_s(order) < CHEAP_RUN_S else CONFIRMATIONS

    def _proof_runs(self, order: Order) -> int:
        affordable = self._ask.cost_s(order, self._ask.isolation) * MEASURED_CONFIRMATIONS < MOST_SECONDS
        return MEASURED_CONFIRMATIONS if affordable and self._is_measured else self._confirmations(order)

    @property
    def _is_measured(self) -> bool:
        """Whether its failures name times or other fractions, never the same: rather a rate than a rule."""
        seen = self._history.failures_of(self._test)[:MEASURED_CONFIRMATIONS]
        return are_measured(s.record.failures[s.place] for s in seen if s.place in s.record.failures)

    def _runs_that_prove(self, minimal: Order) -> tuple[Tally, Tally]:
        """Runs after the polluters and alone, as many as it takes to tell them apart."""
        order = (*minimal, self._test)
        times = self._proof_runs(order)
        self._take_turns(order, (self._test,))
        after = self._failures_after(minimal, times)
        if after.is_mixed:
            after = self._failures_after(minimal, MORE_RUNS)
        if after.is_mixed and after.failed < CONFIRMATIONS and times > CONFIRMATIONS:
            after = self._failures_after(minimal, MOST_TRIALS)
        why = f"confirms that {self._test} passes alone"
        clean = self._ask.last_of((self._test,), times=self._clean_runs_for(after, times), why=why)
        return after, clean

    def _take_turns(self, failing: Order, passing: Order) -> None:
        why = f"does {self._test} fail and pass in turns?"
        turns = self._turns(max(failing, passing, key=len))
        self._ask.in_turns(failing, passing, turns=turns, most=MOST_CLEAN_RUNS, why=why)

    def _failures_after(self, minimal: Order, times: int) -> Tally:
        why = f"confirms that {names(minimal)} makes {self._test} fail"
        return self._ask.failing_last_of((*minimal, self._test), times=times, why=why)

    def _clean_runs_for(self, after: Tally, times: int) -> int:
        """Runs alone that, beside so many failures after other tests, leave no room for luck."""
        if not after.is_mixed:
            others = self._passes_in_original().n
            return max(times, passes_that_rule_out_luck(after, 100) - others)
        cheap = self._search.cost_s((self._test,)) < CHEAP_RUN_S
        needed = passes_that_rule_out_luck(after, MOST_CLEAN_RUNS if cheap else MORE_RUNS)
        return max(MORE_RUNS, needed - self._passes_in_original().n)

    def _note_load(self, prefix: Order, where: str) -> None:
        """It fails after these tests beside other runs, and never with nothing beside it."""
        beside, quiet = (
            self._history.tally_after(prefix, self._test, disturbed=disturbed) for disturbed in (True, False)
        )
        only = all(s.record.disturbed for s in self._history.failures_of(self._test))
        self.finding.note_load(beside, quiet, where, proven=not is_luck(beside, quiet), only=only)

    def _not_proven(self, after: Tally, clean: Tally) -> None:
        # The search was led astray by a test that fails by itself now and then.
        self.finding.kind = Kind.UNRESOLVED
        self.finding.evidence.clear()
        if clean.failed or (after + clean).is_mixed:
            self._coincidence()

    def _brittle(self, prefixes: Sequence[Order]) -> None:
        prefix = self._first_that_helps(prefixes)
        if prefix is None:
            self._note_no_help()
            return
        self._note_brittle(prefix)
        minimal = self._search.smallest(prefix, passes)
        after, alone = self._runs_that_prove_brittle(minimal)
        if self._is_proven_brittle(minimal):
            if self._ask.fails_in_new_interpreters(self._test, measured=self._is_measured):
                self.finding.credit(minimal, after, alone)
            else:
                self._coincidence()
        elif not self._ask.failed_undisturbed((self._test,)):
            self._note_load((), "alone")
        else:
            self._not_proven(alone, after)

    def _note_no_help(self) -> None:
        if self._history.first_pass_of(self._test) is None:
            self._never_passed()
            return
        alone, original = self._clean_tallies()
        if original.is_mixed:
            self._coincidence()
            return
        in_original = f", {of(original)} in the original order" if original.n else ""
        self.finding.evidence.append(
            f"failed {of(alone)} alone{in_original}; no order that ends with it was found to make it pass"
        )

    def _note_brittle(self, prefix: Order) -> None:
        after, alone = self._history.tally_after(prefix, self._test), self._alone()
        after += Tally() if after.n else self._test_order.tally(self._test)
        counts = f"failed {of(alone)} alone, {of(after)} after {_group(prefix)}"
        by_fork = self._is_measured and not self._ask.seen_in_new_interpreters(self._test)
        self._note_meanwhile(Kind.BRITTLE, counts, proven=self._is_proven_brittle(prefix) and not by_fork)

    def _is_proven_brittle(self, prefix: Order) -> bool:
        """Whether it passes after these tests and fails alone, without any doubt; as in `_is_proven`."""
        after, alone = self._history.tally_after(prefix, self._test), self._alone()
        order, itself = (*prefix, self._test), (self._test,)
        return (
            min(after.n, alone.failed) >= CONFIRMATIONS
            and not after.failed
            and not alone.passed
            and turns_of(self._history, itself, order) >= self._turns(order)
            and self._ask.failed_undisturbed((self._test,))
            and not self._gap_is_luck(alone, after)
        )

    def _runs_that_prove_brittle(self, minimal: Order) -> tuple[Tally, Tally]:
        """Runs after the state-setters and alone, as many as it takes to tell them apart."""
        order = (*minimal, self._test)
        times = self._proof_runs(order)
        self._take_turns((self._test,), order)
        why = f"confirms that {self._test} passes after {names(minimal)}"
        after = self._ask.last_of(order, times=times, why=why)
        passed = (after + self._passes_in_original()).n
        enough = max(times, passes_that_rule_out_luck(Tally(n=passed, failed=passed), 100))
        why = f"confirms that {self._test} fails alone"
        alone = self._ask.failing_last_of((self._test,), times=enough, why=why)
        return after, alone

    def _first_that_helps(self, prefixes: Sequence[Order]) -> Order | None:
        """The first list of earlier tests after which the test passes."""
        for prefix in prefixes:
            if self._search.cost_s(prefix) >= DEAR_S and self._passed_in_original_after(prefix):
                return prefix
            why = f"does {self._test} pass after other tests?"
            seen = self._ask.last_of((*prefix, self._test), why=why) if prefix else Tally()
            if seen.n and not seen.failed:
                return prefix
        return None

    def _passed_in_original_after(self, prefix: Order) -> bool:
        """As good as asked, since whatever is found in these tests is confirmed."""
        original = self._test_order.tally(self._test)
        return prefix == self._test_order.earlier(self._test) and original.n >= CLEAN_RUNS and not original.failed

    def _non_idempotent(self) -> None:
        finding, twice = self.finding, (self._test, self._test)
        why = f"does {self._test} fail when repeated?"
        times = self._confirmations(twice)
        again = self._ask.failing_last_of(twice, times=times, why=why)
        if again.is_mixed:
            again = self._ask.failing_last_of(twice, times=MORE_RUNS, why=why)
        enough = max(times, passes_that_rule_out_luck(again, MORE_RUNS) - self._passes_in_original().n)
        clean = self._ask.last_of((self._test,), times=enough, why=why)
        repeated = "when run again in the same process"
        counts = f"passed {clean.passed} of {clean.n} first, failed {of(again)} {repeated}"
        if again.failed and not self._ask.failed_undisturbed(twice):
            self._note_load((self._test,), repeated)
        elif clean.failed or again.failed < CONFIRMATIONS or self._gap_is_luck(again, clean):
            finding.evidence.append(counts)
            if again.failed:
                self._coincidence()
        else:
            finding.kind = Kind.NON_IDEMPOTENT
            finding.minimal_order = twice
            finding.evidence.append(counts)
            finding.replay = Replay(order=twice, failed=again.failed, runs=again.n)


def _always_failed(alone: Tally, original: Tally) -> bool:
    """Enough to call a test failing: more runs of it would only cost time, and sweeps go on anyway."""
    return original.n >= 2 and alone.n >= 1 and not original.passed and not alone.passed


def _trials_for(after: Tally) -> int:
    """Runs per question so that a sometimes-failing victim shows with high probability."""
    share = min(0.9, max(0.1, failure_rate(after.failed, after.n).low))
    return min(MOST_TRIALS, max(3, ceil(log(0.01) / log(1 - share))))


def _sort_of(sighting: Sighting) -> str:
    """What a failure looks like; nothing where the run did not tell."""
    failure = sighting.record.failures.get(sighting.place)
    return signature_of(failure) if failure else ""


def _group(tests: Sequence[NodeId]) -> str:
    return names(tests) if len(tests) == 1 else f"the same {len(tests)} tests"
