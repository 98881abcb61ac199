"""One hunt in a large suite with planted tests: run it as a user would, watch its time, and score it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from large_baseline import own_flaky_tests
from large_program import Program
from large_score import FAILING, PROVEN, UNRESOLVED, claims_of, is_exposed, judge_others, result_of
from large_suites import LargeSuite, environment_of, facts_of, fresh_copy, planted_project, planting_digest
from planted_check import check_of, verified_problems
from planted_tests import TRUTH, Plant, read_truth

KILL_AFTER_S = 60.0  # after an interrupt that had no effect
JOIN_LIMIT_S = 10.0  # a process that outlives the hunt can hold its output open


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntJob:
    """One hunt that is to be made."""

    suite: LargeSuite
    seed: int  # of the plants and of the hunt
    budget: str  # as given: 10m, 90s, third
    budget_s: float
    program: Program

    @property
    def key(self) -> list[Any]:
        """What distinguishes its result from others."""
        return [self.suite.name, self.seed, self.budget, planting_digest(), self.program.digest()]

    @property
    def folder(self) -> Path:
        """Of the project, the report and the output; hunts of two programs do not share it."""
        return self.suite.folder / "-".join(["hunt", self.budget, str(self.seed), self.program.digest()])

    @property
    def limit_s(self) -> float:
        """When a hunt that ignores its budget is interrupted."""
        return 4 * self.budget_s + 600


@dataclass(slots=True)
class WatchedHunt:
    """What was seen of a hunt from outside."""

    began_s: float  # seconds since 1970
    wall_s: float
    exit_code: int
    interrupted: bool  # by the benchmark, because it went on for too long
    first_output_s: float | None
    longest_silence_s: float


@dataclass(slots=True)
class HuntScore:
    """One line of the file of results."""

    key: list[Any]
    suite: str
    held_out: bool
    seed: int
    budget: str
    budget_s: float
    suite_s: float  # CPU time of one plain run
    tests: int
    load: float  # of the machine before the hunt
    watched: WatchedHunt
    tests_run: int = 0  # at least once
    runs: int = 0
    report_bytes: int = 0
    exit_code_right: bool = False
    left_behind: list[str] = field(default_factory=list)  # files that git does not know
    plants: list[dict[str, Any]] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=lambda: {"true": 0, "false": 0, "unverified": 0})
    unresolved_others: int = 0  # tests of the suite itself
    failing_others: int = 0
    unverified_plants: bool = False  # `--verify` has not been run
    notes: list[str] = field(default_factory=list)


def hunt_and_score(job: HuntJob) -> HuntScore:
    """Hunt in a fresh copy of the planted project and score the result."""
    folder = job.folder
    tree = fresh_copy(planted_project(job.suite, job.seed) / "tree", folder)
    _compile(job.suite, tree)
    load = os.getloadavg()[0]
    watched = _hunt(job, tree, folder)
    facts = facts_of(job.suite)
    score = HuntScore(
        key=job.key,
        suite=job.suite.name,
        held_out=job.suite.held_out,
        seed=job.seed,
        budget=job.budget,
        budget_s=job.budget_s,
        suite_s=facts.cpu_s,
        tests=len(facts.outcomes),
        load=round(load, 2),
        watched=watched,
        left_behind=_untracked(tree),
    )
    _add_findings(score, job, folder)
    return score


def _compile(suite: LargeSuite, tree: Path) -> None:
    """Collect the tests once, so that compiled files exist, as in a project that is in use."""
    command = [suite.python, "-m", "pytest", "--collect-only", "-q"]
    subprocess.run(command, cwd=tree, env=environment_of(tree), stdout=subprocess.DEVNULL, check=True)


def _hunt(job: HuntJob, tree: Path, folder: Path) -> WatchedHunt:
    report = folder / "report.json"
    options = ["--budget", f"{job.budget_s:.0f}s", "--seed", str(job.seed), "--python", job.suite.python]
    command = [*job.program.command, "hunt", *options, "--json", str(report)]
    env = job.program.environment(environment_of(tree))
    began, began_s = time.perf_counter(), time.time()
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    streams = {"progress.txt": process.stderr, "output.txt": process.stdout}
    watches = [_OutputWatch(stream, folder / name, began) for name, stream in streams.items() if stream]
    interrupted = _wait(process, job.limit_s)
    wall_s = time.perf_counter() - began
    for watch in watches:
        watch.join(JOIN_LIMIT_S)
    times_s = sorted(time_s for watch in watches for time_s in watch.times_s)
    return WatchedHunt(
        began_s=began_s,
        wall_s=round(wall_s, 1),
        exit_code=process.returncode,
        interrupted=interrupted,
        first_output_s=times_s[0] if times_s else None,
        longest_silence_s=_longest_silence_s(times_s, wall_s),
    )


def _wait(process: subprocess.Popen[str], limit_s: float) -> bool:
    """Wait for the end; a process that goes on for too long is interrupted, and killed if that has no effect."""
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(KILL_AFTER_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return True
    return False


class _OutputWatch(threading.Thread):
    """Writes the lines of one output of a process to a file and notes when each of them came."""

    def __init__(self, stream: IO[str], path: Path, began: float) -> None:
        super().__init__(daemon=True)
        self.times_s: list[float] = []
        self._lines = stream
        self._path = path
        self._began = began
        self.start()

    def run(self) -> None:
        with self._path.open("w") as file:
            for line in self._lines:
                self.times_s.append(round(time.perf_counter() - self._began, 1))
                file.write(f"{self.times_s[-1]:8.1f} {line}")
                file.flush()


def _longest_silence_s(times_s: Sequence[float], wall_s: float) -> float:
    moments = [0.0, *times_s, wall_s]
    return round(max(later - earlier for earlier, later in pairwise(moments)), 1)


def _untracked(tree: Path) -> list[str]:
    """The files that the hunt left in the project, except those that git ignores."""
    command = ["git", "status", "--porcelain", "--untracked-files=normal"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def _add_findings(score: HuntScore, job: HuntJob, folder: Path) -> None:
    """Compare the report and the store with the record of the plants."""
    planted = planted_project(job.suite, job.seed)
    problems = verified_problems(job.suite, job.seed)
    score.unverified_plants = problems is None
    plants = [plant for plant in read_truth(planted) if plant.test not in (problems or {})]
    database = folder / "tree" / ".flakehound" / "flakehound.db"
    stored = job.program.facts_of_store(database, planted / TRUTH, score.watched.began_s)
    score.tests_run, score.runs = stored["tests_run"], stored["runs"]
    report: Mapping[str, Any] = {"tests": []}
    if (path := folder / "report.json").exists():
        score.report_bytes = path.stat().st_size
        report = json.loads(path.read_text())
        score.tests = report["suite"]["tests"]
    tests = {test["id"]: test for test in report["tests"]}
    score.plants = [_row(plant, tests.get(plant.test), stored["times"][plant.test], score) for plant in plants]
    claims = claims_of(report)
    score.exit_code_right = score.watched.exit_code == (1 if claims else 0)
    own = [test for name, test in tests.items() if name not in {plant.test for plant in plants}]
    score.unresolved_others = sum(test["kind"] == UNRESOLVED for test in own)
    score.failing_others = sum(test["kind"] == FAILING for test in own)
    for verdict, note in judge_others(claims, plants, check_of(job.suite, job.seed), own_flaky_tests(job.suite)):
        score.others[verdict] += 1
        score.notes.append(note)


def _row(
    plant: Plant, test: Mapping[str, Any] | None, times: Mapping[str, float | None], score: HuntScore
) -> dict[str, Any]:
    """What the results keep of one plant."""
    result = result_of(plant, test)
    # The runs that prove it by definition may be missing, if the hunt concludes from other runs.
    proven_s = (times["proven_s"] or score.watched.wall_s) if result == PROVEN else None
    return {
        "test": plant.test,
        "kind": plant.kind,
        "via": plant.via,
        "rate": plant.rate,
        "joint": plant.joint,
        "by_process": plant.by_process,
        "required": plant.is_required,
        "result": result,
        "reported": test and test["kind"],
        "exposed": bool(test and is_exposed(test)),
        "exposed_s": times["exposed_s"],
        "proven_s": proven_s,
        "proof_at_end": result == PROVEN and not times["proven_s"],
    }


def append_score(path: Path, score: HuntScore) -> None:
    """Append the score to the file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(score)) + "\n")


def read_scores(path: Path) -> list[dict[str, Any]]:
    """All results so far; a line that an interrupted benchmark cut short is left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]
