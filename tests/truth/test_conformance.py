"""The engine tells the truth: real suites end the same under plain pytest, under fork and under spawn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting, SingleRun
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner

from .subjects import Subject, chosen_keys, prepared

WORDS = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.ERROR: "error",
    Outcome.SKIPPED: "skipped",
    Outcome.XFAILED: "xfailed",
    Outcome.XPASSED: "xpassed",
}
RUNS = 2
HERE = Path(__file__).parent


def plain_outcomes(subject: Subject, tree: Path, folder: Path) -> dict[str, str]:
    told = str(folder / "plain.json")
    env = {**os.environ, "PYTHONPATH": str(HERE), "PLAIN_OUTCOMES": told, "PYTHONHASHSEED": "7"}
    command = [subject.python, "-m", "pytest", "-q", "-p", "plain_outcomes", *subject.pytest_args]
    subprocess.run([str(part) for part in command], cwd=tree, env=env, capture_output=True, timeout=300)
    return json.loads((folder / "plain.json").read_text())


def fork_outcomes(target: Target, folder: Path) -> list[dict[str, str]]:
    server = ForkServer(target, folder, slots=1, hash_seed=7)
    try:
        order = server.wait_until_collected().suite.order
        plan = SingleRun(order=order, why="conformance", setting=Setting.ORIGINAL)
        return [_words(server.slots[0].run(plan, Limits(), ())[0]) for _ in range(RUNS)]
    finally:
        server.close()


def spawn_outcomes(target: Target, folder: Path) -> dict[str, str]:
    plan = SingleRun(order=(), why="conformance", setting=Setting.ORIGINAL, hash_seed=7)
    records, _handshake = Spawner(target, folder).run_single(plan, Limits(), ())
    return _words(records[0])


def _words(record) -> dict[str, str]:
    return {test: WORDS.get(outcome, outcome.name) for _place, test, outcome in record}


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("key", chosen_keys() or [pytest.param("none", marks=pytest.mark.skip("no ../shared"))])
def test_every_outcome_equals_plain_pytests(key, tmp_path):
    subject = prepared(key)
    tree = tmp_path / "tree"
    shutil.copytree(subject.tree, tree, symlinks=True)
    target = Target(python=str(subject.python), cwd=tree, pytest_args=subject.pytest_args)

    plain = [plain_outcomes(subject, tree, tmp_path) for _ in range(RUNS)]
    forked = fork_outcomes(target, tmp_path / "s")
    spawned = [spawn_outcomes(target, tmp_path / "n") for _ in range(RUNS)]

    steady = {test for test in plain[0] if plain[0][test] == plain[1].get(test) and test not in subject.flaky}
    assert steady
    assert all(run.keys() == plain[0].keys() for run in forked + spawned)
    for run in forked + spawned:
        different = {test: (plain[0][test], run[test]) for test in steady if plain[0][test] != run[test]}
        assert not different
