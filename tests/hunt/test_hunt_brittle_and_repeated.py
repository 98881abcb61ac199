"""Brittle and non-idempotent tests, and suites with tests of all kinds."""

from __future__ import annotations

from kind_samples import kinds
from simulator import (
    always,
    fails_after,
    fails_by_chance,
    fails_by_hash_seed,
    fails_if,
    fails_when_repeated,
    id_of,
    passes_only_after,
    passes_only_after_all,
)
from ten_tests import NAMES, A, C, D, E, F, G, H, J, K, run_hunt

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.core.verdicts import Kind

# Brittle tests


def test_a_test_that_fails_alone_and_passes_after_another_is_brittle():
    found = run_hunt(g=passes_only_after(C))

    verdict = found.verdict("g")
    assert kinds(found) == {"g": Kind.BRITTLE}
    assert verdict.state_setters == (C,)
    assert verdict.polluters == ()
    assert verdict.minimal_order == (C, G)
    assert verdict.replay is not None
    assert verdict.replay.order == (G,)


def test_all_state_setters_are_named():
    found = run_hunt(g=passes_only_after(C, D))

    assert kinds(found) == {"g": Kind.BRITTLE}
    assert set(found.verdict("g").state_setters) == {C, D}
    assert not found.verdict("g").joint


def test_state_setters_that_are_needed_together_are_named_together():
    found = run_hunt(g=passes_only_after_all(C, E))

    assert kinds(found) == {"g": Kind.BRITTLE}
    assert found.verdict("g").state_setters == (C, E)
    assert found.verdict("g").joint


def test_a_test_whose_state_setter_comes_later_in_the_original_order_is_brittle():
    found = run_hunt(c=passes_only_after(G))

    assert kinds(found) == {"c": Kind.BRITTLE}
    assert found.verdict("c").state_setters == (G,)


def test_a_first_test_that_is_brittle_is_no_failing_test():
    found = run_hunt(a=passes_only_after(J))

    assert kinds(found) == {"a": Kind.BRITTLE}
    assert found.verdict("a").state_setters == (J,)


def test_a_brittle_test_in_another_file_than_its_setter_is_found():
    names = [f"{module}.py::{name}" for module in "xyz" for name in "abc"]
    needs = id_of("z.py::c")

    found = run_hunt(names, **{"x.py::b": passes_only_after(needs)})

    assert found.verdict("x.py::b").state_setters == (needs,)


# Non-idempotent tests


def test_a_test_that_fails_when_it_runs_again_is_non_idempotent():
    found = run_hunt(c=fails_when_repeated)

    verdict = found.verdict("c")
    assert kinds(found) == {"c": Kind.NON_IDEMPOTENT}
    assert verdict.minimal_order == (C, C)
    assert verdict.replay is not None
    assert verdict.replay.order == (C, C)


def test_every_test_may_be_non_idempotent_without_any_being_a_victim():
    found = run_hunt(**dict.fromkeys(NAMES, fails_when_repeated))

    assert set(kinds(found).values()) == {Kind.NON_IDEMPOTENT}
    assert len(kinds(found)) == len(NAMES)


def test_a_test_that_fails_sometimes_when_repeated_is_not_blamed_on_other_tests():
    found = run_hunt(c=fails_if(lambda m: C in m.earlier and m.draw < 0.6))

    assert found.verdict("c").kind in (Kind.NON_IDEMPOTENT, Kind.STEADY)
    assert found.verdict("c").polluters == ()


# All kinds in one suite


def test_all_kinds_in_one_suite_are_told_apart():
    found = run_hunt(
        a=always(Outcome.FAILED),
        b=passes_only_after(K),
        c=fails_after(G),
        d=fails_by_chance(0.3),
        e=fails_when_repeated,
        h=passes_only_after(F),
        j=fails_by_hash_seed(),
    )

    assert kinds(found) == {
        "a": Kind.FAILING,
        "b": Kind.BRITTLE,
        "c": Kind.VICTIM,
        "d": Kind.NOD,
        "e": Kind.NON_IDEMPOTENT,
        "h": Kind.BRITTLE,
        "j": Kind.NOD,
    }
    assert found.verdict("c").polluters == (G,)
    assert found.verdict("b").state_setters == (K,)


def test_a_hunt_with_two_processes_at_once_finds_the_same():
    planted = {"c": fails_after(G), "d": fails_by_chance(0.3), "e": fails_when_repeated, "h": passes_only_after(F)}

    found = run_hunt(options={"jobs": 2}, **planted)

    assert kinds(found) == {"c": Kind.VICTIM, "d": Kind.NOD, "e": Kind.NON_IDEMPOTENT, "h": Kind.BRITTLE}


def test_an_endless_hunt_names_all_polluters_and_cleaners_before_its_time_is_up():
    found = run_hunt(c=fails_after(G, H, K, cleaners=[A]), options={"endless": True, "time_left_s": 30.0})

    assert set(found.verdict("c").polluters) == {G, H, K}
    assert found.verdict("c").cleaners == (A,)


def test_a_verdict_counts_runs_by_setting_as_the_history_does():
    found = run_hunt(c=fails_after(G))

    verdict = found.verdict("c")
    assert verdict.tallies == {setting: found.history.tally(C, setting) for setting in Setting}


def test_a_test_that_fails_alone_only_in_forks_is_not_called_brittle():
    def cold(moment):
        failing = not moment.earlier and moment.isolation is Isolation.FORK
        return Outcome.FAILED if failing else Outcome.PASSED

    found = run_hunt(g=cold)

    assert found.verdict("g").kind in (Kind.UNRESOLVED, Kind.NOD)
    assert "new interpreter" in found.verdict("g").evidence[0]
