"""Nothing is said that the runs do not prove, however early a hunt is cut off."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from simulator import (
    Simulator,
    always,
    fails_after,
    fails_after_all,
    fails_by_chance,
    fails_if,
    fails_in_slow_periods,
    fails_when_repeated,
    hunt,
    id_of,
    passes_only_after,
    suite_of,
)
from ten_tests import NAMES, A, B, C, D, E, F, G, K, a_run, alternating, run_hunt

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.core.records import Failure
from flakehound.core.verdicts import Cause, Kind, LikelyCause
from flakehound.hunt.diagnosis.all_polluters import AllPolluters
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.order_effects import OrderEffect, Proven, finding_of_effect
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.original_order import OriginalOrder

SUITE = suite_of("a", "b", "c", "d")
WHY = {"phase": "call", "exception": "AssertionError", "where": "t.py:1", "text": ""}


def originals(letters, times):
    return [a_run(SUITE.order, letters, setting=Setting.ORIGINAL)] * times


def history_of(*records):
    """These runs, made one after another."""
    return History(SUITE, [replace(record, started_s=float(at)) for at, record in enumerate(records)])


def diagnosis_of(test, history, **changes):
    return diagnose(Suspect(test=test, history=history, test_order=OriginalOrder(history), **changes))


def a_victim_of(*polluters, after, alone):
    effect = OrderEffect(test=B, prefix=polluters, outcome="fails")
    return finding_of_effect(Finding(test=B), effect, Proven(after=after, alone=alone))


# Hunts that are cut off


PLANTED = {
    "a": (always(Outcome.FAILED), Kind.FAILING),
    "b": (passes_only_after(K), Kind.BRITTLE),
    "c": (fails_after(G), Kind.VICTIM),
    "e": (fails_when_repeated, Kind.NON_IDEMPOTENT),
    "h": (fails_after(F), Kind.VICTIM),
    "j": (fails_by_chance(0.4), Kind.NOD),
}


def hunt_planted_suite(**options):
    return run_hunt(options=options, **{name: acts for name, (acts, _kind) in PLANTED.items()})


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("max_plans", range(1, 75, 4))
def test_however_early_a_hunt_is_cut_off_no_test_is_wrongly_called_flaky(max_plans, jobs):
    found = hunt_planted_suite(max_plans=max_plans, jobs=jobs)

    for name in NAMES:
        verdict = found.verdict(name)
        planted = PLANTED.get(name, (None, Kind.STEADY))[1]
        if verdict.kind.is_flaky:
            assert verdict.kind is planted
        if verdict.kind is Kind.FAILING:
            assert found.history.tally(id_of(name)).passed == 0
        assert set(verdict.polluters) <= {G, F}
        assert set(verdict.state_setters) <= {K}


@pytest.mark.parametrize("max_plans", range(20, 75, 9))
def test_the_counts_of_a_cut_off_hunt_are_those_of_its_runs(max_plans):
    found = hunt_planted_suite(max_plans=max_plans, jobs=2)

    for test, verdict in found.verdicts.items():
        seen = found.history.tally(test)
        for failed, runs in re.findall(r"failed (\d+) of (\d+)", " ".join(verdict.evidence)):
            assert int(failed) <= seen.failed
            assert int(runs) <= seen.n
        if verdict.replay is not None and verdict.replay.seed is None:
            prefix = verdict.replay.order[:-1]
            replayed = Tally(n=verdict.replay.runs, failed=verdict.replay.failed)
            assert replayed == found.history.tally_after(prefix, test)


def test_a_failure_seen_once_in_another_order_is_no_victim_yet():
    history = history_of(*originals("PPPP", 3), *[a_run([B], "P")] * 3, a_run([D, C, B], "PPF"))

    finding = diagnosis_of(B, history)

    assert finding.kind is Kind.UNRESOLVED
    assert finding.needed_runs


def test_a_test_that_fails_again_and_again_after_the_same_tests_is_a_victim_before_its_polluter_is_known():
    history = history_of(
        *originals("PPPP", 3),
        *alternating(a_run([B], "P"), a_run([A, D, C, B], "PPPF"), 3),
        *[a_run([B], "P")] * 2,
    )

    verdict = judge(history, [diagnosis_of(B, history)])[1]

    assert (verdict.kind, verdict.polluters) == (Kind.VICTIM, ())
    assert verdict.evidence == (
        "failed 3 of 3 after the same 3 tests, 0 of 5 alone; which tests it takes is not known yet",
    )


def test_a_test_is_no_victim_while_all_its_failures_are_in_disturbed_runs():
    history = history_of(
        *originals("PPPP", 3),
        *[a_run([A, D, C, B], "PPPF", disturbed=True)] * 3,
        *[a_run([B], "P")] * 5,
    )

    verdict = judge(history, [diagnosis_of(B, history)])[1]

    assert verdict.kind is Kind.UNRESOLVED
    assert verdict.evidence == (
        "failed 3 of 3 after the same 3 tests, 0 of 5 alone; not proven yet that the order decides",
    )


def test_a_test_that_passes_again_and_again_after_the_same_tests_is_brittle_before_its_setter_is_known():
    alone, pair = a_run([D], "F"), originals("PPPP", 2)
    history = history_of(alone, *pair, alone, *pair, alone, alone)

    early = diagnosis_of(D, history)
    for record in pair:
        history.add(replace(record, started_s=99.0))
    late = diagnosis_of(D, history)

    assert (early.kind, late.kind) == (Kind.UNRESOLVED, Kind.BRITTLE)
    assert late.state_setters == ()
    assert late.evidence == (
        "failed 4 of 4 alone, 0 of 6 after the same 3 tests; which tests it takes is not known yet",
    )


# The machine changed during the hunt


def test_a_test_that_passed_alone_only_before_its_first_failure_is_no_victim():
    history = history_of(*originals("PPPP", 30), *[a_run([B], "P")] * 30, *[a_run([C, B], "PF")] * 5)

    finding = diagnosis_of(B, history)

    assert finding.kind is Kind.UNRESOLVED
    assert [plan.order for plan in finding.needed_runs] == [(B,), (C, B)] * 2


def test_a_test_that_failed_alone_only_before_its_first_pass_is_not_brittle():
    history = history_of(*[a_run([D], "F")] * 10, *originals("PPPP", 10), *[a_run([C, D], "PP")] * 5)

    finding = diagnosis_of(D, history)

    assert finding.kind is Kind.UNRESOLVED
    assert [plan.order for plan in finding.needed_runs] == [(D,), (C, D)] * 2


@pytest.mark.parametrize(("test_s", "kind"), [(0.01, Kind.UNRESOLVED), (2.0, Kind.VICTIM)])
def test_a_slow_test_needs_fewer_alternations(test_s, kind):
    alone, after = a_run([B], "P", durations_s=(test_s,)), a_run([A, D, C, B], "PPPF", durations_s=(test_s,) * 4)
    history = history_of(*originals("PPPP", 3), alone, alone, alone, after, after, alone, alone, after)

    assert diagnosis_of(B, history).kind is kind


def timed_failure(took, **changes):
    failures = {0: Failure(**WHY, message=f"AssertionError: assert {took} < 0.51")}
    return a_run([D], "F", failures=failures, **changes)


def a_cold_start(*spawned):
    """Alone it fails in forks by its time, each time another one, and passes after another test."""
    alone, after = [timed_failure(0.52 + n / 1000) for n in range(20)], a_run([C, D], "PP")
    turns = [run for one in alone for run in (one, after)]
    return history_of(alone[0], *originals("PPPP", 3), *turns, *spawned)


@pytest.mark.parametrize("disturbed", [False, True])
def test_a_time_that_forks_miss_must_be_missed_in_many_new_interpreters_with_nothing_beside_them(disturbed):
    few = [timed_failure(0.52, isolation=Isolation.SPAWN, disturbed=disturbed)] * 4

    finding = diagnosis_of(D, a_cold_start(*few))

    assert finding.kind is Kind.UNRESOLVED
    assert all(plan.undisturbed and plan.isolation is Isolation.SPAWN for plan in finding.needed_runs)
    assert [plan.order for plan in finding.needed_runs] == [(D,)] * 4


def test_a_time_that_forks_miss_and_a_new_interpreter_does_not_makes_no_test_brittle():
    mixed = [*[timed_failure(0.52, isolation=Isolation.SPAWN)] * 6, a_run([D], "P", isolation=Isolation.SPAWN)]

    assert diagnosis_of(D, a_cold_start(*mixed)).kind is not Kind.BRITTLE


def test_a_time_that_is_missed_wherever_it_runs_alone_makes_a_test_brittle():
    every = [timed_failure(0.52, isolation=Isolation.SPAWN)] * 12

    finding = diagnosis_of(D, a_cold_start(*every))

    assert finding.kind is Kind.BRITTLE
    assert finding.state_setters == (C,)


@pytest.mark.parametrize(("seconds", "wanted"), [((0.53, 0.53), 0), ((0.53, 0.54), 15)])
def test_a_test_whose_failures_name_other_times_each_time_must_fail_alone_more_often(seconds, wanted):
    alone = [timed_failure(took) for took in seconds]
    spawned = replace(alone[0], isolation=Isolation.SPAWN)
    after, first = a_run([C, D], "PP"), [alone[0], *originals("PPPP", 3)]
    history = history_of(*first, *alternating(alone[1], after, 4), after, *[spawned] * 4)

    finding = diagnosis_of(D, history)

    assert [plan.order for plan in finding.needed_runs] == [(C, D)] * wanted


@pytest.mark.parametrize(
    ("seed", "mean_s"), [(51, 0.2), (42, 0.5), (160, 0.5), (167, 1.0), (147, 4.0), (204, 4.0)]
)
def test_slow_periods_of_the_machine_are_no_reason_to_blame_an_order(seed, mean_s):
    """Each of these hunts once called the test a victim or brittle: the slow periods fell on one of two orders."""
    rng = random.Random(seed)
    simulator = Simulator(
        suite_of(*"abcdefghij"),
        {D: fails_in_slow_periods(seed, mean_s)},
        seed=seed,
        test_s={D: rng.choice([0.001, 0.03, 0.1])},
    )

    found = hunt(simulator, hunt_seed=seed, jobs=rng.choice([1, 2]), max_plans=rng.randrange(20, 60))

    assert found.verdict("d").kind in (Kind.NOD, Kind.UNRESOLVED)


@pytest.mark.parametrize("at_plan", range(5, 60, 6))
def test_an_environment_that_breaks_in_the_middle_of_a_hunt_is_blamed_on_no_test(at_plan):
    simulator = Simulator(suite_of(*NAMES), {})
    simulator.behaviours = {C: fails_if(lambda _m: len(simulator.started) > at_plan)}

    for later in (2, 6, 12, 25):
        found = hunt(simulator, max_plans=at_plan + later, jobs=1)
        assert found.verdict("c").polluters == ()
        simulator.started.clear()


# Settled, and still not explained


def test_a_settled_case_does_not_say_that_the_time_did_not_suffice():
    history = history_of(*originals("PPPP", 3))

    unfinished, settled = (
        judge(history, [Finding(test=A, needed_runs=wanted)])[0].evidence[0]
        for wanted in ((a_run([A], "P"),), ())  # whatever is wanted
    )

    assert "time did not suffice" in unfinished
    assert "time" not in settled


def test_every_unresolved_test_of_a_settled_hunt_says_something_else_than_that_the_time_was_short():
    classes = [f"t.py::{name}::{test}" for name in ("One", "Two") for test in ("a", "b", "c")]
    last = fails_if(lambda m: m.following is None or m.following.rpartition("::")[0] != "t.py::One", Outcome.ERROR)
    simulator = Simulator(suite_of(*classes), {id_of(classes[1]): last})

    found = hunt(simulator)

    verdict = found.verdict(classes[1])
    assert found.settled
    assert verdict.kind is Kind.UNRESOLVED
    assert verdict.evidence[0].endswith("no order that ends with it was found to make it pass")


def test_a_test_that_passed_in_a_probe_is_not_called_failing():
    history = history_of(*originals("FPPP", 3), a_run([B, A], "PP"))

    verdict = judge(history, [Finding(test=A)])[0]

    assert verdict.kind is Kind.UNRESOLVED
    assert verdict.evidence[0].startswith("failed 3 of 4 runs")


def test_a_test_that_never_passed_is_failing_even_if_the_original_order_was_never_run():
    history = history_of(*[a_run([D], "F")] * 3, *[a_run(order, "PPPF") for order in ([A, B, C, D], [B, C, A, D])])
    for other in (A, B, C):
        history.add(a_run([other, D], "PF"))

    verdict = judge(history, [diagnosis_of(D, history, trust_first_failure=True)])[3]

    assert verdict.kind is Kind.FAILING
    assert verdict.evidence == ("failed all of 8 runs",)


# Forks that behave otherwise than new interpreters


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("isolation", list(Isolation))
def test_forks_and_new_interpreters_that_disagree_in_the_original_order_only_make_no_test_flaky(isolation, jobs):
    found = run_hunt(g=fails_if(lambda m: m.isolation is isolation and A in m.earlier), options={"jobs": jobs})

    assert found.verdict("g").kind is Kind.UNRESOLVED
    assert "forks do not tell about it" in found.verdict("g").evidence[0]
    assert found.settled


# Randomness


def test_a_victim_that_fails_often_is_not_blamed_on_its_random_seed():
    causes = [
        likely.cause
        for rate in (0.5, 0.8)
        for seed in range(3)
        for likely in run_hunt(seed=seed, g=fails_after(A, rate=rate)).verdict("g").causes
    ]

    assert set(causes) == {Cause.TEST_ORDER}


def test_a_random_seed_is_reported_with_the_counts_of_other_seeds():
    verdict = run_hunt(c=fails_if(lambda m: m.seed % 3 == 0)).verdict("c")

    (likely,) = verdict.causes
    counts = re.fullmatch(r"failed (\d+) of \1 with random seed \d+, (\d+) of (\d+) with others", likely.evidence)
    assert counts is not None
    assert int(counts[2]) < int(counts[3])


# One polluter instead of several


def test_a_single_polluter_that_always_suffices_takes_its_rate_from_its_own_runs():
    history = history_of(*[a_run([B], "P")] * 5, *[a_run([C, B], "PF")] * 3)
    joint = a_victim_of(A, D, after=Tally(n=10, failed=4), alone=Tally(n=5))

    (case,) = AllPolluters(history, [joint], SUITE.order, Isolation.FORK).completion().findings

    words = f"failed 3 of 3 after {C}, passed 5 of 5 alone"
    assert (case.polluters, case.joint, case.pollution_rate) == ((C,), False, None)
    assert case.evidence == (words,)
    assert case.causes == (LikelyCause(cause=Cause.TEST_ORDER, evidence=words),)


def test_a_single_polluter_takes_the_place_of_several_only_with_an_undisturbed_failure():
    history = history_of(*[a_run([B], "P")] * 5, *[a_run([C, B], "PF", disturbed=True)] * 3)
    joint = a_victim_of(A, D, after=Tally(n=5, failed=5), alone=Tally(n=5))

    completion = AllPolluters(history, [joint], SUITE.order, Isolation.FORK).completion()

    (case,) = completion.findings
    assert (case.polluters, case.joint) == ((A, D), True)
    assert [(plan.order, plan.undisturbed) for plan in completion.needed_runs] == [((C, B), True)]


def test_joint_polluters_are_proven_with_two_jobs_as_well():
    found = run_hunt(options={"jobs": 2}, c=fails_after_all(G, E))

    assert set(found.verdict("c").polluters) == {G, E}
    assert found.verdict("c").joint
