"""A hunt that is killed at any moment loses nothing it had finished, and goes on where it was."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flakehound.store import Store

MOMENTS = int(os.environ.get("FLAKEHOUND_KILLS", "5"))
SUITE = """
import random, time

def test_luck():
    assert random.random() > 0.3

state = []

def test_victim():
    assert not state

def test_polluter():
    state.append(1)

def test_slow():
    time.sleep(0.02)
"""


def hunt(tree: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "flakehound", "hunt", "--quiet", *more]
    return subprocess.Popen(command, cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def runs_in(store: Path) -> int:
    """Runs committed so far, read beside the writer; 0 before there is a store."""
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as reader:
            return reader.execute("SELECT count(*) FROM run").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.slow
def test_a_killed_hunt_loses_no_finished_run_and_can_be_resumed(tmp_path):
    (tmp_path / "test_it.py").write_text(SUITE)
    store = tmp_path / ".flakehound" / "flakehound.db"
    rng = random.Random(20)
    first = hunt(tmp_path, "--runs", "2", "--shuffles", "1", "--seed", "1")
    assert first.wait(timeout=300) in (0, 1)

    for _moment in range(MOMENTS):
        process = hunt(tmp_path, "--resume", "--budget", "60s")
        time.sleep(rng.uniform(0.2, 3.0))
        finished = runs_in(store)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=300)
        process.stderr.close()
        with Store.open(store, create=False) as again:
            session = again.latest_hunt()
            assert len(list(again.records(session.id))) == runs_in(store) >= finished

    report = tmp_path / "report.json"
    last = hunt(tmp_path, "--resume", "--budget", "20s", "--json", str(report))
    assert last.wait(timeout=300) == 1
    kinds = {test["id"]: test["kind"] for test in json.loads(report.read_text())["tests"]}
    assert kinds == {
        "test_it.py::test_luck": "nod",
        "test_it.py::test_victim": "victim",
        "test_it.py::test_polluter": "steady",
        "test_it.py::test_slow": "steady",
    }
