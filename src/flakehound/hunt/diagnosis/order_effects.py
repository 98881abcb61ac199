"""Victims and brittle tests: one claim about the tests before them, and its proof."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import alternations_of, may_be_chance, passes_that_rule_out_chance
from flakehound.hunt.diagnosis.findings import Finding, failures_in_words, names_in_words
from flakehound.hunt.diagnosis.questions import Question
from flakehound.hunt.diagnosis.suspect import Suspect

EffectOutcome: TypeAlias = Literal["fails", "passes"]  # after its polluters, after its state-setters


def shows(outcome: EffectOutcome, tally: Tally) -> bool:
    """Whether these runs had the outcome: at least one failure, or only passes."""
    return tally.failed > 0 if outcome == "fails" else tally.n > 0 and not tally.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEffect:
    """A claim: running `prefix` first turns the test's result into `outcome`."""

    test: NodeId
    prefix: Order
    outcome: EffectOutcome  # "fails": a victim; "passes": a brittle test

    @property
    def order(self) -> Order:
        """The prefix and the test."""
        return (*self.prefix, self.test)

    @property
    def failing_order(self) -> Order:
        """The order in which the test should fail: after the prefix, or alone."""
        return self.order if self.outcome == "fails" else (self.test,)

    @property
    def passing_order(self) -> Order:
        """The order in which the test should pass: alone, or after the prefix."""
        return (self.test,) if self.outcome == "fails" else self.order


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """The claim holds without reasonable doubt."""

    after: Tally  # runs right after the prefix
    alone: Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuted:
    """The runs that should have proven the claim did not."""

    only_under_load: bool  # where it should fail, it failed only while other runs were going on
    is_mixed: bool  # it failed where it should pass, or passed where it should fail


def evidence_for(effect: OrderEffect, suspect: Suspect) -> Question[Proven | Refuted]:
    """Whether the claim holds; asks for as many runs with the prefix and alone as are needed to decide."""
    times = _proof_runs(effect, suspect)
    yield from suspect.ask.alternation(
        effect.failing_order,
        effect.passing_order,
        times=_alternations(effect, suspect),
        max_runs=limits.MAX_CLEAN_RUNS,
        why=f"does {effect.test} fail and pass in turns?",
    )
    after = yield from _runs_after(effect, suspect, times)
    alone = yield from _runs_alone(effect, suspect, after, times)
    if is_proven(effect, suspect):
        return Proven(after=after, alone=alone)
    failing, passing = (after, alone) if effect.outcome == "fails" else (alone, after)
    undisturbed = suspect.ask.has_failed_undisturbed(effect.failing_order)
    return Refuted(
        only_under_load=bool(failing.failed) and not undisturbed,
        is_mixed=bool(passing.failed) or (after + alone).is_mixed,
    )


def is_proven(effect: OrderEffect, suspect: Suspect) -> bool:
    """Whether the runs made so far prove the claim.

    They must rule out chance, load, and a change of the machine in between (failures and passes must alternate). A
    victim may fail only sometimes after its polluters; a brittle test must never pass alone.
    """
    after, alone = suspect.after(effect.prefix), suspect.alone
    failing, passing = (after, alone) if effect.outcome == "fails" else (alone, after)
    return (
        failing.failed >= limits.CONFIRMATIONS
        and passing.n >= limits.CONFIRMATIONS
        and not passing.failed
        and (effect.outcome == "fails" or not failing.passed)
        and alternations_of(suspect.history, effect.failing_order, effect.passing_order)
        >= _alternations(effect, suspect)
        and suspect.ask.has_failed_undisturbed(effect.failing_order)
        and not gap_may_be_chance(suspect, failing, passing)
    )


def gap_may_be_chance(suspect: Suspect, failing: Tally, passing: Tally) -> bool:
    """Whether chance may explain the failures; passes in the original order count as passes."""
    return may_be_chance(failing, passing + suspect.passes_in_original_order)


def provisional_finding(effect: OrderEffect, suspect: Suspect) -> Finding:
    """The finding to report if the time is up before the deciding tests are known."""
    after, alone = suspect.after(effect.prefix), suspect.alone
    after += Tally() if after.n else suspect.in_original_order
    tests = effect.prefix
    group = names_in_words(tests) if len(tests) == 1 else f"the same {len(tests)} tests"
    if effect.outcome == "fails":
        kind, may_be_fork_artefact = Kind.VICTIM, False
        counts = f"failed {failures_in_words(after)} after {group}, {failures_in_words(alone)} alone"
    else:
        kind = Kind.BRITTLE
        may_be_fork_artefact = suspect.is_measured and not suspect.ask.has_enough_new_interpreters(suspect.test)
        counts = f"failed {failures_in_words(alone)} alone, {failures_in_words(after)} after {group}"
    if is_proven(effect, suspect) and not may_be_fork_artefact:
        evidence = f"{counts}; which tests it takes is not known yet"
        return Finding(test=suspect.test, kind=kind, evidence=(evidence,))
    return Finding(test=suspect.test, evidence=(f"{counts}; not proven yet that the order decides",))


def finding_of_effect(finding: Finding, effect: OrderEffect, proof: Proven) -> Finding:
    """The finding, extended by a proven effect and its culprits."""
    after, alone = proof.after, proof.alone
    if effect.outcome == "fails":
        kind, failing = Kind.VICTIM, after
        joint = " run together" if len(effect.prefix) > 1 else ""
        words = (
            f"failed {failures_in_words(after)} after {names_in_words(effect.prefix)}{joint}, "
            f"passed {alone.passed} of {alone.n} alone"
        )
        finding = replace(
            finding,
            polluters=effect.prefix,
            pollution_rate=failure_rate(after.failed, after.n) if after.is_mixed else None,
        )
    else:
        kind, failing = Kind.BRITTLE, alone
        words = (
            f"failed {failures_in_words(alone)} alone, "
            f"passed {after.passed} of {after.n} after {names_in_words(effect.prefix)}"
        )
        finding = replace(finding, state_setters=effect.prefix)
    return replace(
        finding,
        kind=kind,
        joint=len(effect.prefix) > 1,
        minimal_order=effect.order,
        evidence=(words,),
        causes=(LikelyCause(cause=Cause.TEST_ORDER, evidence=words),),
        replay=Replay(order=effect.failing_order, failed=failing.failed, runs=failing.n),
    )


def _alternations(effect: OrderEffect, suspect: Suspect) -> int:
    return limits.CHEAP_ALTERNATIONS if suspect.is_cheap(effect.order) else limits.ALTERNATIONS


def _proof_runs(effect: OrderEffect, suspect: Suspect) -> int:
    cost_s = suspect.history.costs.run_s(effect.order, suspect.isolation)
    if cost_s * limits.MEASURED_CONFIRMATIONS < limits.MAX_MEASURED_PROOF_S and suspect.is_measured:
        return limits.MEASURED_CONFIRMATIONS
    return suspect.confirmations(effect.order)


def _runs_after(effect: OrderEffect, suspect: Suspect, times: int) -> Question[Tally]:
    """Outcomes after the prefix; asks for more runs if a victim fails only sometimes."""
    if effect.outcome == "passes":
        why = f"confirms that {effect.test} passes after {names_in_words(effect.prefix)}"
        return (yield from suspect.ask.tally_of_last(effect.order, times=times, why=why))
    why = f"confirms that {names_in_words(effect.prefix)} makes {effect.test} fail"
    after = yield from suspect.ask.tally_of_failing_last(effect.order, times=times, why=why)
    if after.is_mixed:
        after = yield from suspect.ask.tally_of_failing_last(
            effect.order, times=limits.RUNS_OF_MIXED_OUTCOMES, why=why
        )
    if after.is_mixed and after.failed < limits.CONFIRMATIONS and times > limits.CONFIRMATIONS:
        after = yield from suspect.ask.tally_of_failing_last(
            effect.order, times=limits.MAX_RUNS_PER_QUESTION, why=why
        )
    return after


def _runs_alone(effect: OrderEffect, suspect: Suspect, after: Tally, times: int) -> Question[Tally]:
    """Outcomes alone, as many as rule out chance together with the runs after the prefix."""
    alone = (effect.test,)
    if effect.outcome == "passes":
        passed = (after + suspect.passes_in_original_order).n
        # The test is symmetric: n failures need as many passes as n passes need failures.
        needed = passes_that_rule_out_chance(Tally(n=passed, failed=passed), limits.MAX_PROOF_RUNS)
        why = f"confirms that {effect.test} fails alone"
        return (yield from suspect.ask.tally_of_failing_last(alone, times=max(times, needed), why=why))
    why = f"confirms that {effect.test} passes alone"
    clean_runs = _clean_runs_for(suspect, after, times)
    return (yield from suspect.ask.tally_of_last(alone, times=clean_runs, why=why))


def _clean_runs_for(suspect: Suspect, after: Tally, times: int) -> int:
    """How many runs alone rule out that the failures after other tests are chance."""
    others = suspect.passes_in_original_order.n
    if not after.is_mixed:
        return max(times, passes_that_rule_out_chance(after, limits.MAX_PROOF_RUNS) - others)
    max_runs = limits.MAX_CLEAN_RUNS if suspect.is_cheap((suspect.test,)) else limits.RUNS_OF_MIXED_OUTCOMES
    return max(limits.RUNS_OF_MIXED_OUTCOMES, passes_that_rule_out_chance(after, max_runs) - others)
