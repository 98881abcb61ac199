"""Once a victim or brittle test is proven: all its polluters or state-setters, and what cleans up after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.questions import Asker, Need
from flakehound.hunt.search.pairs import Case, Pairs

CONFIRMATIONS = 3


class Completion:
    """Restricted PAIRWISE over the proven cases."""

    def __init__(self, history: History, findings: Sequence[Finding], order: Order, isolation: Isolation) -> None:
        self._history = history
        self._cases = [f for f in findings if f.kind in (Kind.VICTIM, Kind.BRITTLE) and f.culprits]
        self._order = order
        self._isolation = isolation
        self._ask = Asker(history=history, isolation=isolation)

    def pairs(self) -> Pairs:
        """Every other test with every case."""
        cases = [Case(test=case.test, fails=case.kind is Kind.VICTIM) for case in self._cases]
        return Pairs(self._history, cases, self._order, self._isolation)

    def cleaners(self) -> Iterator[RunPlan]:
        """Every other test between each polluter and its victim."""
        for case in self._cases:
            if case.kind is Kind.VICTIM and not case.joint:
                yield from self._cleaner_plans(case)

    def _cleaner_plans(self, case: Finding) -> Iterator[RunPlan]:
        polluter = case.polluters[0]
        branches = [
            (between, case.test)
            for between in self._order
            if between not in (polluter, case.test) and not self._history.after((polluter, between), case.test)
        ]
        if branches:
            yield self._plan((polluter,), branches, f"which tests clean up after {polluter}?")

    def _plan(self, order: Order, branches: Sequence[Order], why: str) -> RunPlan:
        return RunPlan(
            order=order, branches=tuple(branches), why=why, setting=Setting.PROBE, isolation=self._isolation
        )

    def confirm(self) -> list[RunPlan]:
        """Add what is confirmed to the findings; return the runs that would confirm the rest."""
        wanted: list[RunPlan] = []
        for case in self._cases:
            have, more = self._confirmed(case, ((p,) for p in self._order if case.joint or p not in case.culprits))
            extra = [order[0] for order in have]
            if case.joint and extra:
                more += self._prefer_single(case, extra[0])
            if case.joint:
                extra = []
            if case.kind is Kind.VICTIM:
                case.polluters += [test for test in extra if test not in case.polluters]
                cleaning, more_cleaning = self._confirmed_cleaners(case)
                case.cleaners = cleaning
                more += more_cleaning
            else:
                case.state_setters += [test for test in extra if test not in case.state_setters]
            wanted += more
        return wanted

    def _prefer_single(self, case: Finding, culprit: NodeId) -> list[RunPlan]:
        """One test that suffices says more than several that are needed together; or the runs that prove it."""
        order, alone = (culprit, case.test), self._history.tally_after((), case.test)
        seen = self._history.tally_after((culprit,), case.test)
        if case.kind is Kind.BRITTLE:
            case.credit((culprit,), seen, alone)
            return []
        try:
            self._ask.failing_last_of(
                order, times=CONFIRMATIONS, why=f"confirms what {culprit} does to {case.test}"
            )
        except Need as need:
            return need.plans
        if self._ask.failed_undisturbed(order):
            case.blame((culprit,), seen, alone)
        return []

    def _confirmed(self, case: Finding, prefixes: Iterable[Order]) -> tuple[list[Order], list[RunPlan]]:
        return self._agreeing(case.test, prefixes, fails=case.kind is Kind.VICTIM, own=case.test)

    def _confirmed_cleaners(self, case: Finding) -> tuple[list[NodeId], list[RunPlan]]:
        polluter = case.polluters[0]
        if case.pollution_rate is not None or case.joint:
            return [], []  # a pass proves nothing where the victim fails only sometimes
        prefixes = ((polluter, c) for c in self._order if c not in (polluter, case.test))
        have, more = self._agreeing(case.test, prefixes, fails=False, own=case.test)
        return [order[1] for order in have], more

    def _agreeing(
        self, test: NodeId, prefixes: Iterable[Order], *, fails: bool, own: NodeId
    ) -> tuple[list[Order], list[RunPlan]]:
        have: list[Order] = []
        more: list[RunPlan] = []
        for prefix in prefixes:
            seen = self._history.tally_after(prefix, test)
            if own in prefix or not seen.n or seen.failed != (seen.n if fails else 0):
                continue
            try:
                self._ask.last_of(
                    (*prefix, test), times=CONFIRMATIONS, why=f"confirms what {prefix[-1]} does to {test}"
                )
                have.append(prefix)
            except Need as need:
                more += need.plans
        return have, more
