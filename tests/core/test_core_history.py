"""The settings that executions count for, the tallies of a history, and its queries about prefixes."""

from __future__ import annotations

import pytest
from core_samples import A, B, C, D, a_run, a_suite
from hypothesis import given
from hypothesis import strategies as st

from flakehound.core.costs import DEFAULT_TEST_S
from flakehound.core.history import History, Tally, ended_as_if_last, prefix_hash, setting_of_execution
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting


def history_of(*records):
    return History(a_suite(), records)


# Settings


def test_the_only_test_of_a_run_ran_alone():
    for setting in (Setting.ALONE, Setting.SHUFFLED, Setting.REPEATED):
        assert setting_of_execution(a_run([A], "P", setting=setting), 0, is_repetition=False) is Setting.ALONE


def test_a_probe_of_a_single_test_stays_a_probe_because_it_may_repeat_a_seed_known_to_fail():
    run = a_run([A], "F", setting=Setting.PROBE)

    assert setting_of_execution(run, 0, is_repetition=False) is Setting.PROBE


def test_the_only_test_of_a_suite_in_the_original_order_counts_as_original():
    assert (
        setting_of_execution(a_run([A], "P", setting=Setting.ORIGINAL), 0, is_repetition=False) is Setting.ORIGINAL
    )


def test_a_second_execution_in_one_process_is_a_repetition_in_every_run():
    for setting in Setting:
        assert (
            setting_of_execution(a_run([A, A], "PP", setting=setting), 1, is_repetition=True) is Setting.REPEATED
        )


def test_a_test_after_another_one_has_the_setting_of_its_run():
    for setting in (Setting.ORIGINAL, Setting.SHUFFLED, Setting.PROBE):
        assert setting_of_execution(a_run([A, B], "PP", setting=setting), 1, is_repetition=False) is setting


def test_a_test_after_another_in_a_run_meant_for_one_is_a_probe():
    for setting in (Setting.ALONE, Setting.REPEATED):
        assert setting_of_execution(a_run([A, B], "PP", setting=setting), 1, is_repetition=False) is Setting.PROBE


def test_a_first_test_that_passes_before_others_was_not_alone():
    history = history_of(a_run([A, B], "PP", setting=Setting.SHUFFLED))

    assert history.tally(A, Setting.ALONE).n == 0
    assert history.tally(A, Setting.SHUFFLED) == Tally(n=1)


def test_a_first_test_that_fails_would_have_failed_alone_too():
    history = history_of(a_run([A, B], "FP", setting=Setting.SHUFFLED))

    assert history.tally(A, Setting.ALONE) == Tally(n=1, failed=1)


def test_a_first_test_of_the_original_order_is_original_even_when_it_fails():
    history = history_of(a_run([A, B], "FP", setting=Setting.ORIGINAL))

    assert history.tally(A, Setting.ORIGINAL) == Tally(n=1, failed=1)
    assert history.tally(A, Setting.ALONE).n == 0


def test_a_pass_that_was_repeated_with_a_pass_counts_as_alone():
    history = history_of(a_run([A, A], "PP", setting=Setting.ALONE))

    assert history.tally(A, Setting.ALONE) == Tally(n=1)
    assert history.tally(A, Setting.REPEATED) == Tally(n=1)


def test_a_pass_whose_repetition_failed_is_not_known_to_pass_alone():
    history = history_of(a_run([A, A], "PF", setting=Setting.ALONE))

    assert history.tally(A, Setting.ALONE).n == 0
    assert history.tally(A, Setting.REPEATED) == Tally(n=1, failed=1)


# The rule about shared teardown


def test_the_last_test_of_a_process_counts_as_last_with_any_outcome():
    for letter in "PFSEC":
        assert ended_as_if_last(a_run([A, B], "P" + letter), 1)


def test_a_failure_counts_as_last_at_any_position():
    assert ended_as_if_last(a_run([A, B, C], "FPP"), 0)
    assert ended_as_if_last(a_run([A, B, C], "PEP"), 1)


def test_a_pass_before_others_does_not_count_as_last_because_a_shared_teardown_may_follow():
    assert not ended_as_if_last(a_run([A, B], "PP"), 0)


def test_a_pass_before_its_own_passing_repetition_counts_as_last():
    assert ended_as_if_last(a_run([A, A], "PP"), 0)
    assert ended_as_if_last(a_run([B, A, A], "PPP"), 1)


def test_a_pass_before_its_own_failing_repetition_does_not_count_as_last():
    assert not ended_as_if_last(a_run([A, A], "PF"), 0)
    assert not ended_as_if_last(a_run([A, A], "P-"), 0)


def test_a_pass_before_two_repetitions_does_not_count_as_last():
    assert not ended_as_if_last(a_run([A, A, A], "PPP"), 0)


def test_a_pass_that_does_not_count_as_last_is_not_listed_for_its_prefix():
    history = history_of(a_run([A, B, C], "PPP"))

    assert history.executions_after((A,), B) == []
    assert [s.outcome for s in history.executions_after((A, B), C)] == [Outcome.PASSED]


# Counting


def test_skips_and_tests_not_run_are_in_no_tally():
    history = history_of(a_run([A, B, C], "SP-"))

    assert history.tally(A) == Tally()
    assert history.tally(C) == Tally()


def test_expected_failures_are_passes():
    history = history_of(a_run([A], "x"), a_run([A], "X"))

    assert history.tally(A) == Tally(n=2)


def test_a_tally_without_settings_is_the_sum_over_all():
    history = history_of(
        a_run([A], "P"), a_run([B, A], "PF"), a_run([A, A], "PF"), a_run([B, A], "PP", setting=Setting.ORIGINAL)
    )

    assert history.tally(A) == sum((history.tally(A, setting) for setting in Setting), Tally())


def test_a_tally_can_be_limited_to_an_isolation_and_to_disturbed_runs():
    history = history_of(
        a_run([A], "F", isolation=Isolation.SPAWN),
        a_run([A], "F", disturbed=True),
        a_run([A], "P"),
        a_run([A], "P"),
    )

    assert history.tally(A, isolation=Isolation.SPAWN) == Tally(n=1, failed=1)
    assert history.tally(A, isolation=Isolation.FORK) == Tally(n=3, failed=1)
    assert history.tally(A, disturbed=True) == Tally(n=1, failed=1)
    assert history.tally(A, disturbed=False) == Tally(n=3, failed=1)


def test_a_tally_by_hash_seed_leaves_out_runs_whose_seed_is_unknown():
    history = history_of(
        a_run([A], "F", hash_seed=1, setting=Setting.ALONE),
        a_run([A], "P", hash_seed=2, setting=Setting.ALONE),
        a_run([A], "P", hash_seed=2, setting=Setting.ALONE),
        a_run([A], "F", setting=Setting.ALONE),
    )

    found = history.tally_by_hash_seed(A, Setting.ALONE)

    assert found == {1: Tally(n=1, failed=1), 2: Tally(n=2)}


def test_a_tally_is_mixed_if_the_test_both_passed_and_failed():
    assert Tally(n=2, failed=1).is_mixed
    assert not Tally(n=2, failed=2).is_mixed
    assert not Tally(n=2).is_mixed
    assert not Tally().is_mixed


# Copies of one process


def test_the_tests_before_a_fork_are_counted_once_for_all_copies():
    first = a_run([A, B, C], "PPP")
    second = a_run([A, B, D], "--F")
    history = history_of(first, second)

    assert history.tally(A).n == 1
    assert history.tally(B).n == 1
    assert history.tally(D) == Tally(n=1, failed=1)


def test_the_prefix_of_a_copy_includes_the_tests_before_it_was_made():
    history = history_of(a_run([A, B, C], "PPP"), a_run([A, B, D], "--F"))

    assert history.tally_after((A, B), C) == Tally(n=1)
    assert history.tally_after((A, B), D) == Tally(n=1, failed=1)
    assert history.tally_after((), D) == Tally()


def test_a_second_execution_in_a_copy_is_a_repetition_even_if_the_first_one_ran_before_the_copy():
    history = history_of(a_run([A, A], "-F"))

    assert history.tally(A, Setting.REPEATED) == Tally(n=1, failed=1)


# Prefixes


def test_only_runs_with_exactly_the_same_earlier_tests_are_counted_for_a_prefix():
    history = history_of(a_run([A, B, C], "PPF"))

    assert history.tally_after((A, B), C).failed == 1
    assert history.tally_after((B, A), C).n == 0
    assert history.tally_after((B,), C).n == 0
    assert history.tally_after((), C).n == 0


def test_a_tally_after_a_prefix_can_be_limited_to_undisturbed_runs():
    history = history_of(a_run([A, B], "PF", disturbed=True), a_run([A, B], "PP"))

    assert history.tally_after((A,), B) == Tally(n=2, failed=1)
    assert history.tally_after((A,), B, disturbed=False) == Tally(n=1)


def test_a_skip_after_a_prefix_is_listed_but_not_counted():
    history = history_of(a_run([A, B], "PS"))

    assert len(history.executions_after((A,), B)) == 1
    assert history.tally_after((A,), B) == Tally()


def test_short_prefixes_are_listed_with_the_most_frequent_first():
    history = history_of(a_run([B, A], "PP"), a_run([C, A], "PF"), a_run([C, A], "PF"), a_run([A], "P"))

    assert history.short_prefixes(A) == [(C,), (B,)]


def test_long_prefixes_are_not_listed_but_counted():
    earlier = (B, C, D, B)
    history = history_of(a_run([*earlier, A], "PPPPF"))

    assert history.short_prefixes(A) == []
    assert history.tally_after(earlier, A).failed == 1


def test_only_runs_of_the_whole_order_are_counted_for_an_order():
    history = history_of(a_run([A, B], "PP"), a_run([A, B], "P-"), a_run([A], "P"))

    assert history.runs_of((A, B)) == 2
    assert history.runs_of((A,)) == 1
    assert history.runs_of((B, A)) == 0


@given(st.lists(st.sampled_from([A, B, C, D]), max_size=6), st.lists(st.sampled_from([A, B, C, D]), max_size=6))
def test_two_prefixes_have_the_same_hash_only_if_they_are_equal(first, second):
    assert (prefix_hash(first) == prefix_hash(second)) == (first == second)


# Failures, passes, times


def test_failures_are_listed_with_their_position_oldest_first():
    early, late = a_run([A, B], "PF", started_s=1.0), a_run([B], "F", started_s=2.0)

    executions = history_of(early, late).failures_of(B)

    assert [(s.record.started_s, s.position) for s in executions] == [(1.0, 1), (2.0, 0)]


def test_tests_that_ever_failed_come_in_the_original_order():
    history = history_of(a_run([D], "F"), a_run([B], "E"), a_run([A], "P"))

    assert list(history.failed_tests()) == [B, D]


def test_the_first_pass_is_found_even_if_it_does_not_count_as_last():
    history = history_of(a_run([A, B], "PP"), a_run([A], "P"))

    execution = history.first_pass_of(A)

    assert execution is not None
    assert (execution.record.order, execution.position) == ((A, B), 0)


def test_a_test_that_never_passed_has_no_first_pass():
    assert history_of(a_run([A], "F")).first_pass_of(A) is None


def test_the_last_forked_pass_ignores_new_interpreters():
    history = history_of(
        a_run([A], "P", started_s=5.0),
        a_run([A], "P", started_s=9.0, isolation=Isolation.SPAWN),
        a_run([A], "F", started_s=7.0),
    )

    assert history.last_forked_pass_s(A) == 5.0
    assert history.last_forked_pass_s(B) is None


def test_every_mention_of_a_test_counts_even_if_it_did_not_run():
    history = history_of(a_run([A, B], "C-"))

    assert history.mentions_of(B) == 1


def test_times_are_means_and_maxima_of_the_tests_that_ran():
    history = history_of(
        a_run([A], "P", durations_s=(1.0,)),
        a_run([A], "P", durations_s=(3.0,)),
        a_run([B, A], "C-", durations_s=(9.0, 0.0)),
    )

    assert history.costs.test_s(A) == pytest.approx(2.0)
    assert history.slowest_test_s == 9.0


def test_a_test_that_never_ran_has_the_default_time():
    history = history_of()

    assert history.costs.test_s(A) == DEFAULT_TEST_S
    assert A not in history.costs.mean_test_s


def test_a_history_of_given_records_equals_one_that_grew():
    records = [a_run([A, B], "PF"), a_run([B], "P")]
    grown = History(a_suite())
    for record in records:
        grown.add(record)

    given_at_once = history_of(*records)

    assert [given_at_once.tally(t) for t in (A, B)] == [grown.tally(t) for t in (A, B)]
    assert given_at_once.records == grown.records


def test_a_record_whose_outcomes_do_not_match_its_order_is_refused():
    with pytest.raises(ValueError, match="zip"):
        history_of(a_run([A, B], "P"))


def test_a_record_has_its_last_outcome_and_the_number_of_tests_that_ran():
    record = a_run([A, B, C], "-PF")

    assert record.last is Outcome.FAILED
    assert record.executed == 2
    assert list(record)[1] == (1, B, Outcome.PASSED)
