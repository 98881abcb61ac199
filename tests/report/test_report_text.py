from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind, Verdict
from flakehound.report.hunt.groups import MAX_FLAKY_IN_FULL, reason_of
from flakehound.report.hunt.result import NeverRan
from flakehound.report.hunt.text import report_text

from . import samples
from .golden import assert_gold


def test_the_report_of_every_kind_reads_as_agreed() -> None:
    assert_gold("report.txt", report_text(samples.a_hunt()) + "\n")


def test_an_interrupted_hunt_says_so_and_how_to_go_on() -> None:
    told = report_text(samples.a_quiet_hunt(complete=False, interrupted=True, store="a b.db"))

    assert told.splitlines()[-2:] == [
        "Interrupted before all was settled. Go on:",
        "  flakehound hunt --resume --store 'a b.db'",
    ]


def test_a_hunt_whose_time_ran_out_says_so_and_how_to_go_on() -> None:
    told = report_text(samples.a_hunt(complete=False))

    assert told.splitlines()[-1] == "The time ran out before all was settled. Go on: flakehound hunt --resume"


def test_nothing_flaky_is_told_in_two_lines() -> None:
    assert report_text(samples.a_quiet_hunt(), width=100).splitlines() == [
        "2 tests, 40 original runs, 25 other orders, 3m12s: 0 flaky, 2 steady so far",
        "No steady test fails more often than 1 in 22 runs (95 % for each test, at least 65 runs each)",
    ]


def test_too_few_runs_bound_nothing() -> None:
    once = samples.a_verdict(samples.BAN, Kind.STEADY, samples.tallies(original=(1, 0)))

    told = report_text(samples.a_quiet_hunt(verdicts=(once,)))

    assert "ran only 1 time: too few" in told
    assert "No steady test" not in told


def test_kinds_come_in_the_agreed_order() -> None:
    labels = re.findall(r"^([A-Z-]{3,}) +tests/", report_text(samples.a_hunt()), re.MULTILINE)

    assert list(dict.fromkeys(labels)) == [
        "NOD",
        "VICTIM",
        "BRITTLE",
        "NON-IDEMPOTENT",
        "UNRESOLVED",
        "FAILING",
    ]


def test_every_printed_command_parses_back_to_a_test_of_the_suite() -> None:
    hunted = samples.a_hunt()
    ids = {verdict.id for verdict in hunted.verdicts}

    told = report_text(hunted, width=40)

    commands = re.findall(r"flakehound (?:replay|explain) .*$", told, re.MULTILINE)
    assert len(commands) == len([v for v in hunted.flaky + hunted.of_kind(Kind.UNRESOLVED) if v.replay]) + 1
    assert {shlex.split(command)[-1] for command in commands} <= ids


@pytest.mark.parametrize("width", [20, 60, 100, 200])
def test_prose_keeps_to_the_width_and_ids_stay_whole(width: int) -> None:
    hunted = samples.a_hunt()

    told = report_text(hunted, width=width)

    longest_without_id = max(len(line) for line in told.splitlines() if "tests/" not in line)
    assert longest_without_id <= max(width, 60)
    assert samples.MUTE in told
    assert all(verdict.id in told for verdict in hunted.verdicts if verdict.kind is not Kind.STEADY)


def test_a_victim_whose_polluter_is_not_found_yet_shows_its_evidence() -> None:
    early = replace(samples.victim(), polluters=(), cleaners=(), evidence=("passes alone, fails elsewhere",))

    told = report_text(samples.a_hunt(verdicts=(early,)))

    assert told.splitlines()[1].strip() == "passes alone, fails elsewhere"


def test_long_lists_of_failing_tests_are_cut() -> None:
    many = tuple(replace(samples.failing(), id=NodeId(f"tests/test_old.py::test_{n}")) for n in range(13))

    told = report_text(samples.a_hunt(verdicts=many))

    assert told.count("FAILING") == 10
    assert "        and 3 more\n" in told


# More tests than anyone reads


def many_unresolved(number: int) -> tuple[Verdict, ...]:
    """Unresolved tests of several files; most of them have one failure in common."""
    out_of_time, under_load = samples.unexplained(), samples.unresolved()
    return tuple(
        replace(
            out_of_time if n % 5 else under_load,
            id=NodeId(f"tests/test_jobs_{n % 9}.py::test_{n}"),
            signatures={"10adedaa": 2, f"{n:08x}": 1} if n % 4 else {},
            replay=None,
        )
        for n in range(number)
    )


def many_victims(number: int) -> tuple[Verdict, ...]:
    """Victims of two polluters."""
    one, other = samples.victim(), samples.victim_sometimes()
    return tuple(
        replace(one if n % 3 else other, id=NodeId(f"tests/test_user.py::test_{n}")) for n in range(number)
    )


def test_a_report_of_many_tests_reads_as_agreed() -> None:
    verdicts = (samples.nod_by_seed(), *many_victims(60), samples.brittle(), *many_unresolved(200))

    told = report_text(samples.a_hunt(verdicts=verdicts, notes=()))

    assert_gold("report_many.txt", told + "\n")


def test_200_unresolved_tests_take_a_screen_at_most_and_all_are_counted() -> None:
    told = report_text(samples.a_hunt(verdicts=many_unresolved(200), notes=()))

    tests_lines = told.partition("\n\n")[0].splitlines()
    numbers = [int(number) for number in re.findall(r"(?:UNRESOLVED|and) (\d+) tests?", told)]
    assert len(tests_lines) <= 10
    assert sum(numbers) == 200
    assert "hunt --json FILE lists each of them" in told


def test_a_few_unresolved_tests_are_listed_one_by_one() -> None:
    few = many_unresolved(10)

    told = report_text(samples.a_hunt(verdicts=few))

    assert all(f"UNRESOLVED {verdict.id}\n" in told for verdict in few)


def test_flaky_tests_of_every_kind_and_polluter_stay_visible_among_many_of_one_polluter() -> None:
    verdicts = (*many_victims(60), samples.brittle(), samples.non_idempotent(), samples.nod_by_seed())

    told = report_text(samples.a_hunt(verdicts=verdicts))

    shown = re.findall(r"^(?:NOD|VICTIM|BRITTLE|NON-IDEMPOTENT) +(tests/\S+)$", told, re.MULTILINE)
    more = [
        int(number)
        for number in re.findall(r"^VICTIM  (\d+) more tests in tests/test_user.py: polluted", told, re.MULTILINE)
    ]
    assert len(shown) == MAX_FLAKY_IN_FULL
    assert {samples.LOOKUP, samples.REGISTER, samples.TOTAL} <= set(shown)
    assert len(shown) + sum(more) == 63


def test_prose_about_many_tests_fits_80_columns() -> None:
    never_ran = NeverRan(tests=frozenset({samples.RESET}), one_run_s=180.0, full_look_s=700.0)
    verdicts = (*many_victims(60), *many_unresolved(200), samples.failing(), samples.a_steady(samples.RESET, 0))

    told = report_text(samples.a_hunt(verdicts=verdicts, never_ran=never_ran))

    assert [line for line in told.splitlines() if len(line) > 80 and "flakehound" not in line] == []


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("failed 1 of 65 runs; the time did not suffice to say why", "the time did not suffice to say why"),
        ("fails under load: 4 of 52 runs beside others, 0 of 13 undisturbed", "fails under load"),
        ("failed 3 of 5 runs in a fork: forks do not tell about it", "forks do not tell about it"),
        ("failed 3 of 5 after a.py::test_b", "failed at least once"),
        ("", "failed at least once"),
    ],
)
def test_the_reason_has_no_numbers_of_one_test(sentence: str, reason: str) -> None:
    assert reason_of(replace(samples.unexplained(), evidence=(sentence,))) == reason


# A budget smaller than the suite


def test_tests_that_never_ran_are_counted_apart_and_not_called_steady() -> None:
    ids = [NodeId(f"tests/test_big.py::test_{n}") for n in range(6445)]
    verdicts = tuple(samples.a_steady(test, original=0 if n < 4312 else 40) for n, test in enumerate(ids))
    hunted = samples.a_quiet_hunt(verdicts=(*verdicts, samples.a_steady(samples.SKIPPED, original=0)))
    never_ran = NeverRan(tests=frozenset(ids[:4312]), one_run_s=180.0, full_look_s=720.0)
    hunted = replace(hunted, suite=replace(hunted.suite, tests=6446), never_ran=never_ran)

    told = report_text(hunted, width=120)

    assert told.splitlines() == [
        "6,446 tests, 40 original runs, 25 other orders, 3m12s: 0 flaky, 2,134 steady so far, 4,312 never ran",
        "4,312 of 6,446 tests (67 %) never ran: one run of all of them takes about 3m00s; "
        "--budget 12m gives a full look",
        "No steady test fails more often than 1 in 22 runs (95 % for each test, at least 65 runs each)",
        "1 steady test was never seen to pass or fail: skipped in every run",
    ]


def test_a_hunt_in_which_no_test_ended_does_not_say_what_a_run_takes() -> None:
    verdicts = (samples.a_steady(NodeId("test_h.py::test_hangs"), original=0),)
    never_ran = NeverRan(tests=frozenset([verdicts[0].id]), one_run_s=0.0, full_look_s=1.0)

    told = report_text(samples.a_quiet_hunt(verdicts=verdicts, never_ran=never_ran))

    assert "No test ended within the time" in told
    assert "gives a full look" not in told


def test_a_hunt_that_reached_every_test_says_nothing_about_it() -> None:
    told = report_text(samples.a_quiet_hunt(never_ran=NeverRan(one_run_s=1.0, full_look_s=5.0)))

    assert "never ran" not in told
