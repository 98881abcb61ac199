"""`--runs` and `--shuffles`: made in full unless `--budget` says otherwise."""

from __future__ import annotations

import json
import re

import pytest
from cli_projects import flakehound_in, flakehound_with, write_project
from click.testing import CliRunner

from flakehound.cli.main import main
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.hunt.counted_agenda import CountedAgenda
from flakehound.hunt.options import SearchOptions

SLEEPY = {"test_sleepy.py": "import time\n\n\ndef test_a():\n    time.sleep(0.2)\n\n\ndef test_b():\n    pass\n"}
# A default time that is over before twenty runs of that suite are made.
HURRY = "import flakehound.engine.suite.budget as budget\nbudget.DEFAULT_LIMIT_S = 3.0"


def runs_in(folder):
    return json.loads((folder / "report.json").read_text())["runs"]


@pytest.fixture
def sleepy(tmp_path):
    return write_project(tmp_path / "sleepy", SLEEPY)


def test_the_default_time_does_not_cut_the_runs_that_were_asked_for(sleepy):
    said = flakehound_with(HURRY, sleepy, "hunt", "--runs", "20", "-j", "1", "--json", "report.json")

    assert said.code == 0, said.err
    assert runs_in(sleepy)["original"] == 20
    assert "longer only if 20 runs take longer" in said.err


def test_runs_in_the_same_order_that_go_on_at_the_same_time_all_count(sleepy):
    said = flakehound_in(
        sleepy, "hunt", "--runs", "12", "--technique", "rerun", "-j", "3", "-q", "--json", "report.json"
    )

    assert said.code == 0, said.err
    assert runs_in(sleepy) == {"original": 12}


def test_a_budget_cuts_the_runs_that_were_asked_for(sleepy):
    said = flakehound_in(
        sleepy, "hunt", "--runs", "40", "--budget", "3s", "-j", "1", "-q", "--json", "report.json"
    )

    assert said.code == 0, said.err
    assert runs_in(sleepy)["original"] < 40


def test_the_runs_that_were_asked_for_end_a_hunt_before_its_budget_does(project):
    said = flakehound_in(
        project, "hunt", "--runs", "3", "--shuffles", "0", "--budget", "80s", "-q", "--json", "report.json"
    )

    assert said.code == 0, said.err
    report = json.loads((project / "report.json").read_text())
    assert report["runs"]["original"] == 3
    assert report["spent"]["wall_s"] < 40.0


def test_a_hunt_that_is_only_told_not_to_shuffle_uses_its_whole_budget(project):
    said = flakehound_in(project, "hunt", "--shuffles", "0", "--budget", "4s", "-q", "--json", "report.json")

    assert said.code == 0, said.err
    assert json.loads((project / "report.json").read_text())["spent"]["wall_s"] > 3.0


def test_the_example_without_other_orders_and_pairs_is_true(project):
    said = flakehound_in(project, "hunt", "--runs", "4", "--technique", "rerun", "-q", "--json", "report.json")

    assert said.code == 0, said.err
    report = json.loads((project / "report.json").read_text())
    assert report["runs"] == {"original": 4}
    assert not report["pairs"]


def test_the_help_says_that_the_runs_are_all_made():
    words = re.sub(r"\s+", " ", CliRunner().invoke(main, ["hunt", "--help"]).output)

    assert "All are made, however long that takes; with --budget, as many as fit" in words
    assert "flakehound hunt --runs 100 --technique rerun no other orders, no pairs" in words


# The planner behind it, with a clock of our own


def agenda_of(time_left_s, *, busy=False, **options):
    ids = [NodeId(f"test_m.py::test_{number}") for number in range(6)]
    suite = Suite(tests=tuple(CollectedTest(id=test, module="test_m.py", parent="test_m.py") for test in ids))
    history = History(suite)
    agenda = CountedAgenda(history, SearchOptions(seed=1, **options), lambda: time_left_s, is_busy=lambda: busy)
    return agenda, history


def settings_made(agenda, history):
    """Let every test pass in every run it wants, until it wants nothing more."""
    settings = []
    for plan in iter(agenda.next_search_run, None):
        settings.append(plan.setting)
        for order in plan.orders:
            history.add(passed(plan, order))
    return settings


def passed(plan, order):
    return RunRecord(
        order=order,
        outcomes=(Outcome.PASSED,) * len(order),
        durations_s=(0.1,) * len(order),
        setting=plan.setting,
        isolation=plan.isolation,
        why=plan.why,
    )


@pytest.mark.parametrize(("runs", "shuffles"), [(5, None), (None, 7), (3, 4), (2, 0), (None, 0)])
def test_when_the_time_is_up_only_counted_runs_are_made(runs, shuffles):
    made = settings_made(*agenda_of(0.0, runs=runs, shuffles=shuffles))

    assert made.count(Setting.ORIGINAL) == (runs or 0)
    assert made.count(Setting.SHUFFLED) == (shuffles or 0)
    assert len(made) == (runs or 0) + (shuffles or 0)


def test_while_the_time_lasts_a_counted_hunt_is_like_any_other():
    made = settings_made(*agenda_of(1000.0, runs=5))

    assert {Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE, Setting.PROBE} <= set(made)


def test_runs_under_way_are_waited_for_before_the_missing_ones_are_counted():
    agenda, _history = agenda_of(0.0, runs=5, busy=True)

    assert agenda.next_search_run() is None


def test_other_orders_that_no_chosen_technique_makes_are_not_made_up_for():
    made = settings_made(*agenda_of(0.0, techniques=("rerun",), runs=5, shuffles=3))

    assert set(made) == {Setting.ORIGINAL}
