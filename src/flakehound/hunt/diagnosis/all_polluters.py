"""All polluters, state-setters and cleaners of the victims and brittle tests that are proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting, SharedPrefix
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.order_effects import (
    EffectOutcome,
    OrderEffect,
    Proven,
    finding_of_effect,
    shows,
)
from flakehound.hunt.diagnosis.questions import NeedRuns, Question, Questions, answer_to
from flakehound.hunt.group_runs import GroupRuns
from flakehound.hunt.search.pairs import Case, Pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The cases with everything that is confirmed so far, and the runs that would confirm more."""

    findings: tuple[Finding, ...]
    needed_runs: tuple[RunPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ConfirmedPrefixes:
    """The prefixes whose effect is confirmed, and the runs that would confirm others."""

    prefixes: tuple[Order, ...] = ()
    needed_runs: tuple[RunPlan, ...] = ()


class AllPolluters:
    """Tries every other test as a polluter, state-setter or cleaner of each proven case."""

    def __init__(
        self,
        history: History,
        findings: Sequence[Finding],
        order: Order,
        isolation: Isolation,
        group_runs: GroupRuns | None = None,
    ) -> None:
        """With `group_runs`, only tests of groups that have the effect are tried, and no cleaners are searched."""
        self._history = history
        self._cases = [f for f in findings if f.kind in (Kind.VICTIM, Kind.BRITTLE) and f.culprits]
        self._order = order
        self._group_runs = group_runs
        self._isolation = isolation
        self._ask = Questions(history=history, isolation=isolation)

    def pairs(self) -> Pairs:
        """The pairs of every other test with every case."""
        cases = [Case(test=case.test, fails=case.kind is Kind.VICTIM) for case in self._cases]
        return Pairs(self._history, cases, self._order, self._isolation)

    def plans_in_groups(self, *, known_culprits: bool) -> Iterator[RunPlan]:
        """Pairs in the groups that have an effect, either those that contain known culprits or the others."""
        cases_by_test: dict[NodeId, list[NodeId]] = {}
        for case in self._cases:
            for group in self._groups_with_effect(case):
                if known_culprits is any(test in case.culprits for test in group):
                    for test in group:
                        cases_by_test.setdefault(test, []).append(case.test)
        for test, cases in cases_by_test.items():
            unknown = [case for case in cases if case != test and not self._history.tally_after((test,), case).n]
            if unknown:
                yield SharedPrefix(
                    prefix=(test,),
                    continuations=tuple((case,) for case in unknown),
                    why="which other tests have the same effect?",
                    setting=Setting.PROBE,
                    isolation=self._isolation,
                )

    def _groups_with_effect(self, case: Finding) -> list[Order]:
        runs = self._group_runs
        if runs is None:
            return []
        outcome = _effect_outcome(case)
        groups = enumerate(runs.groups.groups)
        return [group for number, group in groups if shows(outcome, runs.tally(number, case.test))]

    def _candidates(self, case: Finding) -> Order:
        """The tests that may be further polluters or state-setters of a case."""
        if self._group_runs is None:
            return self._order
        return tuple(test for group in self._groups_with_effect(case) for test in group)

    def cleaner_plans(self) -> Iterator[RunPlan]:
        """The runs of every other test between a polluter and its victim."""
        for case in self._cases if self._group_runs is None else ():
            if case.kind is Kind.VICTIM and not case.joint:
                yield from self._cleaner_plans(case)

    def _cleaner_plans(self, case: Finding) -> Iterator[RunPlan]:
        polluter = case.polluters[0]
        continuations = tuple(
            (candidate, case.test)
            for candidate in self._order
            if candidate not in (polluter, case.test)
            and not self._history.executions_after((polluter, candidate), case.test)
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
        """The cases with every further polluter, state-setter and cleaner that is confirmed so far."""
        completions = [self._complete(case) for case in self._cases]
        return Completion(
            findings=tuple(finding for part in completions for finding in part.findings),
            needed_runs=tuple(plan for part in completions for plan in part.needed_runs),
        )

    def _complete(self, case: Finding) -> Completion:
        candidates = ((test,) for test in self._candidates(case) if case.joint or test not in case.culprits)
        confirmed = self._confirm_prefixes(case, candidates, fails=case.kind is Kind.VICTIM)
        needed_runs = confirmed.needed_runs
        further_culprits = [test for (test,) in confirmed.prefixes]
        if case.joint and further_culprits:
            single = answer_to(self._reduce_to_single_culprit(case, further_culprits[0]))
            if isinstance(single, NeedRuns):
                needed_runs += single.plans
            else:
                case = single
        if case.joint:
            further_culprits = []
        if case.kind is Kind.BRITTLE:
            setters = tuple(dict.fromkeys((*case.state_setters, *further_culprits)))
            return Completion(findings=(replace(case, state_setters=setters),), needed_runs=needed_runs)
        case = replace(case, polluters=tuple(dict.fromkeys((*case.polluters, *further_culprits))))
        cleaners = self._confirm_cleaners(case)
        case = replace(case, cleaners=tuple(prefix[-1] for prefix in cleaners.prefixes))
        return Completion(findings=(case,), needed_runs=needed_runs + cleaners.needed_runs)

    def _reduce_to_single_culprit(self, case: Finding, culprit: NodeId) -> Question[Finding]:
        """The finding with one culprit that suffices instead of several that act together, if that is proven."""
        effect = OrderEffect(test=case.test, prefix=(culprit,), outcome=_effect_outcome(case))
        if case.kind is Kind.VICTIM:
            why = f"confirms what {culprit} does to {case.test}"
            yield from self._ask.tally_of_failing_last(effect.order, times=limits.CONFIRMATIONS, why=why)
            if not self._ask.has_failed_undisturbed(effect.order):
                return case
        after, alone = (self._history.tally_after(prefix, case.test) for prefix in (effect.prefix, ()))
        return finding_of_effect(case, effect, Proven(after=after, alone=alone))

    def _confirm_cleaners(self, case: Finding) -> _ConfirmedPrefixes:
        polluter = case.polluters[0]
        if case.pollution_rate is not None or case.joint or self._group_runs is not None:
            return _ConfirmedPrefixes()  # a pass proves nothing where the victim fails only sometimes
        prefixes = ((polluter, test) for test in self._order if test not in (polluter, case.test))
        return self._confirm_prefixes(case, prefixes, fails=False)

    def _confirm_prefixes(self, case: Finding, prefixes: Iterable[Order], *, fails: bool) -> _ConfirmedPrefixes:
        """The prefixes after which the test always fails, or always passes."""
        confirmed: list[Order] = []
        needed_runs: list[RunPlan] = []
        for prefix in prefixes:
            tally = self._history.tally_after(prefix, case.test)
            if case.test in prefix or not tally.n or tally.failed != (tally.n if fails else 0):
                continue
            why = f"confirms what {prefix[-1]} does to {case.test}"
            order = (*prefix, case.test)
            answer = answer_to(self._ask.tally_of_last(order, times=limits.CONFIRMATIONS, why=why))
            if isinstance(answer, NeedRuns):
                needed_runs += answer.plans
            else:
                confirmed.append(prefix)
        return _ConfirmedPrefixes(prefixes=tuple(confirmed), needed_runs=tuple(needed_runs))


def _effect_outcome(case: Finding) -> EffectOutcome:
    return "fails" if case.kind is Kind.VICTIM else "passes"
