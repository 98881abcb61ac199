"""What measured features and traces of a suite say before a hunt begins."""

from __future__ import annotations

import json
import math
import sys
import time
from types import SimpleNamespace

import pytest
from cli_projects import flakehound_in, write_project

from flakehound.app.hunt.measured_priors import OddsRatios, measured_ratios
from flakehound.app.hunt.priors import priors_of, stored_knowledge
from flakehound.app.hunt.static_priors import static_scores
from flakehound.app.hunt.suite_trace import calls_if_affordable, expected_trace_s
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.engine.suite.budget import Budget
from flakehound.hunt.limits import MAX_SUITE_TRACE_SHARE
from flakehound.store import Store

pytest.importorskip("scipy", reason="needs flakehound[learn]")

LONG_S = 3600.0
FEW = ("--technique", "idflakies", "--runs", "1", "--shuffles", "1")
COUNTED = (*FEW, "--seed", "3", "--budget", "1h", "--json", "report.json")
# Twelve tests, so that ranks mean something: each waits longer and opens more files than the one before.
CLIMBING = {
    "test_climb.py": """
        import time
        import pytest

        @pytest.mark.parametrize("height", range(12))
        def test_step(height, tmp_path):
            for number in range(height):
                (tmp_path / str(number)).write_text("x")
            time.sleep(height / 100)
    """
}


DICE = {
    "test_dice.py": """
        import random, time

        def test_dice():
            random.seed(time.time())

        def test_calm():
            pass
    """
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A project with features in its store."""
    folder = write_project(tmp_path_factory.mktemp("measured") / "climb", CLIMBING)
    said = flakehound_in(folder, "features", "-q", "--runs", "1")
    assert said.code == 0, said.err
    return folder


def ratios_in(folder, time_s):
    with Store.open(folder / ".flakehound" / "flakehound.db") as store:
        return measured_ratios(store, store.sessions(), time_s)


def test_features_of_an_earlier_run_make_some_tests_likelier_than_others(measured):
    found = ratios_in(measured, LONG_S)

    assert len(found.nod) == len(found.order_dependent) == 12
    assert len(set(found.nod.values())) > 6
    assert all(0.02 < ratio < 50 and math.isfinite(ratio) for ratio in found.nod.values())


@pytest.mark.parametrize("time_s", [None, 60.0])
def test_a_short_hunt_does_not_ask_for_them(measured, time_s):
    assert ratios_in(measured, time_s) == OddsRatios()


def test_models_that_would_have_to_be_fitted_wait_for_a_longer_hunt(measured, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert ratios_in(measured, 100.0) == OddsRatios()


def test_without_the_extra_features_say_nothing(measured, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)  # what Python itself takes for "not there"

    assert ratios_in(measured, LONG_S) == OddsRatios()


def test_a_store_without_measured_runs_says_nothing(tmp_path):
    folder = write_project(tmp_path / "calm", CLIMBING)
    assert flakehound_in(folder, "hunt", "-q", *FEW).code == 0

    assert ratios_in(folder, LONG_S) == OddsRatios()


def test_a_hunt_that_measures_plans_by_what_it_measured(tmp_path):
    folder = write_project(tmp_path / "climb", CLIMBING)

    said = flakehound_in(folder, "hunt", "--measure", *COUNTED)

    assert said.code == 0, said.err
    report = json.loads((folder / "report.json").read_text())
    with Store.open(folder / ".flakehound" / "flakehound.db") as store:
        earlier = stored_knowledge(store, store.latest_hunt(), characteristic_functions_in(folder), LONG_S)
        suite = store.suite(store.latest_hunt().id)
    expected = priors_of(suite, earlier, static_scores(folder, suite.order, LONG_S))
    assert len(earlier.ratios.nod) == 12
    for test in report["tests"]:
        assert test["prior"] == pytest.approx(expected.flaky(test["id"]), abs=1e-6)


def test_a_hunt_knows_what_its_tests_take(tmp_path):
    folder = write_project(tmp_path / "climb", CLIMBING)

    said = flakehound_in(folder, "hunt", *COUNTED)

    assert said.code == 0, said.err
    prior = [test["prior"] for test in json.loads((folder / "report.json").read_text())["tests"]]
    assert min(prior[9:]) > 1.5 * max(
        prior[1:4]
    )  # those that wait longest; the first one also warms everything up


# traces


def start(python, tests_s, limit_s):
    reference = [SimpleNamespace(durations_s=[tests_s / 2, tests_s / 2])]
    opened = SimpleNamespace(handshake=SimpleNamespace(python=python), reference=reference)
    return SimpleNamespace(opened=opened, budget=Budget(limit_s=limit_s))


@pytest.mark.parametrize(("python", "most_s"), [("3.13.0", 2.0), ("3.11.7", 6.0)])
def test_a_trace_is_expected_to_take_longer_than_a_plain_run(python, most_s):
    assert 1.0 < expected_trace_s(start(python, 1.0, 30.0)) < most_s


@pytest.mark.parametrize("tests_s", [0.0, 2 * MAX_SUITE_TRACE_SHARE * 60.0])
def test_a_suite_that_takes_too_long_or_whose_times_nobody_knows_is_not_traced(tests_s):
    assert calls_if_affordable(start("3.13.0", tests_s, 60.0)) == {}


def test_a_trace_that_takes_longer_than_expected_ends_and_what_it_saw_counts(tmp_path):
    source = """
        import sys, time

        def test_quick():
            time.time()

        def test_slow_when_traced():
            time.sleep(60 if sys.getprofile() or sys.version_info >= (3, 12) and sys.monitoring.get_tool(4) else 0)

        def test_behind():
            time.time()
    """
    folder = write_project(tmp_path / "slow", {"test_slow.py": source})
    began = time.monotonic()

    said = flakehound_in(folder, "hunt", *FEW, "--budget", "20s")

    assert said.code == 0, said.out + said.err
    assert "tracing what 3 tests call" in said.err
    assert time.monotonic() - began < 50


def test_the_index_traces_a_suite_once_and_remembers_it(tmp_path):
    folder = write_project(tmp_path / "dice", DICE)
    hunt = ("hunt", *FEW, "--budget", "60s", "--json")

    first, second = (flakehound_in(folder, *hunt, f"{name}.json") for name in ("first", "second"))

    assert "tracing what 2 tests call" in first.err
    assert "tracing" not in second.err
    for name, least in (("first", 0.0005), ("second", 0.0001)):  # passes of the first one make both less likely
        report = json.loads((folder / f"{name}.json").read_text())
        prior = {test["id"]: test["prior"] for test in report["tests"]}
        assert prior["test_dice.py::test_dice"] > prior["test_dice.py::test_calm"] + least


def test_other_policies_trace_nothing_for_the_index(tmp_path):
    folder = write_project(tmp_path / "calm", CLIMBING)

    said = flakehound_in(folder, "hunt", "--policy", "rerun", *FEW, "--budget", "60s")

    assert said.code == 0
    assert "tracing" not in said.err
