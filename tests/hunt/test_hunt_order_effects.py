"""Victims and brittle tests are one claim with two outcomes, and one proof."""

from __future__ import annotations

import pytest
from simulator import suite_of
from ten_tests import A, B, a_run, alternating

from flakehound.core.history import History, Tally
from flakehound.core.verdicts import Kind
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.order_effects import (
    OrderEffect,
    Proven,
    Refuted,
    evidence_for,
    finding_of_effect,
    is_proven,
)
from flakehound.hunt.diagnosis.questions import NeedRuns, answer_to
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.original_order import OriginalOrder

OUTCOMES = ["fails", "passes"]
LETTERS = {"fails": ("F", "P"), "passes": ("P", "F")}  # after the other test, alone


def a_claim(outcome):
    return OrderEffect(test=B, prefix=(A,), outcome=outcome)


def a_suspect(*records):
    history = History(suite_of("a", "b"), records)
    return Suspect(test=B, history=history, test_order=OriginalOrder(history))


def runs_that_show(outcome, **changes):
    after, alone = LETTERS[outcome]
    return a_run([A, B], "P" + after, **changes), a_run([B], alone, **changes)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_five_alternating_runs_with_the_prefix_and_alone_prove_the_claim(outcome):
    suspect = a_suspect(*alternating(*runs_that_show(outcome), 5))

    evidence = answer_to(evidence_for(a_claim(outcome), suspect))

    assert isinstance(evidence, Proven)
    assert (evidence.after.n, evidence.alone.n) == (5, 5)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_claim_needs_runs_that_alternate(outcome):
    after, alone = runs_that_show(outcome)
    suspect = a_suspect(*[after] * 5, *[alone] * 5)

    needed = answer_to(evidence_for(a_claim(outcome), suspect))

    assert isinstance(needed, NeedRuns)
    assert [plan.order for plan in needed.plans] == [(A, B), (B,)] * 2


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_claim_is_refuted_by_a_failure_where_the_test_should_pass(outcome):
    claim = a_claim(outcome)
    exception = a_run(claim.passing_order, "F" if outcome == "fails" else "PF")
    suspect = a_suspect(*alternating(*runs_that_show(outcome), 40), exception)

    evidence = answer_to(evidence_for(claim, suspect))

    assert evidence == Refuted(only_under_load=False, is_mixed=True)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_failures_that_all_had_other_runs_beside_them_prove_nothing(outcome):
    suspect = a_suspect(*alternating(*runs_that_show(outcome, disturbed=True), 10))

    assert not is_proven(a_claim(outcome), suspect)


@pytest.mark.parametrize(("outcome", "proven"), [("fails", True), ("passes", False)])
def test_a_victim_may_fail_only_sometimes_and_a_brittle_test_must_always_fail_alone(outcome, proven):
    claim = a_claim(outcome)
    exception = a_run(claim.failing_order, "P" * len(claim.failing_order))
    suspect = a_suspect(*alternating(*runs_that_show(outcome), 10), exception)

    assert is_proven(claim, suspect) is proven


@pytest.mark.parametrize(
    ("outcome", "kind", "replay"), [("fails", Kind.VICTIM, (A, B)), ("passes", Kind.BRITTLE, (B,))]
)
def test_a_proven_claim_names_the_kind_the_culprit_and_the_shortest_failing_order(outcome, kind, replay):
    failed, passed = Tally(n=5, failed=5), Tally(n=5)
    proof = Proven(after=failed, alone=passed) if outcome == "fails" else Proven(after=passed, alone=failed)

    finding = finding_of_effect(Finding(test=B), a_claim(outcome), proof)

    assert (finding.kind, finding.culprits, finding.replay.order) == (kind, (A,), replay)
