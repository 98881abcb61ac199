"""Tests that so far failed only while other runs of ours were going on: is it the load, or chance?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from math import prod

from flakehound.core.history import History, Sighting, Tally, tally_of
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, SingleRun
from flakehound.core.statistics.rates import chance_of_such_a_gap
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import may_be_chance, undisturbed_runs_for
from flakehound.hunt.diagnosis.findings import Finding, finding_of_load
from flakehound.hunt.diagnosis.questions import NeedRuns, Question
from flakehound.hunt.diagnosis.suspect import Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class _Circumstances:
    """Under which a test failed beside other runs, and how often it did, with and without them."""

    order: Order  # ends with the test
    isolation: Isolation
    hash_seed: int | None  # of the new interpreter; None in a fork
    seed: int | None  # under which it failed
    disturbed: Tally
    undisturbed: Tally
    cost_s: float  # of one run

    @property
    def test(self) -> NodeId:
        """The test that failed."""
        return self.order[-1]

    @property
    def chance(self) -> float:
        """How likely so many undisturbed passes are if load makes no difference."""
        return self._chance_after(self.undisturbed.n)

    def _chance_after(self, passes: int) -> float:
        return chance_of_such_a_gap(self.disturbed.failed, self.disturbed.n, 0, passes)

    def missing(self, chance: float = 1.0) -> int:
        """Undisturbed runs it takes to rule out chance, as far as affordable.

        `chance` is the probability that the other circumstances leave.
        """
        return max(0, undisturbed_runs_for(self.disturbed, self.cost_s, chance) - self.undisturbed.n)

    def can_rule_out(self, chance: float) -> bool:
        """Whether that many runs would suffice."""
        runs = self.undisturbed.n + self.missing(chance)
        return chance * self._chance_after(runs) <= limits.MAX_CHANCE

    @property
    def where(self) -> str:
        """The circumstances in words."""
        return "after the same tests" if len(self.order) > 1 else "alone"


def diagnose_load(suspect: Suspect, finding: Finding) -> Generator[Finding | NeedRuns, None, Finding | None]:
    """Repeat a failure with nothing beside it: first exactly, then after the same tests with other seeds.

    None if the test failed beside other runs nowhere that it does not fail undisturbed as well.
    """
    failures = suspect.history.failures_of(suspect.test)
    disturbed = [s for s in failures if s.record.disturbed]
    found = [one for one in _circumstances_of(suspect, disturbed) if not one.undisturbed.failed]
    undisturbed = sum(one.undisturbed.n for one in found)
    finding = replace(finding, seems_load=undisturbed >= limits.MIN_EXPENSIVE_UNDISTURBED_RUNS)
    yield finding
    is_open = undisturbed < limits.MIN_UNDISTURBED_RUNS or _joint_chance(found) > limits.MAX_CHANCE
    if is_open and (suspect.patient or not finding.seems_load):
        yield from _repeat(suspect, found)
    if not found:
        return None
    return _finding_with_counts(finding, found, only=len(disturbed) == len(failures))


def finding_of_load_after(suspect: Suspect, finding: Finding, prefix: Order, where: str) -> Finding:
    """The finding that the test fails after these tests beside other runs, and never with nothing beside it."""
    disturbed, undisturbed = (
        suspect.history.tally_after(prefix, suspect.test, disturbed=disturbed) for disturbed in (True, False)
    )
    return finding_of_load(
        finding,
        disturbed,
        undisturbed,
        where,
        proven=not may_be_chance(disturbed, undisturbed),
        only=suspect.failed_only_beside_others,
    )


def _circumstances_of(suspect: Suspect, failures: Sequence[Sighting]) -> list[_Circumstances]:
    """The shortest way it failed, and the original order if it failed there; the quickest to decide first."""
    if not failures:
        return []
    shortest = min(failures, key=lambda s: (s.record.isolation is Isolation.SPAWN, s.place))
    originals = [
        s
        for s in failures
        if s.record.setting is Setting.ORIGINAL and s.record.isolation is shortest.record.isolation and s.place
    ]
    candidates = [_circumstances(suspect, sighting) for sighting in (shortest, *originals[-1:])]
    found = {(one.order, one.hash_seed): one for one in candidates}
    return sorted(found.values(), key=lambda one: one.missing() * one.cost_s)


def _circumstances(suspect: Suspect, sighting: Sighting) -> _Circumstances:
    record, order = sighting.record, sighting.record.order[: sighting.place + 1]
    return _Circumstances(
        order=order,
        isolation=record.isolation,
        hash_seed=record.hash_seed if record.isolation is Isolation.SPAWN else None,
        seed=record.seed,
        disturbed=tally_of_equal_runs(suspect.history, sighting, disturbed=True),
        undisturbed=tally_of_equal_runs(suspect.history, sighting, disturbed=False),
        cost_s=suspect.history.costs.run_s(order, record.isolation),
    )


def _joint_chance(found: Sequence[_Circumstances]) -> float:
    return prod(one.chance for one in found)


def _repeat(suspect: Suspect, found: Sequence[_Circumstances]) -> Question[None]:
    if found and found[0].cost_s > limits.CHEAP_RUN_S:
        why = f"does {suspect.test} fail alone with nothing beside it?"
        times = limits.UNDISTURBED_RUNS_ALONE
        yield from suspect.ask.tally_of_last((suspect.test,), times=times, why=why, undisturbed=True)
    for number, one in enumerate(found):
        chance = prod(other.chance for other in found if other is not one)
        # The first deserves its runs in any case: they may prove that the test is NOD.
        if one.missing(chance) and (number == 0 or one.can_rule_out(chance)):
            yield from _repeat_disturbed(suspect.history, one)
            yield from _repeat_undisturbed(suspect.history, one, one.missing(chance))


def _repeat_disturbed(history: History, one: _Circumstances) -> Question[None]:
    """A failure seen once or twice says little about how often it should show undisturbed."""
    enough = limits.DISTURBED_RUNS
    missing = enough - one.disturbed.n
    if missing <= 0 or one.undisturbed.n < limits.MIN_UNDISTURBED_RUNS or one.cost_s > limits.CHEAP_RUN_S:
        return
    if history.runs_of(one.order) < one.undisturbed.n + enough + limits.MAX_RUNS_WITHOUT_OUTCOME:
        yield NeedRuns.of([_plan(one, undisturbed=False)] * missing)


def _repeat_undisturbed(history: History, one: _Circumstances, missing: int) -> Question[None]:
    same = [
        s
        for s in history.after(one.order[:-1], one.test)
        if s.record.isolation is one.isolation and not s.record.disturbed
    ]
    made = max(len(same), history.runs_of(one.order, one.isolation, disturbed=False))
    if made >= one.undisturbed.n + missing + limits.MAX_RUNS_WITHOUT_OUTCOME:
        return  # it only skips itself
    exact = max(0, min(missing, limits.EXACT_REPLAYS - sum(s.record.seed == one.seed for s in same)))
    plans = [_plan(one, undisturbed=True, seed=one.seed)] * exact
    yield NeedRuns.of(plans + [_plan(one, undisturbed=True)] * (missing - exact))


def _plan(one: _Circumstances, *, undisturbed: bool, seed: int | None = None) -> SingleRun:
    beside = "nothing" if undisturbed else "others"
    return SingleRun(
        order=one.order,
        why=f"does {one.test} fail with {beside} beside it?",
        setting=Setting.ALONE if len(one.order) == 1 and seed is None else Setting.PROBE,
        isolation=one.isolation,
        seed=seed,
        hash_seed=one.hash_seed,
        undisturbed=undisturbed,
    )


def _finding_with_counts(finding: Finding, found: Sequence[_Circumstances], *, only: bool) -> Finding:
    repeated = [one for one in found if one.undisturbed.n] or found[:1]
    return finding_of_load(
        finding,
        sum((one.disturbed for one in repeated), Tally()),
        sum((one.undisturbed for one in repeated), Tally()),
        " and ".join(dict.fromkeys(one.where for one in repeated)),
        proven=_joint_chance(repeated) <= limits.MAX_CHANCE,
        only=only,
    )


def tally_of_equal_runs(history: History, sighting: Sighting, *, disturbed: bool | None = None) -> Tally:
    """Runs after the same tests in the same kind of process, those of the original order among them."""
    record, place = sighting.record, sighting.place
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
        for s in history.after(prefix, test)
        if s.record.setting is not Setting.ORIGINAL
        and s.record.isolation is record.isolation
        and s.record.hash_seed == record.hash_seed
        and disturbed in (None, s.record.disturbed)
    )
