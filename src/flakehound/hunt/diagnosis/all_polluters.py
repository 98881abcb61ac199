"""Once a victim or brittle test is proven: all its polluters or state-setters, and what cleans up after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SharedPrefix
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.order_effects import EffectOutcome, OrderEffect, Proven, finding_of_effect
from flakehound.hunt.diagnosis.questions import NeedRuns, Question, Questions, answer_to
from flakehound.hunt.search.pairs import Case, Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The cases with everything that is confirmed, and the runs that would confirm more."""

    findings: tuple[Finding, ...]
    wanted: tuple[RunPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Confirmed:
    """The prefixes with an effect that is confirmed, and the runs that would confirm others."""

    prefixes: tuple[Order, ...] = ()
    wanted: tuple[RunPlan, ...] = ()


class AllPolluters:
    """Every other test in the role of a polluter, state-setter or cleaner of each proven case."""

    def __init__(self, history: History, findings: Sequence[Finding], order: Order, isolation: Isolation) -> None:
        self._history = history
        self._cases = [f for f in findings if f.kind in (Kind.VICTIM, Kind.BRITTLE) and f.culprits]
        self._order = order
        self._isolation = isolation
        self._ask = Questions(history=history, isolation=isolation)

    def pairs(self) -> Pairs:
        """Every other test with every case."""
        cases = [Case(test=case.test, fails=case.kind is Kind.VICTIM) for case in self._cases]
        return Pairs(self._history, cases, self._order, self._isolation)

    def cleaner_plans(self) -> Iterator[RunPlan]:
        """Every other test between each polluter and its victim."""
        for case in self._cases:
            if case.kind is Kind.VICTIM and not case.joint:
                yield from self._cleaner_plans(case)

    def _cleaner_plans(self, case: Finding) -> Iterator[RunPlan]:
        polluter = case.polluters[0]
        continuations = tuple(
            (between, case.test)
            for between in self._order
            if between not in (polluter, case.test) and not self._history.after((polluter, between), case.test)
        )
        if continuations:
            yield SharedPrefix(
                prefix=(polluter,),
                continuations=continuations,
                why=f"which tests clean up after {polluter}?",
                setting=Setting.PROBE,
                isolation=self._isolation,
            )

    def completion(self) -> Completion:
        """The cases with every further polluter, state-setter and cleaner that is confirmed by now."""
        completed = [self._completed(case) for case in self._cases]
        return Completion(
            findings=tuple(finding for one in completed for finding in one.findings),
            wanted=tuple(plan for one in completed for plan in one.wanted),
        )

    def _completed(self, case: Finding) -> Completion:
        candidates = ((test,) for test in self._order if case.joint or test not in case.culprits)
        confirmed = self._confirmed(case, candidates, fails=case.kind is Kind.VICTIM)
        wanted = confirmed.wanted
        further = [test for (test,) in confirmed.prefixes]
        if case.joint and further:
            single = answer_to(self._with_single_culprit(case, further[0]))
            if isinstance(single, NeedRuns):
                wanted += single.plans
            else:
                case = single
        if case.joint:
            further = []
        if case.kind is Kind.BRITTLE:
            setters = tuple(dict.fromkeys((*case.state_setters, *further)))
            return Completion(findings=(replace(case, state_setters=setters),), wanted=wanted)
        case = replace(case, polluters=tuple(dict.fromkeys((*case.polluters, *further))))
        cleaners = self._confirmed_cleaners(case)
        case = replace(case, cleaners=tuple(prefix[-1] for prefix in cleaners.prefixes))
        return Completion(findings=(case,), wanted=wanted + cleaners.wanted)

    def _with_single_culprit(self, case: Finding, culprit: NodeId) -> Question[Finding]:
        """One test that suffices says more than several that are needed together, once it is proven."""
        outcome: EffectOutcome = "fails" if case.kind is Kind.VICTIM else "passes"
        effect = OrderEffect(test=case.test, prefix=(culprit,), outcome=outcome)
        if case.kind is Kind.VICTIM:
            why = f"confirms what {culprit} does to {case.test}"
            yield from self._ask.tally_of_failing_last(effect.order, times=limits.CONFIRMATIONS, why=why)
            if not self._ask.has_failed_undisturbed(effect.order):
                return case
        after, alone = (self._history.tally_after(prefix, case.test) for prefix in (effect.prefix, ()))
        return finding_of_effect(case, effect, Proven(after=after, alone=alone))

    def _confirmed_cleaners(self, case: Finding) -> _Confirmed:
        polluter = case.polluters[0]
        if case.pollution_rate is not None or case.joint:
            return _Confirmed()  # a pass proves nothing where the victim fails only sometimes
        prefixes = ((polluter, test) for test in self._order if test not in (polluter, case.test))
        return self._confirmed(case, prefixes, fails=False)

    def _confirmed(self, case: Finding, prefixes: Iterable[Order], *, fails: bool) -> _Confirmed:
        """The prefixes after which the test always fails, or always passes."""
        confirmed: list[Order] = []
        wanted: list[RunPlan] = []
        for prefix in prefixes:
            seen = self._history.tally_after(prefix, case.test)
            if case.test in prefix or not seen.n or seen.failed != (seen.n if fails else 0):
                continue
            why = f"confirms what {prefix[-1]} does to {case.test}"
            order = (*prefix, case.test)
            answer = answer_to(self._ask.tally_of_last(order, times=limits.CONFIRMATIONS, why=why))
            if isinstance(answer, NeedRuns):
                wanted += answer.plans
            else:
                confirmed.append(prefix)
        return _Confirmed(prefixes=tuple(confirmed), wanted=tuple(wanted))
