"""Failures that the hunt itself or the environment causes are not called flaky or blamed on another test."""

from __future__ import annotations

from collections import Counter

import pytest
from simulator import always, fails_after, fails_by_chance, fails_if, id_of
from ten_tests import NAMES, C, G, H, K, run_hunt

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation
from flakehound.core.verdicts import Kind


def blamed_tests(found):
    return {test for test, verdict in found.verdicts.items() if verdict.polluters or verdict.state_setters}


# The teardown of a class or module runs with the last test that needs it

CLASSES = [f"t.py::{name}::{test}" for name in ("One", "Two") for test in ("a", "b", "c")]


def errors_as_last_of_its_class(moment):
    home = moment.test.rpartition("::")[0]
    stays = moment.following is not None and moment.following.rpartition("::")[0] == home
    return Outcome.PASSED if stays else Outcome.ERROR


def test_a_class_whose_teardown_fails_makes_no_test_flaky():
    found = run_hunt(CLASSES, **dict.fromkeys(CLASSES[:3], errors_as_last_of_its_class))

    assert not any(verdict.kind.is_flaky for verdict in found.verdicts.values())
    assert blamed_tests(found) == set()
    assert found.settled


def test_a_test_that_passes_unless_it_is_the_last_of_its_class_is_not_brittle():
    found = run_hunt(CLASSES, **{CLASSES[1]: errors_as_last_of_its_class})

    assert not found.verdict(CLASSES[1]).kind.is_flaky


def test_other_tests_of_a_class_whose_teardown_fails_are_still_judged():
    found = run_hunt(
        CLASSES, **{CLASSES[2]: errors_as_last_of_its_class, CLASSES[3]: fails_after(id_of(CLASSES[5]))}
    )

    assert found.verdict(CLASSES[3]).polluters == (id_of(CLASSES[5]),)


# Failures only while other processes of ours run


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.9])
def test_a_test_that_fails_only_beside_others_fails_under_load_and_is_not_flaky(rate):
    found = run_hunt(c=fails_if(lambda m: m.disturbed and m.draw < rate), options={"jobs": 2})

    verdict = found.verdict("c")
    assert verdict.kind is Kind.UNRESOLVED
    assert verdict.under_load
    assert "under load" in verdict.evidence[0]
    assert verdict.polluters == ()


def test_a_failure_in_a_disturbed_run_is_repeated_undisturbed():
    found = run_hunt(c=fails_if(lambda m: m.disturbed and m.draw < 0.5), options={"jobs": 2})

    alone = [disturbed for plan, disturbed in found.simulator.started if plan.undisturbed]
    assert len(alone) >= 5
    assert not any(alone)


@pytest.mark.parametrize("seed", range(3))
def test_a_test_that_fails_with_and_without_load_is_nod(seed):
    found = run_hunt(seed=seed, c=fails_by_chance(0.3), options={"jobs": 2})

    assert found.verdict("c").kind is Kind.NOD
    assert not found.verdict("c").under_load


def test_a_test_that_always_fails_beside_others_is_not_flaky():
    found = run_hunt(c=fails_if(lambda m: m.disturbed), options={"jobs": 2})

    assert not found.verdict("c").kind.is_flaky


ALL = "abcdefghijkl"


def test_where_many_tests_fail_beside_others_runs_go_one_at_a_time_and_the_rest_is_found():
    beside = dict.fromkeys("bcdefhij", fails_if(lambda m: m.disturbed))
    found = run_hunt(ALL, g=fails_after(K), l=fails_by_chance(0.2), **beside, options={"jobs": 2})

    started = [disturbed for _plan, disturbed in found.simulator.started]
    assert any(started[: len(started) // 4])
    assert not any(started[len(started) // 2 :])
    assert found.verdict("g").polluters == (K,)
    assert found.verdict("l").kind is Kind.NOD
    kinds = {found.verdict(test).kind for test in beside}
    assert kinds == {Kind.UNRESOLVED}


def test_only_a_few_of_many_tests_that_fail_under_load_are_examined():
    beside = dict.fromkeys("bcdefhij", fails_if(lambda m: m.disturbed))
    found = run_hunt(ALL, **beside, options={"jobs": 2})

    asked = Counter(plan.order[-1] for plan, _disturbed in found.simulator.started if plan.undisturbed)
    assert sum(times > 2 for times in asked.values()) == 3
    assert len(asked) == len(beside)
    assert all(found.verdict(test).under_load for test in beside), "the runs that go one at a time prove it anyway"


def test_two_tests_that_fail_beside_others_slow_nothing_down():
    beside = dict.fromkeys("bc", fails_if(lambda m: m.disturbed))
    found = run_hunt(ALL, **beside, options={"jobs": 2})

    started = [disturbed for _plan, disturbed in found.simulator.started]
    assert any(started[len(started) // 2 :])
    assert all(found.verdict(test).under_load for test in beside)


# A fork of an old session is not a fresh one


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("onset_s", [0.02, 0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
def test_a_test_that_fails_once_the_forked_session_is_old_is_not_flaky(onset_s, jobs):
    found = run_hunt(c=fails_if(lambda m: m.age_s > onset_s), options={"jobs": jobs})

    assert not found.verdict("c").kind.is_flaky
    assert found.verdict("c").polluters == ()


@pytest.mark.parametrize("onset_s", [3.0, 6.0, 10.0, 15.0, 20.0, 25.0])
def test_a_session_that_ages_late_in_a_long_hunt_is_blamed_on_no_test(onset_s):
    found = run_hunt(c=fails_if(lambda m: m.age_s > onset_s), options={"endless": True, "time_left_s": 30.0})

    assert not found.verdict("c").kind.is_flaky
    assert found.verdict("c").polluters == ()


@pytest.mark.parametrize(("fork", "spawn"), [(Outcome.PASSED, Outcome.FAILED), (Outcome.FAILED, Outcome.PASSED)])
def test_a_test_on_which_forks_and_new_interpreters_disagree_is_not_flaky(fork, spawn):
    found = run_hunt(c=lambda m: fork if m.isolation is Isolation.FORK else spawn)

    assert not found.verdict("c").kind.is_flaky
    assert found.verdict("c").polluters == ()
    assert found.settled


# Crashes and hangs


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.TIMED_OUT])
def test_a_test_that_always_ends_its_process_is_failing_and_the_rest_is_judged(outcome):
    found = run_hunt(d=always(outcome), g=fails_after(K), h=fails_by_chance(0.3))

    assert found.verdict("d").kind is Kind.FAILING
    assert found.verdict("g").polluters == (K,)
    assert found.verdict("h").kind is Kind.NOD
    assert found.settled


def test_a_test_that_crashes_now_and_then_is_nod_and_the_rest_is_judged():
    found = run_hunt(d=fails_if(lambda m: m.draw < 0.3, Outcome.CRASHED), g=fails_after(K))

    assert found.verdict("d").kind is Kind.NOD
    assert found.verdict("g").polluters == (K,)


def test_tests_after_a_crash_are_seen_in_later_runs():
    found = run_hunt(a=always(Outcome.CRASHED))

    assert all(found.verdict(name).tallies and found.history.tally(id_of(name)).n > 20 for name in "bcdefghkj")


def test_several_crashing_tests_are_all_reported():
    found = run_hunt(**dict.fromkeys("adgj", always(Outcome.CRASHED)))

    assert [found.verdict(name).kind for name in "adgj"] == [Kind.FAILING] * 4
    assert found.settled


def test_a_suite_in_which_every_test_crashes_comes_to_an_end():
    found = run_hunt(**dict.fromkeys(NAMES, always(Outcome.CRASHED)))

    assert found.settled
    assert {verdict.kind for verdict in found.verdicts.values()} == {Kind.FAILING}


# Skips are no outcomes and must not keep a hunt waiting


def skips_after_c_else(outcome_of):
    return lambda m: Outcome.SKIPPED if C in m.earlier else outcome_of(m)


@pytest.mark.parametrize(
    "behaviour",
    [
        skips_after_c_else(always(Outcome.FAILED)),
        skips_after_c_else(fails_by_chance(0.5)),
        skips_after_c_else(fails_after(H)),
        lambda m: Outcome.SKIPPED if m.draw < 0.5 else (Outcome.FAILED if m.draw < 0.75 else Outcome.PASSED),
        lambda m: Outcome.SKIPPED if m.isolation is Isolation.SPAWN else Outcome.FAILED,
        lambda m: Outcome.SKIPPED if m.isolation is Isolation.SPAWN or m.age_s < 0.3 else Outcome.FAILED,
        lambda m: Outcome.SKIPPED if not m.earlier else Outcome.FAILED,
        lambda m: Outcome.SKIPPED if G in m.earlier else Outcome.FAILED,
        lambda m: Outcome.SKIPPED if not m.disturbed else (Outcome.FAILED if m.draw < 0.5 else Outcome.PASSED),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_test_that_sometimes_skips_itself_does_not_keep_the_hunt_from_ending(behaviour, jobs):
    found = run_hunt(g=behaviour, options={"jobs": jobs}, d=fails_after(K))

    assert found.settled
    assert found.verdict("d").polluters == (K,)
    assert all(culprits.polluters in ((), (H,)) for culprits in [found.verdict("g")])


def test_new_interpreters_that_only_skip_are_no_proof_of_ageing():
    found = run_hunt(g=lambda m: Outcome.SKIPPED if m.isolation is Isolation.SPAWN else _aged(m))

    assert "0 of 0" not in found.verdict("g").evidence[0]


def _aged(moment):
    return Outcome.FAILED if moment.age_s > 0.3 else Outcome.PASSED


def test_a_hunt_of_a_suite_that_skips_everything_ends_without_findings():
    found = run_hunt(**dict.fromkeys(NAMES, always(Outcome.SKIPPED)))

    assert found.settled
    assert found.verdict("a").evidence == ("never ran to an outcome",)


def test_a_suite_of_one_test_comes_to_an_end():
    assert run_hunt(["a"]).settled
    assert run_hunt(["a"], a=always(Outcome.FAILED)).verdict("a").kind is Kind.FAILING
    assert run_hunt(["a"], a=fails_by_chance(0.4)).verdict("a").kind is Kind.NOD
