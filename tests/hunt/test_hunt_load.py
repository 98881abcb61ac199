"""Tests that fail only because of the load of our own runs are reported so, and no others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from simulator import (
    Simulator,
    always,
    fails_after,
    fails_by_chance,
    fails_if,
    fails_when_repeated,
    hunt,
    passes_only_after,
    suite_of,
)
from ten_tests import NAMES, A, B, C, D, G, J, K, a_run, run_hunt

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting
from flakehound.core.verdicts import Kind
from flakehound.hunt.diagnosis.chance import may_be_chance, passes_that_rule_out_chance, undisturbed_runs_for
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.questions import Questions, answer_to
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.limits import MAX_UNDISTURBED_RUNS
from flakehound.hunt.original_order import OriginalOrder

BESIDE_OTHERS = {"jobs": 2}


def undisturbed_orders(found):
    return [plan.order for plan, _disturbed in found.simulator.started if plan.undisturbed]


def diagnosis_of(test, *records):
    """The finding from these runs, made one after another."""
    timed = [replace(record, started_s=float(number)) for number, record in enumerate(records)]
    history = History(suite_of("a", "b", "c", "d"), timed)
    return diagnose(Suspect(test=test, history=history, test_order=OriginalOrder(history)))


def originals(letters, times, **changes):
    return [a_run([A, B, C, D], letters, setting=Setting.ORIGINAL, **changes)] * times


# Order-dependent only under load


@pytest.mark.parametrize("polluter", [A, J])
def test_a_test_that_fails_after_another_only_beside_other_runs_is_no_victim(polluter):
    found = run_hunt(options=BESIDE_OTHERS, g=fails_if(lambda m: m.disturbed and polluter in m.earlier))

    verdict = found.verdict("g")
    assert (verdict.kind, verdict.under_load, verdict.polluters) == (Kind.UNRESOLVED, True, ())
    assert verdict.evidence[0].startswith("fails under load: ")
    assert found.settled


def test_a_test_that_fails_alone_only_beside_other_runs_is_not_brittle():
    verdict = run_hunt(options=BESIDE_OTHERS, g=fails_if(lambda m: m.disturbed and A not in m.earlier)).verdict(
        "g"
    )

    assert (verdict.kind, verdict.under_load, verdict.state_setters) == (Kind.UNRESOLVED, True, ())


def test_a_test_that_fails_when_repeated_only_beside_other_runs_is_not_non_idempotent():
    verdict = run_hunt(options=BESIDE_OTHERS, g=fails_if(lambda m: m.disturbed and G in m.earlier)).verdict("g")

    assert (verdict.kind, verdict.under_load) == (Kind.UNRESOLVED, True)


def test_a_test_that_always_fails_beside_others_is_tried_once_with_nothing_beside_it():
    simulator = Simulator(suite_of("a", "b"), {B: fails_if(lambda m: m.disturbed)})

    found = hunt(simulator, jobs=2, with_reference=False)

    assert found.verdict("b").under_load
    assert not found.verdict("b").kind.is_flaky


def test_a_regression_is_failing_in_disturbed_and_undisturbed_runs():
    simulator = Simulator(suite_of(*NAMES), {B: always(Outcome.FAILED)})

    found = hunt(simulator, jobs=2, with_reference=False)

    assert found.verdict("b").kind is Kind.FAILING
    assert len(undisturbed_orders(found)) <= 1


# How many undisturbed runs it takes


def test_two_jobs_confirm_each_order_dependent_test_with_at_most_one_undisturbed_run():
    found = run_hunt(
        options=BESIDE_OTHERS,
        c=fails_after(G),
        b=passes_only_after(K),
        e=fails_when_repeated,
        h=fails_after(A),
    )

    asked = Counter(order[-1] for order in undisturbed_orders(found))
    assert found.verdict("c").polluters == (G,)
    assert found.verdict("b").state_setters == (K,)
    assert found.verdict("e").kind is Kind.NON_IDEMPOTENT
    assert found.verdict("h").polluters == (A,)
    assert set(asked.values()) <= {1}


def test_one_job_asks_for_no_undisturbed_run():
    found = run_hunt(c=fails_after(G), b=passes_only_after(K), e=fails_when_repeated, d=fails_by_chance(0.3))

    assert undisturbed_orders(found) == []


def test_the_undisturbed_run_is_one_of_the_confirmations():
    ask = Questions(history=History(suite_of("a", "b"), [a_run([A, B], "PF", disturbed=True)]))

    need = answer_to(ask.tally_of_failing_last((A, B), times=5, why=""))

    assert [plan.undisturbed for plan in need.plans] == [False, False, False, True]


def test_no_undisturbed_run_is_needed_once_one_has_failed():
    seen = [a_run([A, B], "PF"), *[a_run([A, B], "PF", disturbed=True)] * 4]
    ask = Questions(history=History(suite_of("a", "b"), seen))

    assert answer_to(ask.tally_of_failing_last((A, B), times=5, why="")) == Tally(n=5, failed=5)


def test_after_an_undisturbed_pass_more_undisturbed_runs_are_made_until_load_is_proven():
    seen = [a_run([A, B], "PP"), *[a_run([A, B], "PF", disturbed=True)] * 5]
    ask = Questions(history=History(suite_of("a", "b"), seen))

    need = answer_to(ask.tally_of_failing_last((A, B), times=5, why=""))

    assert [plan.undisturbed for plan in need.plans] == [True] * 4


def test_an_order_whose_test_skips_itself_when_undisturbed_is_not_run_forever():
    seen = [*[a_run([A, B], "PS")] * 3, *[a_run([A, B], "PF", disturbed=True)] * 5]
    ask = Questions(history=History(suite_of("a", "b"), seen))

    assert answer_to(ask.tally_of_failing_last((A, B), times=5, why="")) == Tally(n=5, failed=5)
    assert not ask.has_failed_undisturbed((A, B))


# Repetitions after the same tests


def test_a_failure_after_other_tests_is_repeated_undisturbed_after_the_same_tests():
    seen = [
        *originals("PPFP", 4, disturbed=True),
        *originals("PPPP", 8, disturbed=True),
        *[a_run([C], "P")] * 60,
    ]

    finding = diagnosis_of(C, *seen)

    assert {plan.order for plan in finding.needed_runs} == {(A, B, C)}
    assert all(plan.undisturbed for plan in finding.needed_runs)


def test_load_is_reported_with_the_counts_of_the_runs_after_the_same_tests():
    seen = [
        *originals("PPPP", 6, disturbed=True),
        *[a_run([C], "P")] * 10,
        *[*originals("PPFP", 2, disturbed=True), *[a_run([A, B, C], "PPP")] * 5] * 3,
    ]

    finding = diagnosis_of(C, *seen)

    assert finding.under_load
    assert finding.evidence == (
        "fails under load: 6 of 12 runs beside others, 0 of 15 undisturbed, after the same tests",
    )


def test_load_is_not_blamed_before_failures_beside_others_and_undisturbed_passes_took_turns():
    seen = [*[a_run([C], "F", disturbed=True)] * 10, *[a_run([C], "P")] * 10, *originals("PPPP", 3)]

    finding = diagnosis_of(C, *seen)

    assert not finding.under_load
    assert [(plan.order, plan.undisturbed) for plan in finding.needed_runs] == [((C,), False)]


def test_a_test_that_passes_beside_others_too_after_undisturbed_passes_fails_at_some_moments():
    seen = [
        *[a_run([C], "P", disturbed=True)] * 7,
        *[a_run([C], "F", disturbed=True)] * 3,
        *[a_run([C], "P")] * 30,
        *[a_run([C], "P", disturbed=True)] * 20,
        *originals("PPPP", 3),
    ]

    finding = diagnosis_of(C, *seen)

    assert (finding.kind, finding.under_load, finding.needed_runs) == (Kind.NOD, False, ())
    assert finding.evidence[0].endswith("so far only beside other runs")


def test_turns_settle_what_as_many_undisturbed_runs_as_are_made_at_most_leave_open():
    """3 of 18 beside others and none of 60 undisturbed were unresolved after 30 minutes of xarray."""
    seen = [
        *[a_run([C], "F", disturbed=True)] * 3,
        *[a_run([C], "P", disturbed=True)] * 15,
        *[a_run([C], "P")] * MAX_UNDISTURBED_RUNS,
        *originals("PPPP", 3),
    ]

    finding = diagnosis_of(C, *seen)
    later = diagnosis_of(C, *seen, *[a_run([C], "P", disturbed=True)] * 20)

    assert [(plan.order, plan.undisturbed) for plan in finding.needed_runs] == [((C,), False)]
    assert (later.kind, later.needed_runs) == (Kind.NOD, ())


def test_a_rare_failure_in_disturbed_runs_is_not_blamed_on_load():
    seen = [
        *originals("PPFP", 1, disturbed=True),
        *originals("PPPP", 39, disturbed=True),
        *[a_run([C], "P")] * 10,
        *[a_run([A, B, C], "PPP")] * MAX_UNDISTURBED_RUNS,
    ]

    finding = diagnosis_of(C, *seen)

    assert (finding.kind, finding.under_load, finding.needed_runs) == (Kind.NOD, False, ())
    assert finding.evidence[0].endswith("so far only beside other runs")


def test_a_test_that_failed_undisturbed_elsewhere_did_not_fail_only_under_load():
    seen = [
        a_run([D, C], "PF"),
        *[a_run([C], "F", disturbed=True)] * 10,
        *[a_run([C], "P")] * 10,
        *originals("PPPP", 3),
    ]

    finding = diagnosis_of(C, *seen)

    assert not finding.under_load
    assert "it also failed undisturbed, after other tests" in finding.evidence


def test_a_slow_order_is_not_repeated_before_the_test_was_tried_alone():
    seen = [
        *originals("PPFP", 2, disturbed=True, durations_s=(1.0,) * 4),
        *originals("PPPP", 2, disturbed=True, durations_s=(1.0,) * 4),
        *[a_run([C], "P", disturbed=True)] * 3,
    ]

    finding = diagnosis_of(C, *seen)

    assert {plan.order for plan in finding.needed_runs} == {(C,)}
    assert all(plan.undisturbed for plan in finding.needed_runs)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_a_test_that_fails_by_chance_is_not_blamed_on_load(rate):
    kinds = Counter(
        run_hunt(seed=seed, options=BESIDE_OTHERS, g=fails_by_chance(rate)).verdict("g").kind for seed in range(6)
    )

    assert kinds == {Kind.NOD: 6}


# Brittle tests that load hides


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_a_brittle_test_that_load_makes_fail_in_the_original_order_is_still_brittle(rate, seed):
    beside_many = fails_if(lambda m: A not in m.earlier or (m.disturbed and len(m.earlier) > 4 and m.draw < rate))

    verdict = run_hunt(seed=seed, options=BESIDE_OTHERS, g=beside_many).verdict("g")

    assert (verdict.kind, verdict.state_setters, verdict.under_load) == (Kind.BRITTLE, (A,), False)


def test_no_state_setter_is_searched_for_a_test_that_failed_undisturbed_in_the_original_order():
    seen = [*originals("PPPF", 1), *[a_run([D], "F")] * 5, *originals("PPPP", 5)]

    finding = diagnosis_of(D, *seen)

    assert finding.kind is Kind.NOD


def test_a_test_that_no_other_test_makes_pass_is_blamed_on_load():
    no_test_helps = fails_if(lambda m: len(m.earlier) != 6 or (m.disturbed and m.draw < 0.5))

    verdict = run_hunt(options=BESIDE_OTHERS, g=no_test_helps).verdict("g")

    assert (verdict.kind, verdict.state_setters) == (Kind.UNRESOLVED, ())
    assert verdict.evidence[0].startswith("fails under load: ")


@pytest.mark.parametrize("rate", [0.8, 0.95])
def test_a_test_that_nearly_always_fails_is_not_called_brittle(rate):
    kinds = Counter(
        run_hunt(seed=seed, options={**BESIDE_OTHERS, "max_plans": 15 + 7 * seed}, g=fails_by_chance(rate))
        .verdict("g")
        .kind
        for seed in range(12)
    )

    assert Kind.BRITTLE not in kinds
    assert kinds[Kind.NOD] >= 6


# How many runs are enough


@pytest.mark.parametrize(("failed", "runs"), [(1, 1), (3, 3), (5, 5), (4, 10), (10, 30)])
def test_this_many_passes_rule_out_chance_and_one_less_does_not(failed, runs):
    seen = Tally(n=runs, failed=failed)

    enough = passes_that_rule_out_chance(seen, 200)

    assert not may_be_chance(seen, Tally(n=enough))
    assert may_be_chance(seen, Tally(n=enough - 1))


def test_undisturbed_runs_are_fewer_the_more_often_the_test_fails_and_the_more_they_cost():
    often, rarely = Tally(n=10, failed=10), Tally(n=10, failed=3)

    assert undisturbed_runs_for(often, 0.01) < undisturbed_runs_for(rarely, 0.01) <= MAX_UNDISTURBED_RUNS
    assert undisturbed_runs_for(rarely, 1.0) < undisturbed_runs_for(rarely, 0.01)
    assert undisturbed_runs_for(rarely, 1000.0) == 2
