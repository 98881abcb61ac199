"""Searches over selected tests: which runs are left out."""

from __future__ import annotations

from simulator import Simulator, fails_after, fails_by_chance, hunt, id_of, suite_of

from flakehound.core.plans import Setting, SharedPrefix
from flakehound.core.verdicts import Kind
from flakehound.hunt.options import Candidates

SUITE = suite_of(*"abcdefghij")


def run_hunt(candidates, **behaviours):
    planted = {id_of(name): acts for name, acts in behaviours.items()}
    return hunt(Simulator(SUITE, planted, seed=2), policy="cannier", candidates=candidates, hash_seeds=False)


def ids(*names):
    return frozenset(id_of(name) for name in names)


def test_only_the_chosen_tests_are_rerun_beyond_the_first_look():
    found = run_hunt(Candidates(reruns=ids("c", "d")))

    runs = {test: found.history.tally(test, Setting.ALONE).n for test in SUITE.order}
    originals = [plan for plan, _disturbed in found.simulator.started if plan.setting is Setting.ORIGINAL]
    assert min(runs[id_of("c")], runs[id_of("d")]) > 2 * max(runs[id_of(name)] for name in "efg")
    assert len(originals) == 3


def test_only_pairs_of_possible_polluters_and_possible_victims_are_run():
    found = run_hunt(Candidates(victims=ids("a"), polluters=ids("i", "j")))

    pairs = {
        (plan.prefix, test)
        for plan, _disturbed in found.simulator.started
        if isinstance(plan, SharedPrefix)
        for test in plan.continuations
    }
    assert pairs == {((id_of("i"),), (id_of("a"),)), ((id_of("j"),), (id_of("a"),))}


def test_without_a_selection_all_tests_are_candidates():
    found = run_hunt(Candidates(), c=fails_by_chance(0.2), g=fails_after(id_of("i")))

    assert found.verdict("c").kind is Kind.NOD
    assert found.verdict("g").kind is Kind.VICTIM


def test_a_kind_that_the_model_is_sure_of_saves_the_runs_that_would_prove_it():
    left_to_runs = run_hunt(Candidates(), g=fails_after(id_of("i")))
    left_to_model = run_hunt(Candidates(assumed_kinds={id_of("g"): "victim"}), g=fails_after(id_of("i")))

    verdict = left_to_model.verdict("g")
    assert verdict.kind is Kind.UNRESOLVED
    assert any("takes it for a victim" in words for words in verdict.evidence)
    assert left_to_model.processes < left_to_runs.processes


def test_a_hunt_without_tests_to_rerun_comes_to_an_end():
    assert run_hunt(Candidates(reruns=frozenset())).settled
