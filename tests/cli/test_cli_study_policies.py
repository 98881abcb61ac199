"""`flakehound study policies` on stores and tables made for it."""

from __future__ import annotations

import gzip
import json

import pytest
from cli_projects import flakehound_in

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.learn.static import table as static_table
from flakehound.learn.static.fit import COLUMNS, Sample
from flakehound.store import SessionInfo, Store

pytest.importorskip("scipy", reason="needs flakehound[learn]")

STORE = ".flakehound/flakehound.db"
TESTS = tuple(NodeId(f"test_shop.py::test_{number}") for number in range(20))
POLICIES = ("study", "policies", "--seeds", "3")


def hunted(project, flaky):
    """A store in which the first tests fail in one run of four; the last one fails in shuffled orders only."""
    runs = [run(Setting.ORIGINAL, "P" * 20) for _ in range(3)]
    runs.append(run(Setting.ORIGINAL, "F" * flaky + "P" * (20 - flaky)))
    runs.append(run(Setting.SHUFFLED, "P" * 19 + "F"))
    with Store.open(project / STORE) as store:
        info = SessionInfo(rootdir="/work/shop", python="3.12", pytest="8", base_seed=1, started_s=1)
        suite = Suite(tests=tuple(CollectedTest(id=one, module="test_shop.py", parent="") for one in TESTS))
        store.append(store.begin(info, suite).id, runs)


def run(setting, letters):
    return RunRecord(
        order=TESTS,
        outcomes=tuple(Outcome(letter) for letter in letters),
        durations_s=(0.25,) * len(TESTS),
        setting=setting,
        isolation=Isolation.SPAWN,
        why="",
    )


def by_cause(folder, tests):
    """The published table, with as many flaky tests, each of its own project, in plain reruns."""
    rows = [f"o/r{n},Time,rerun,t{n},{10 * (n + 1)},100" for n in range(tests)]
    rows += ["o/steady,Time,rerun,t,0,100", "o/broken,Time,rerun,t,100,100", "o/load,Time,noisy,t,5,100"]
    text = "\n".join(["repo,cause,mode,test,n_fail,n_runs", *rows]) + "\n"
    (folder / "python_reruns_by_cause.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_a_store_s_own_tests_are_replayed(project, say):
    hunted(project, flaky=5)

    said = say(*POLICIES, "--store", STORE, "--json", "p.json")

    told = json.loads((project / "p.json").read_text())
    assert said.code == 0, said.err
    assert f"3 times the tests of {STORE}, 5 of them NOD" in said.out
    assert told["nod"] == [5, 5, 5]
    # one sweep over 20 tests takes 5.1 s, and nothing is known before the second run
    assert min(told["policies"]["rerun"]["seconds"]) > 5.1
    assert told["curves"]["policies"]["rerun"]["mean"][-1] == 5


def test_detections_are_drawn_against_time(project, say):
    pytest.importorskip("matplotlib", reason="needs flakehound[study]")
    hunted(project, flaky=5)

    said = say(*POLICIES, "--store", STORE, "--plot", "p.svg")

    assert said.code == 0, said.err
    assert "</svg>" in (project / "p.svg").read_text()


def test_a_store_with_too_few_flaky_tests_is_an_error_with_a_remedy(project, say):
    hunted(project, flaky=4)

    said = say(*POLICIES, "--store", STORE)

    assert said.code == 3
    assert "has 20 tests, of which 4 passed and failed under the same circumstances" in said.err
    assert "try: flakehound hunt --runs 100" in said.err


def test_a_store_and_somebody_else_s_counts_exclude_each_other(say):
    said = say(*POLICIES, "--store", STORE, "--counts", "java")

    assert said.code == 2
    assert f"try: flakehound study policies --seeds 3 --store {STORE}" in said.err


def test_rates_of_known_causes_are_replayed_by_mode(project, say, monkeypatch):
    monkeypatch.setenv("FLAKEHOUND_DATA", str(project))
    by_cause(project, tests=6)
    few = ("--flaky", "10", "--share", "0.1")

    plain, noisy = (say(*POLICIES, *few, "--counts", counts) for counts in ("by-cause", "by-cause-noisy"))

    assert plain.code == 0, plain.err
    assert "3 suites of 10 NOD tests (by-cause), 10.0% of all" in plain.out
    assert noisy.code == 3
    assert "has 1 NOD tests of 1 projects; a replay needs 5 of 2 at least" in noisy.err
    assert "--counts python" in noisy.err


def test_costs_may_be_those_that_we_measured(project, say, monkeypatch):
    monkeypatch.setenv("FLAKEHOUND_DATA", str(project))
    by_cause(project, tests=6)
    few = ("--flaky", "10", "--share", "0.1", "--counts", "by-cause")

    said = say(*POLICIES, *few, "--costs", "measured", "--json", "p.json")

    told = json.loads((project / "p.json").read_text())
    assert said.code == 0, said.err
    assert "costs measured" in said.out
    assert all(seconds > 0 for seconds in told["policies"]["index"]["seconds"] if seconds is not None)


def few_samples():
    """Tests of ten projects, of which lint's model is fitted at once."""
    return [
        Sample(
            project=f"project {number % 10}",
            file=f"test_{number % 3}.py",
            values={**dict.fromkeys(COLUMNS, 0.0), "rules": float(number % 4 == 0)},
            nod=number % 8 == 0,
            order_dependent=number % 9 == 0,
        )
        for number in range(200)
    ]


LINT_SCORES = ("--flaky", "10", "--share", "0.1", "--counts", "by-cause", "--scores", "lint")


def test_scores_may_be_those_of_lint(project, say, monkeypatch):
    monkeypatch.setenv("FLAKEHOUND_DATA", str(project))
    by_cause(project, tests=6)
    monkeypatch.setattr(static_table, "shipped_samples", lambda packed: few_samples())

    said = say(*POLICIES, *LINT_SCORES)

    assert said.code == 0, said.err
    assert "; scores of lint; seed 1" in said.out


@pytest.mark.slow
def test_scores_of_lint_are_those_of_all_projects_that_its_model_learns_from(project):
    by_cause(project, tests=6)

    # In a process in which coverage does not watch every sum of five fits.
    said = flakehound_in(project, *POLICIES, *LINT_SCORES, FLAKEHOUND_DATA=str(project))

    assert said.code == 0, said.err
    assert "; scores of lint; seed 1" in said.out


def test_scores_of_lint_have_an_auc_of_their_own(say):
    said = say(*POLICIES, "--scores", "lint", "--auc", "0.9")

    assert said.code == 2
    assert "try: flakehound study policies --seeds 3 --scores lint" in said.err


def test_parts_of_real_tests_bring_a_policy_that_measures(project, say):
    hunted(project, flaky=5)

    said = say(*POLICIES, "--store", STORE, "--scores", "parts")

    assert said.code == 0, said.err
    assert "scores, calls and features of real tests" in said.out
    assert "index, measured" in said.out


def test_a_score_that_real_tests_got_has_its_own_auc(project, say):
    said = say(*POLICIES, "--scores", "parts", "--auc", "0.9")

    assert said.code == 2
    assert "--scores parts has its own AUC" in said.err
