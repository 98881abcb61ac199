"""Copies of a process that has run a prefix: the prefix runs once, its copies do not meet."""

from __future__ import annotations

import pytest
from engine_samples import HANGING_S, Sample

from flakehound.core.outcomes import Outcome

PASSED, FAILED, NOT_RUN = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_RUN

FILES = {
    "shared.py": """
        state = []
        def say(words):
            with open("log", "a") as log:
                log.write(words + "\\n")
        """,
    "test_a.py": """
        import os, random, tempfile, threading, time, sys
        import pytest
        from shared import say, state
        kept = []
        beats = [0]
        @pytest.fixture(scope="module")
        def lasting():
            say("+lasting")
            yield
            say("-lasting")
        def test_p(lasting):
            say("p")
            state.append("p")
            time.sleep(0.05)
        def test_same_module(lasting):
            say("same")
            assert state == ["p"]
            state.append("same")
        def test_same_module_again(lasting):
            assert state == ["p"]
        def test_fails(): raise ValueError("the prefix fails")
        def test_seeds(): random.seed(0)
        def test_draws():
            say(repr(random.random()))
        def test_starts_a_thread():
            def count():
                while True:
                    beats[0] += 1
                    time.sleep(0.001)
            threading.Thread(target=count, daemon=True).start()
        def test_thread_lives():
            before = beats[0]
            for _ in range(2000):
                time.sleep(0.005)
                if beats[0] != before: return
            assert False, "the thread of the earlier test is gone"
        def test_opens_a_file(tmp_path):
            (tmp_path / "lines").write_text("one\\ntwo\\n")
            kept.append(open(tmp_path / "lines", buffering=1))
        def test_reads_the_first_line():
            assert os.read(kept[0].fileno(), 4) == b"one\\n"
        def test_needs_no_scratch_file():
            path = os.path.join(tempfile.gettempdir(), "scratch")
            assert not os.path.exists(path)
            open(path, "w").close()
        def test_leaves_a_scratch_file():
            open(os.path.join(tempfile.gettempdir(), "left"), "w").close()
        def test_finds_the_scratch_file():
            path = os.path.join(tempfile.gettempdir(), "left")
            assert os.path.exists(path)
            os.unlink(path)
        def test_ignores_its_children():
            import signal
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        def test_dies(): os._exit(3)
        def test_hangs():
            while True: time.sleep(1)
        def test_leaves(): pytest.exit("enough")
        """,
    "test_b.py": """
        from shared import say, state
        def test_other_module():
            say("other")
            assert state == ["p"]
            state.append("other")
        def test_other_again(tmp_path):
            assert state == ["p"]
        """,
}
P, SAME, SAME_AGAIN = "test_a.py::test_p", "test_a.py::test_same_module", "test_a.py::test_same_module_again"
OTHER, OTHER_AGAIN = "test_b.py::test_other_module", "test_b.py::test_other_again"


@pytest.fixture(scope="module")
def shared(open_shared_sample) -> Sample:
    return open_shared_sample(FILES)


@pytest.fixture
def sample(shared) -> Sample:
    (shared.root / "log").unlink(missing_ok=True)
    return shared


def a(name: str) -> str:
    return f"test_a.py::{name}"


def last_outcomes(records) -> list[Outcome]:
    return [record.last for record in records]


def log_of(sample: Sample) -> list[str]:
    return (sample.root / "log").read_text().split()


def test_the_prefix_runs_once_and_its_copies_do_not_see_each_other(sample):
    records = sample.fork_tree([P], [[SAME], [SAME_AGAIN], [OTHER], [OTHER_AGAIN]])

    assert [record.order for record in records] == [(P, SAME), (P, SAME_AGAIN), (P, OTHER), (P, OTHER_AGAIN)]
    assert last_outcomes(records) == [PASSED] * 4, [record.failures for record in records]
    assert log_of(sample).count("p") == 1


def test_the_prefix_counts_in_one_record_only(sample):
    first, second = sample.fork_tree([P], [[SAME], [OTHER]])

    assert (first.outcomes, second.outcomes) == ((PASSED, PASSED), (NOT_RUN, PASSED))
    assert first.durations_s[0] >= 0.05
    assert second.durations_s[0] == 0.0


def test_a_module_fixture_stays_for_its_module_and_goes_before_another(sample):
    sample.fork_tree([P], [[SAME], [OTHER]])

    assert log_of(sample) == ["+lasting", "p", "same", "-lasting", "-lasting", "other"]


def test_a_failure_of_the_prefix_is_reported(sample):
    first, second = sample.fork_tree([a("test_fails")], [[a("test_draws")], [a("test_draws")]])

    assert first.outcomes == (FAILED, PASSED)
    assert "the prefix fails" in first.failures[0].text
    assert not second.failures


def test_copies_of_no_prefix_are_alone(sample):
    records = sample.fork_tree(
        [], [[a("test_needs_no_scratch_file")], [a("test_needs_no_scratch_file")], [P, SAME]]
    )

    assert [record.outcomes for record in records] == [(PASSED,), (PASSED,), (PASSED, PASSED)]


def test_copies_do_not_find_each_others_temporary_files(sample):
    test = a("test_needs_no_scratch_file")

    records = sample.fork_tree([P], [[test], [test], [test]])

    assert last_outcomes(records) == [PASSED] * 3


def test_copies_find_the_temporary_files_of_the_prefix(sample):
    test = a("test_finds_the_scratch_file")

    records = sample.fork_tree([a("test_leaves_a_scratch_file")], [[test], [test]])

    assert last_outcomes(records) == [PASSED, PASSED]


def test_random_numbers_continue_where_the_prefix_left_them(sample):
    sample.fork(a("test_seeds"), a("test_draws"))
    sample.fork(P, a("test_draws"), seed=5)
    sample.fork_tree([a("test_seeds")], [[a("test_draws")]])
    sample.fork_tree([P], [[a("test_draws")], [a("test_draws")]], seed=5)
    seeded, usual, seeded_copy, *usual_copies = [line for line in log_of(sample) if line.startswith("0.")]

    assert seeded_copy == seeded
    assert usual_copies == [usual, usual]


def test_a_thread_of_the_prefix_runs_during_the_tests_after_it(sample):
    test = a("test_thread_lives")

    records = sample.fork_tree([a("test_starts_a_thread")], [[test], [test]])

    assert [record.order for record in records] == [(a("test_starts_a_thread"), test)] * 2
    assert last_outcomes(records) == [PASSED, PASSED]


def test_an_open_file_of_the_prefix_is_read_from_the_same_place_by_each_copy(sample):
    test = a("test_reads_the_first_line")

    records = sample.fork_tree([a("test_opens_a_file")], [[test], [test]])

    assert last_outcomes(records) == [PASSED, PASSED]


def test_a_copy_that_dies_or_hangs_costs_the_others_nothing(sample):
    records = sample.fork_tree(
        [P], [[a("test_dies")], [SAME], [a("test_hangs")], [a("test_leaves")], [OTHER]], test_limit_s=HANGING_S
    )

    assert last_outcomes(records) == [Outcome.CRASHED, PASSED, Outcome.TIMED_OUT, FAILED, PASSED]
    assert records[0].ended == "exited with code 3"
    assert records[2].ended == "stopped at the test limit"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("test_dies", Outcome.CRASHED), ("test_leaves", FAILED), ("test_hangs", Outcome.TIMED_OUT)],
)
def test_a_prefix_that_dies_leaves_one_record_of_itself(sample, name, outcome):
    records = sample.fork_tree([P, a(name)], [[SAME], [OTHER]], test_limit_s=HANGING_S)

    assert [record.order for record in records] == [(P, a(name))]
    assert records[0].outcomes == (PASSED, outcome)


def test_a_prefix_that_ignores_its_children_does_not_lose_them(sample):
    records = sample.fork_tree([a("test_ignores_its_children")], [[a("test_draws")], [a("test_dies")]])

    assert last_outcomes(records) == [PASSED, Outcome.CRASHED]


def test_a_time_limit_of_the_whole_run_ends_every_copy(sample):
    records = sample.fork_tree([P], [[a("test_hangs")], [SAME]], run_limit_s=HANGING_S)

    assert records[0].outcomes == (PASSED, Outcome.TIMED_OUT)


def test_copies_made_along_the_way_see_what_ran_before_them(sample):
    records = sample.fork_tree([a("test_draws"), P, SAME], [[OTHER]] * 4, at=(0, 1, 2, 3))

    assert [record.order[:-1] for record in records] == [
        (),
        (a("test_draws"),),
        (a("test_draws"), P),
        (a("test_draws"), P, SAME),
    ]
    assert last_outcomes(records) == [FAILED, FAILED, PASSED, FAILED]


def test_tests_between_copies_count_once(sample):
    records = sample.fork_tree([a("test_draws"), P, SAME], [[OTHER]] * 3, at=(1, 2, 3))

    assert [record.outcomes[:-1] for record in records] == [
        (PASSED,), (NOT_RUN, PASSED), (NOT_RUN, NOT_RUN, PASSED)
    ]  # fmt: skip
    assert log_of(sample).count("p") == 1


def test_copies_made_along_the_way_leave_module_fixtures_set_up(sample):
    sample.fork_tree([P, SAME], [[OTHER], [OTHER]], at=(1, 2))

    assert log_of(sample) == ["+lasting", "p", "-lasting", "other", "same", "-lasting", "other"]


def test_copies_along_the_way_do_not_find_each_others_temporary_files(sample):
    test = a("test_needs_no_scratch_file")

    records = sample.fork_tree([P, a("test_draws")], [[test], [test]], at=(1, 2))

    assert last_outcomes(records) == [PASSED, PASSED]


def test_a_prefix_that_dies_between_copies_is_reported(sample):
    first, rest = sample.fork_tree([P, a("test_dies"), SAME], [[OTHER], [OTHER]], at=(1, 3))

    assert (first.order, first.outcomes) == ((P, OTHER), (PASSED, PASSED))
    assert (rest.order, rest.outcomes) == ((P, a("test_dies"), SAME), (NOT_RUN, Outcome.CRASHED, NOT_RUN))


def test_a_thread_ends_the_copying_along_the_way(sample):
    first, rest = sample.fork_tree([P, a("test_starts_a_thread"), SAME], [[OTHER]] * 2, at=(1, 2))

    assert (first.order, first.outcomes) == ((P, OTHER), (PASSED, PASSED))
    assert (rest.order, rest.outcomes) == ((P, a("test_starts_a_thread"), SAME), (NOT_RUN, PASSED, NOT_RUN))


@pytest.mark.parametrize(("until", "rungs"), [("fails", 3), ("passes", 1), (None, 4)])
def test_a_walk_ends_with_the_first_copy_that_shows_what_was_asked(sample, until, rungs):
    draws = a("test_draws")

    records = sample.fork_tree([draws, P, SAME, draws], [[SAME_AGAIN]] * 4, at=(2, 2, 3, 4), until=until)

    assert last_outcomes(records) == [PASSED, PASSED, FAILED, FAILED][:rungs]


def test_a_copy_that_dies_counts_as_failed_for_the_walk(sample):
    records = sample.fork_tree([P, SAME], [[a("test_dies")]] * 2, at=(1, 2), until="fails")

    assert last_outcomes(records) == [Outcome.CRASHED]
