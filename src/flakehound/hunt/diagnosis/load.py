"""Tests that so far failed only while other runs of ours were going on: because of load, or by chance?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import prod

from flakehound.core.history import Execution, History, Tally, tally_of
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.statistics.rates import fisher_p_value
from flakehound.core.verdicts import Kind
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import may_be_chance, undisturbed_runs_for
from flakehound.hunt.diagnosis.findings import Finding, finding_of_load
from flakehound.hunt.diagnosis.load_turns import LoadTurns, load_turns
from flakehound.hunt.diagnosis.questions import NeedRuns, Question
from flakehound.hunt.diagnosis.suspect import Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class _LoadCase:
    """An order in which a test failed in parallel with other runs, and its counts with and without them."""

    order: Order  # ends with the test
    isolation: Isolation
    hash_seed: int | None  # of the new interpreter; None in a fork
    seed: int | None  # with which it failed
    disturbed: Tally
    undisturbed: Tally
    cost_s: float  # of one run
    turns: LoadTurns

    @property
    def test(self) -> NodeId:
        """The test that failed."""
        return self.order[-1]

    @property
    def chance(self) -> float:
        """The probability of this many undisturbed passes if load makes no difference."""
        return 1.0 if self.turns.have_ended else self._chance_after(self.undisturbed.n)

    def _chance_after(self, passes: int) -> float:
        return fisher_p_value(self.disturbed.failed, self.disturbed.n, 0, passes)

    def missing_runs(self, chance: float = 1.0) -> int:
        """Undisturbed runs that are missing to rule out chance, or fewer if they cost too much.

        `chance` is the probability of chance that the other cases leave.
        """
        return max(0, undisturbed_runs_for(self.disturbed, self.cost_s, chance) - self.undisturbed.n)

    def can_rule_out_chance(self, chance: float) -> bool:
        """Whether the missing runs would suffice."""
        runs = self.undisturbed.n + self.missing_runs(chance)
        return chance * self._chance_after(runs) <= limits.MAX_CHANCE

    @property
    def where(self) -> str:
        """What ran before the test, as text."""
        return "after the same tests" if len(self.order) > 1 else "alone"


def diagnose_load(suspect: Suspect, finding: Finding) -> Generator[Finding | NeedRuns, None, Finding | None]:
    """Repeat a failure with no other run going on, first with the same seed, then with other seeds.

    Returns None if the test also fails undisturbed wherever it failed in parallel with other runs.
    """
    failures = suspect.history.failures_of(suspect.test)
    disturbed = [s for s in failures if s.record.disturbed]
    cases = [case for case in _load_cases(suspect, disturbed) if not case.undisturbed.failed]
    undisturbed = sum(case.undisturbed.n for case in cases)
    seems_under_load = undisturbed >= limits.MIN_EXPENSIVE_UNDISTURBED_RUNS
    kind = Kind.UNRESOLVED if seems_under_load else finding.kind
    chance = _joint_chance(cases)
    finding = replace(finding, kind=kind, seems_under_load=seems_under_load, load_chance=chance)
    yield finding
    is_undecided = undisturbed < limits.MIN_UNDISTURBED_RUNS or chance > limits.MAX_CHANCE
    fails_at_moments = any(case.turns.have_ended for case in cases)
    if is_undecided and not fails_at_moments and (suspect.examine_load or not finding.seems_under_load):
        yield from _repeat_failures(suspect, cases)
    if not cases:
        return None
    only_under_load = len(disturbed) == len(failures)
    finding = _finding_with_counts(finding, cases, only_under_load=only_under_load)
    yield finding
    case = _case_with_most_turns(cases)
    # Where as many undisturbed runs as are affordable leave it open, turns settle it if they cost little.
    is_open = chance <= limits.MAX_CHANCE_OF_LIKELY_LOAD and case.cost_s <= limits.CHEAP_RUN_S
    if suspect.examine_load and (is_open or not is_undecided):
        yield from _repeat_in_turns(suspect.history, case)
    return finding


def finding_of_load_after(suspect: Suspect, finding: Finding, prefix: Order, where: str) -> Finding:
    """The finding that the test fails after these tests only while other runs are going on."""
    disturbed, undisturbed = (
        suspect.history.tally_after(prefix, suspect.test, disturbed=disturbed) for disturbed in (True, False)
    )
    return finding_of_load(
        finding,
        disturbed,
        undisturbed,
        where,
        proven=not may_be_chance(disturbed, undisturbed),
        only_under_load=suspect.failed_only_disturbed,
    )


def _load_cases(suspect: Suspect, failures: Sequence[Execution]) -> list[_LoadCase]:
    """The shortest failing order, and the original order if it failed there; the cheapest to decide first."""
    if not failures:
        return []
    shortest = min(failures, key=lambda s: (s.record.isolation is Isolation.SPAWN, s.position))
    failures_in_original_order = [
        s
        for s in failures
        if s.record.setting is Setting.ORIGINAL and s.record.isolation is shortest.record.isolation and s.position
    ]
    candidates = [_load_case(suspect, execution) for execution in (shortest, *failures_in_original_order[-1:])]
    distinct = {(case.order, case.hash_seed): case for case in candidates}
    return sorted(distinct.values(), key=lambda case: case.missing_runs() * case.cost_s)


def _load_case(suspect: Suspect, execution: Execution) -> _LoadCase:
    record, order = execution.record, execution.record.order[: execution.position + 1]
    disturbed = tally_of_equal_runs(suspect.history, execution, disturbed=True)
    cost_s = suspect.history.costs.run_s(order, record.isolation)
    return _LoadCase(
        order=order,
        isolation=record.isolation,
        hash_seed=record.hash_seed if record.isolation is Isolation.SPAWN else None,
        seed=record.seed,
        disturbed=disturbed,
        undisturbed=tally_of_equal_runs(suspect.history, execution, disturbed=False),
        cost_s=cost_s,
        turns=load_turns(suspect.history, execution, disturbed, needed=_turns_needed(suspect, cost_s)),
    )


def _turns_needed(suspect: Suspect, cost_s: float) -> int:
    """Two where nothing runs beside others at present, because it cannot fail again then."""
    if not suspect.runs_beside_others:
        return 2
    return limits.CHEAP_ALTERNATIONS if cost_s <= limits.CHEAP_RUN_S else limits.ALTERNATIONS


def _joint_chance(cases: Sequence[_LoadCase]) -> float:
    return prod(case.chance for case in cases)


def _repeat_failures(suspect: Suspect, cases: Sequence[_LoadCase]) -> Question[None]:
    if cases and cases[0].cost_s > limits.CHEAP_RUN_S:
        why = f"does {suspect.test} fail alone with nothing beside it?"
        times = suspect.affordable_undisturbed_runs
        yield from suspect.ask.tally_of_last((suspect.test,), times=times, why=why, undisturbed=True)
    for number, case in enumerate(cases):
        if suspect.is_long(case.order):
            continue  # nothing else could run meanwhile; the test runs alone instead
        chance = prod(other.chance for other in cases if other is not case)
        # The first is repeated in any case: that may prove that the test is NOD.
        if case.missing_runs(chance) and (number == 0 or case.can_rule_out_chance(chance)):
            yield from _repeat_disturbed(suspect.history, case)
            yield from _repeat_undisturbed(suspect.history, case, case.missing_runs(chance))


def _repeat_disturbed(history: History, case: _LoadCase) -> Question[None]:
    """Make enough disturbed runs to estimate the failure rate that undisturbed runs are compared with."""
    enough = limits.DISTURBED_RUNS
    missing_runs = enough - case.disturbed.n
    if missing_runs <= 0 or case.undisturbed.n < limits.MIN_UNDISTURBED_RUNS or case.cost_s > limits.CHEAP_RUN_S:
        return
    if history.runs_of(case.order) < case.undisturbed.n + enough + limits.MAX_RUNS_WITHOUT_OUTCOME:
        yield NeedRuns.of([_repetition(case, undisturbed=False)] * missing_runs)


def _case_with_most_turns(cases: Sequence[_LoadCase]) -> _LoadCase:
    """The order whose runs need the fewest further turns; of equal ones the cheapest."""
    return min(cases, key=lambda case: (case.turns.needed - case.turns.turns, case.cost_s))


def _repeat_in_turns(history: History, case: _LoadCase) -> Question[None]:
    """Ask for runs beside others until it fails again, then for an undisturbed one, for enough turns."""
    turns = case.turns
    max_runs = case.undisturbed.n + turns.needed * (turns.runs_until_failure + limits.MAX_RUNS_WITHOUT_OUTCOME)
    if turns.are_enough or history.runs_of(case.order) >= max_runs + case.disturbed.n:
        return
    if turns.failed_last:
        yield NeedRuns.of([_repetition(case, undisturbed=True)])
    elif turns.passes_since < turns.runs_until_failure:
        yield NeedRuns.of([_repetition(case, undisturbed=False)])


def _repeat_undisturbed(history: History, case: _LoadCase, missing_runs: int) -> Question[None]:
    undisturbed_runs = [
        s
        for s in history.executions_after(case.order[:-1], case.test)
        if s.record.isolation is case.isolation and not s.record.disturbed
    ]
    runs_made = max(len(undisturbed_runs), history.runs_of(case.order, case.isolation, disturbed=False))
    if runs_made >= case.undisturbed.n + missing_runs + limits.MAX_RUNS_WITHOUT_OUTCOME:
        return  # the test skips itself
    same_seed = sum(s.record.seed == case.seed for s in undisturbed_runs)
    exact_replays = max(0, min(missing_runs, limits.EXACT_REPLAYS - same_seed))
    plans = [_repetition(case, undisturbed=True, seed=case.seed)] * exact_replays
    yield NeedRuns.of(plans + [_repetition(case, undisturbed=True)] * (missing_runs - exact_replays))


def _repetition(case: _LoadCase, *, undisturbed: bool, seed: int | None = None) -> SingleRun:
    beside = "nothing" if undisturbed else "others"
    return SingleRun(
        order=case.order,
        why=f"does {case.test} fail with {beside} beside it?",
        setting=Setting.ALONE if len(case.order) == 1 and seed is None else Setting.PROBE,
        isolation=case.isolation,
        seed=seed,
        hash_seed=case.hash_seed,
        undisturbed=undisturbed,
    )


def _finding_with_counts(finding: Finding, cases: Sequence[_LoadCase], *, only_under_load: bool) -> Finding:
    repeated = [case for case in cases if case.undisturbed.n] or cases[:1]
    return finding_of_load(
        finding,
        sum((case.disturbed for case in repeated), Tally()),
        sum((case.undisturbed for case in repeated), Tally()),
        " and ".join(dict.fromkeys(case.where for case in repeated)),
        proven=_joint_chance(repeated) <= limits.MAX_CHANCE and any(case.turns.are_enough for case in repeated),
        only_under_load=only_under_load,
    )


def tally_of_equal_runs(history: History, execution: Execution, *, disturbed: bool | None = None) -> Tally:
    """Outcomes after the same tests in the same kind of process, including runs of the original order."""
    record, place = execution.record, execution.position
    test, prefix = record.order[place], record.order[:place]
    in_original = history.tally(
        test,
        Setting.ORIGINAL,
        isolation=record.isolation,
        disturbed=disturbed,
        hash_seed=record.hash_seed,
        after=prefix,
    )
    return in_original + tally_of(
        s
        for s in history.executions_after(prefix, test)
        if s.record.setting is not Setting.ORIGINAL
        and s.record.isolation is record.isolation
        and s.record.hash_seed == record.hash_seed
        and disturbed in (None, s.record.disturbed)
    )
