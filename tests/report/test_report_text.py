from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind
from flakehound.report.hunt.text import report_text

from . import samples
from .golden import assert_gold


def test_the_report_of_every_kind_reads_as_agreed() -> None:
    assert_gold("report.txt", report_text(samples.a_hunt()) + "\n")


def test_an_interrupted_hunt_says_so_and_how_to_go_on() -> None:
    told = report_text(samples.a_quiet_hunt(complete=False, interrupted=True, store="a b.db"))

    assert told.splitlines()[-1] == (
        "Interrupted before all was settled. Go on: flakehound hunt --resume --store 'a b.db'"
    )


def test_a_hunt_whose_time_ran_out_says_so_and_how_to_go_on() -> None:
    told = report_text(samples.a_hunt(complete=False))

    assert told.splitlines()[-1] == "The time ran out before all was settled. Go on: flakehound hunt --resume"


def test_nothing_flaky_is_told_in_two_lines() -> None:
    assert report_text(samples.a_quiet_hunt()).splitlines() == [
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
