"""The diagnosis of one test, step by step: which runs it needs, what it concludes, and what that costs."""

from __future__ import annotations

from math import log2

import pytest
from simulator import TEST_S, Simulator, fails_after, fails_after_all, id_of, suite_of
from ten_tests import A, B, C, D, a_run, alternating

from flakehound.core.history import History, Tally
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.core.records import Failure
from flakehound.core.verdicts import Kind
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.diagnosis.diagnose import diagnose
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.questions import NeedRuns, Questions, answer_to
from flakehound.hunt.diagnosis.suspect import Suspect
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder

SUITE = suite_of("a", "b", "c", "d")


def an_original(letters, **changes):
    return a_run(SUITE.order, letters, setting=Setting.ORIGINAL, **changes)


def history_of(*records):
    return History(SUITE, records)


def diagnosis_of(test, history, **changes):
    return diagnose(Suspect(test=test, history=history, test_order=OriginalOrder(history), **changes))


def orders_of(plans):
    return [plan.order for plan in plans]


# Questions


def test_a_question_that_the_history_answers_needs_no_runs():
    ask = Questions(history=history_of(a_run([A, B], "PF")))

    assert answer_to(ask.tally_of_last((A, B), why="")) == Tally(n=1, failed=1)


def test_a_missing_answer_becomes_as_many_plans_as_are_missing():
    ask = Questions(history=history_of(a_run([A, B], "PF")), isolation=Isolation.SPAWN)

    need = answer_to(ask.tally_of_last((A, B), times=3, why="what does b do?"))

    assert orders_of(need.plans) == [(A, B)] * 2
    assert {plan.isolation for plan in need.plans} == {Isolation.SPAWN}
    assert {plan.why for plan in need.plans} == {"what does b do?"}


def test_what_is_missing_of_several_questions_is_asked_for_at_once():
    ask = Questions(history=history_of(a_run([A, B], "PF")))

    need = answer_to(ask.tallies_of_last([(A, B), (C, B), (D, B)], why=""))

    assert orders_of(need.plans) == [(C, B), (D, B)]


def test_a_question_about_a_single_test_is_a_run_alone_and_any_other_a_probe():
    ask = Questions(history=history_of())

    for order, setting in (((A,), Setting.ALONE), ((B, A), Setting.PROBE)):
        need = answer_to(ask.tally_of_last(order, why=""))
        assert need.plans[0].setting is setting


def test_undisturbed_answers_are_asked_for_where_only_disturbed_ones_are_known():
    ask = Questions(history=history_of(a_run([A], "F", disturbed=True)))

    need = answer_to(ask.tally_of_last((A,), why="", undisturbed=True))

    assert need.plans[0].undisturbed


def test_a_test_that_never_has_an_outcome_is_not_run_forever():
    history = history_of()
    ask = Questions(history=history)

    for _attempt in range(30):
        answer = answer_to(ask.tally_of_last((A, B), times=3, why=""))
        if not isinstance(answer, NeedRuns):
            break
        for plan in answer.plans:
            history.add(a_run(plan.order, "PS"))

    assert answer == Tally()


# Runs that a diagnosis needs


def test_after_a_single_failure_in_another_order_a_diagnosis_asks_for_clean_runs():
    history = history_of(an_original("PPPP"), a_run([D, C, B, A], "PPFP", setting=Setting.SHUFFLED))

    finding = diagnosis_of(B, history)

    assert finding.kind is Kind.UNRESOLVED
    assert orders_of(finding.needed_runs) == [SUITE.order] * 2
    assert {plan.setting for plan in finding.needed_runs} == {Setting.ORIGINAL}


def test_after_clean_runs_a_diagnosis_asks_for_runs_alone():
    history = history_of(*[an_original("PPPP")] * 3, a_run([D, C, B, A], "PPFP", setting=Setting.SHUFFLED))

    finding = diagnosis_of(B, history)

    assert orders_of(finding.needed_runs) == [(B,)] * 3


def test_after_runs_alone_a_diagnosis_repeats_the_failing_order():
    history = history_of(
        *[an_original("PPPP")] * 3, *[a_run([B], "P")] * 3, a_run([D, C, B, A], "PPFP", setting=Setting.SHUFFLED)
    )

    finding = diagnosis_of(B, history)

    assert set(orders_of(finding.needed_runs)) == {(D, C, B)}


def test_the_search_for_a_polluter_starts_with_the_test_right_before():
    history = history_of(
        *[an_original("PPPP")] * 3,
        *[a_run([B], "P")] * 3,
        *[a_run([D, C, B, A], "PPFP", setting=Setting.SHUFFLED)] * 3,
    )

    finding = diagnosis_of(B, history)

    assert finding.kind is Kind.UNRESOLVED
    assert finding.polluters == ()
    assert orders_of(finding.needed_runs)[0] == (C, B)


def test_a_polluter_known_from_another_case_is_tried_before_halving():
    prefix = (A, C, D)
    history = history_of(
        *[an_original("PPPP")] * 3,
        *[a_run([B], "P")] * 3,
        *[a_run([*prefix, B], "PPPF")] * 3,
        a_run([D, B], "PP"),
    )

    finding = diagnosis_of(B, history, known_polluters=[A])

    assert orders_of(finding.needed_runs)[0] == (A, B)


def test_a_diagnosis_concludes_when_the_shortest_order_is_confirmed():
    history = history_of(*[an_original("PPPP")] * 3, *alternating(a_run([C, B], "PF"), a_run([B], "P"), 5))

    finding = diagnosis_of(B, history)

    assert (finding.kind, finding.polluters, finding.needed_runs) == (Kind.VICTIM, (C,), ())
    assert finding.minimal_order == (C, B)
    assert finding.replay is not None
    assert (finding.replay.failed, finding.replay.runs) == (5, 5)


def test_a_victim_in_the_original_order_needs_the_same_evidence():
    history = history_of(*[an_original("PFPP")] * 3, *alternating(a_run([A, B], "PF"), a_run([B], "P"), 5))

    finding = diagnosis_of(B, history)

    assert (finding.kind, finding.polluters, finding.needed_runs) == (Kind.VICTIM, (A,), ())


def test_a_proven_case_needs_no_more_runs():
    history = history_of(*[an_original("PPPP")] * 3, *alternating(a_run([C, B], "PF"), a_run([B], "P"), 5))
    agenda = Agenda(history, SearchOptions(seed=1), lambda: 10.0)

    assert agenda.follow_ups() == []


def test_two_failures_in_the_original_order_and_one_alone_suffice_to_call_a_test_failing():
    history = history_of(*[an_original("PFPP")] * 3, a_run([B], "F"))

    finding = diagnosis_of(B, history)

    assert finding.kind in (Kind.FAILING, Kind.UNRESOLVED)
    assert judge(history, [finding])[1].kind is Kind.FAILING


def test_the_same_plan_needed_by_two_suspects_is_run_once():
    history = history_of(a_run([D, C, B, A], "PPFF", setting=Setting.SHUFFLED))
    agenda = Agenda(history, SearchOptions(seed=1), lambda: 10.0)

    originals = [plan for plan in agenda.follow_ups() if plan.setting is Setting.ORIGINAL]

    assert len(originals) == 3


def test_what_was_found_survives_a_killed_hunt():
    records = [*[an_original("PPPP")] * 3, *alternating(a_run([C, B], "PF"), a_run([B], "P"), 5)]
    options = SearchOptions(seed=1)

    before, after = (Agenda(history_of(*records), options, lambda: 0.0).conclude() for _hunt in range(2))

    assert before == after
    assert before[0].polluters == (C,)


# What a search costs


def run_search(size, *, test_s=TEST_S, behaviour=fails_after, culprits=1, trust_first_failure=True):
    """The finding about one victim after a search that trusts its first failure, and the plans it started."""
    names = [f"n{number}" for number in range(size)]
    victim = id_of(names[size // 3])
    guilty = [id_of(names[(size * 5) // 7 + step]) for step in range(culprits)]
    simulator = Simulator(
        suite_of(*names), {victim: behaviour(*guilty)}, test_s=dict.fromkeys(map(id_of, names), test_s)
    )
    history = History(simulator.suite)
    others = tuple(test for test in simulator.suite.order if test != victim)
    first = [SingleRun(order=order, why="", setting=Setting.PROBE) for order in ((victim,), (*others, victim))]
    wanted = first
    while wanted and len(simulator.started) < 40 * size:
        for plan in wanted:
            for record in simulator.run(plan):
                history.add(record)
        finding = diagnosis_of(victim, history, trust_first_failure=trust_first_failure)
        wanted = finding.needed_runs
    return finding, guilty, [plan for plan, _ in simulator.started]


@pytest.mark.parametrize("size", [16, 64, 256])
def test_one_polluter_is_found_in_two_runs_per_halving_and_a_dozen_to_prove_it(size):
    finding, guilty, started = run_search(size)

    assert finding.polluters == tuple(guilty)
    assert len(started) <= 2 * log2(size) + 16


def test_the_search_itself_costs_at_most_two_runs_per_halving_and_a_few_guesses():
    _finding, _guilty, started = run_search(256)

    probes = [plan for plan in started if plan.why.startswith("which earlier tests")]
    assert len(probes) <= 2 * log2(256) + 4


def test_joint_polluters_among_256_tests_are_found_in_few_runs():
    finding, guilty, started = run_search(256, behaviour=fails_after_all, culprits=2)

    assert sorted(finding.polluters) == sorted(guilty)
    assert len(started) <= 150


def test_a_search_that_trusts_the_first_failure_proves_the_polluter_of_slow_tests_too():
    finding, guilty, _started = run_search(16, test_s=0.4)

    assert finding.kind is Kind.VICTIM
    assert finding.polluters == tuple(guilty)


# Verdicts


def test_a_test_that_never_failed_is_steady_with_its_count():
    history = history_of(*[an_original("PPPP")] * 3)

    verdicts = judge(history, [])

    assert [verdict.id for verdict in verdicts] == list(SUITE.order)
    assert {verdict.kind for verdict in verdicts} == {Kind.STEADY}
    assert verdicts[0].evidence == ("passed 3 of 3 runs",)


def test_probes_and_repetitions_are_not_in_the_failure_rate():
    history = history_of(*[an_original("PPPP")] * 3, a_run([B, A], "PF"), a_run([A, A], "PF"))

    verdict = judge(history, [Finding(test=A)])[0]

    assert verdict.rate.mean == 0.0
    assert verdict.tallies[Setting.PROBE].failed == 1
    assert verdict.tallies[Setting.REPEATED].failed == 1


def test_an_unfinished_case_that_only_ever_failed_is_called_failing():
    history = history_of(*[an_original("FPPP")] * 3)

    verdict = judge(history, [Finding(test=A)])[0]

    assert verdict.kind is Kind.FAILING
    assert verdict.evidence == ("failed all of 3 runs",)


def test_an_unfinished_case_is_unresolved_and_says_so():
    history = history_of(an_original("FPPP"), an_original("PPPP"))

    verdict = judge(history, [Finding(test=A)])[0]

    assert verdict.kind is Kind.UNRESOLVED
    assert verdict.evidence[0].startswith("failed 1 of 2 runs")


def failure(message, place=0):
    return {place: Failure(phase="call", exception="E", message=message, where="", text="")}


def test_a_failure_by_chance_does_not_hide_the_polluter_of_another_failure():
    by_chance = a_run([A, D], "PF", failures=failure("the clock went on", 1))
    by_order = a_run([B, D], "PF", failures=failure("no such file", 1))
    history = history_of(
        *(an_original("PPPP") for _ in range(3)), by_chance, *(a_run([A, D], "PP") for _ in range(4)),
        *alternating(by_order, a_run([D], "P"), 8),
    )  # fmt: skip

    finding = diagnosis_of(D, history)

    assert finding.kind is Kind.VICTIM
    assert finding.polluters == (B,)


def test_a_test_that_fails_by_chance_in_only_one_way_is_nod_after_any_tests():
    by_chance = a_run([A, D], "PF", failures=failure("the clock went on", 1))
    again = a_run([B, D], "PF", failures=failure("the clock went on", 1))
    passes = [a_run(order, "P" * len(order)) for order in ([A, D], [B, D], [D]) for _ in range(12)]
    history = history_of(*(an_original("PPPP") for _ in range(3)), by_chance, *passes, again)

    assert diagnosis_of(D, history).kind is not Kind.VICTIM


def test_failures_are_grouped_by_signature_the_most_frequent_first():
    history = history_of(
        a_run([A], "F", failures=failure("one")),
        a_run([A], "F", failures=failure("two at 0x11")),
        a_run([A], "F", failures=failure("two at 0x22")),
    )

    verdict = judge(history, [Finding(test=A)])[0]

    assert list(verdict.signatures.values()) == [2, 1]
