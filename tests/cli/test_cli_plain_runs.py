"""Plain pytest runs with --flakehound: left beside the store, taken in later, remembered by triage and hunt."""

from __future__ import annotations

import json
import subprocess

import pytest
from cli_projects import flakehound_in, pytest_in

from flakehound.app.sessions.plain_runs import (
    PlainRun,
    import_pending_runs,
    past_runs,
    plain_run_record,
    recent_failures,
    save_run,
)
from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Setting
from flakehound.core.records import Failure
from flakehound.store import Store

A, B = NodeId("test_a.py::test_a"), NodeId("test_a.py::test_b")
FAILURE = Failure(phase="call", exception="AssertionError", message="no", where="test_a.py:3", text="no")
HOW = signature_of(FAILURE)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "kept" / "s.db") as opened:
        yield opened


def a_plain_run(tmp_path, letters, *, commit="c0", branch="main", at=1.0):
    failures = {place: FAILURE for place, letter in enumerate(letters) if letter == "F"}
    record = plain_run_record(
        (A, B)[: len(letters)], tuple(map(Outcome, letters)), [0.1] * len(letters), failures, at
    )
    return PlainRun(
        rootdir=tmp_path,
        python="3.11.7",
        pytest="9.0",
        commit=commit,
        branch=branch,
        seed=1,
        started_s=at,
        records=(record,),
    )


def of(store, tmp_path, test, commits=("c0",)):
    return past_runs(store, tmp_path, test, HOW, commits=frozenset(commits))


def test_a_kept_run_is_no_hunt_and_comes_back_newest_first(store, tmp_path):
    save_run(store, a_plain_run(tmp_path, "PP", at=1.0))
    save_run(store, a_plain_run(tmp_path, "PF", at=2.0))

    runs = store.plain_runs(str(tmp_path), 10)

    assert [run.started_s for run in runs] == [2.0, 1.0]
    assert store.latest_hunt() is None
    (record,) = store.records(runs[0].id)
    assert record.outcomes == (Outcome.PASSED, Outcome.FAILED)
    assert record.setting is Setting.ORIGINAL


@pytest.mark.parametrize("commit", ["c9", "c0-dirty", None])
def test_runs_of_other_commits_in_unclean_checkouts_or_without_git_prove_nothing(store, tmp_path, commit):
    save_run(store, a_plain_run(tmp_path, "PF", commit=commit))

    assert of(store, tmp_path, B) is None


def test_a_test_that_never_failed_before_has_no_past(store, tmp_path):
    save_run(store, a_plain_run(tmp_path, "PF"))

    assert of(store, tmp_path, A) is None


def test_the_past_counts_failures_runs_branches_and_failures_alike(store, tmp_path):
    save_run(store, a_plain_run(tmp_path, "PF", branch="one", at=1.0))
    save_run(store, a_plain_run(tmp_path, "PF", branch="two", at=2.0))
    save_run(store, a_plain_run(tmp_path, "PP", branch="two", at=3.0))

    past = of(store, tmp_path, B)

    assert str(past) == "failed 2 of the last 3 runs on 2 branches"
    assert past.same_failure == 2


def test_tests_that_failed_lately_come_most_frequent_first(store, tmp_path):
    save_run(store, a_plain_run(tmp_path, "FP"))
    save_run(store, a_plain_run(tmp_path, "FF"))

    assert list(recent_failures(store, str(tmp_path))) == [A, B]


def test_runs_left_beside_the_store_are_taken_in_once_and_broken_ones_dropped(store, tmp_path):
    folder = store.path.parent / "runs"
    folder.mkdir()
    run = {
        "rootdir": str(tmp_path),
        "python": "3.11.7",
        "pytest": "9.0",
        "commit": "c0",
        "branch": "main",
        "seed": 1,
        "started_s": 1.0,
        "sessions": [{"worker": "", "order": [A, B], "outcomes": "PP", "durations_us": [100000, 100000]}],
    }
    (folder / "1.json").write_text(json.dumps(run))
    (folder / "2.json").write_text(json.dumps(run)[:40])

    assert import_pending_runs(store) == 1
    assert import_pending_runs(store) == 0
    assert not list(folder.glob("*.json"))
    assert len(store.plain_runs(str(tmp_path), 10)) == 1


# As a user meets it


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    source = "import os\n\ndef test_a():\n    assert not os.environ.get('BAD')\n\ndef test_b():\n    pass\n"
    (folder / "test_a.py").write_text(source)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def test_a_green_run_is_listed_and_leaves_the_checkout_clean(checkout):
    pytest_in(checkout, "--flakehound")

    said = flakehound_in(checkout, "history")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=checkout, capture_output=True, text=True)

    assert "pytest: 2 tests, none failed" in said.out
    assert "__pycache__" in status.stdout or status.stdout == ""
    assert ".flakehound" not in status.stdout


def test_a_hunt_looks_first_at_what_failed_before_and_says_so(checkout):
    pytest_in(checkout, "--flakehound", "--flakehound-forked=0", "--flakehound-no-intersect", BAD="1")

    said = flakehound_in(checkout, "hunt", "--runs", "2", "--shuffles", "1", "-q")

    assert "test_a.py::test_a failed 1 of the last 1 runs on 1 branch" in " ".join(said.out.split())
    with Store.open(checkout / ".flakehound" / "flakehound.db", create=False) as store:
        reasons = {record.why for record in store.records(store.latest_hunt().id)}
    assert f"does {A} fail again, as in an earlier pytest run?" in reasons


def test_explain_and_replay_pass_over_plain_runs(checkout):
    pytest_in(checkout, "--flakehound")
    flakehound_in(checkout, "history")

    said = flakehound_in(checkout, "explain", "test_a")

    assert said.code == 2
    assert "there is no hunt" in said.err
