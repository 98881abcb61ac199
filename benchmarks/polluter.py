"""Time to find the polluter of a given victim, against detect-test-pollution from PyPI.

On six 1.16.0, whose prepared tree and environment `subjects.py` also uses, and on a generated suite of 512 tests
whose collection takes 2 s. No search can be faster than one collection and log2 n forks; the last row compares
with this limit. Both sides are whole commands, interpreter start included, on all cores; the peer uses only one.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from prepared_subjects import SUBJECTS_FOLDER, prepare_subject
from running import (
    NO_OTHER_PLUGINS,
    PYTEST_ARGS,
    open_collected_suite,
    run_all,
    run_flakehound,
    run_plain_pytest,
    target_in,
    temporary_folder,
)
from side_by_side import (
    Row,
    benchmark_parser,
    measure_in_turns,
    ratio_per_turn,
    report_results,
    speedup_row,
    wall_s,
)
from suites import write_slow_collection_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting, SingleRun

PEER = "detect-test-pollution"
# Not `-m`: the peer would pass its own module name to pytest.
PEER_MAIN = "import sys, detect_test_pollution; sys.exit(detect_test_pollution.main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One victim whose polluter is known."""

    folder: Path
    python: str
    victim: str
    polluter: str
    tests: str  # the path pytest collects
    env: Mapping[str, str]


def install_peer(folder: Path) -> Path:
    """Install the peer in a folder, so that no environment is changed."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(folder), PEER]
    subprocess.run(command, check=True)
    return folder


def run_flakehound_polluter(case: Case) -> None:
    """Find the polluter with flakehound; it must be the known one."""
    answer = case.folder / "answer.json"
    done = run_flakehound(
        case.folder, "polluter", "--python", case.python, "--json", str(answer), case.victim, "--", case.tests,
        env=case.env,
    )  # fmt: skip
    assert answer.exists(), done.stderr
    found = json.loads(answer.read_text())["polluters"]
    answer.unlink()
    assert found == [case.polluter], (found, done.stdout)


def run_peer(case: Case, installed: Path) -> None:
    """Find the polluter with the peer; it must be the known one."""
    done = subprocess.run(
        [case.python, "-c", PEER_MAIN, "--failing-test", case.victim, "--tests", case.tests],
        cwd=case.folder,
        env={**os.environ, **case.env, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"the polluting test is: {case.polluter}" in done.stdout, done.stdout + done.stderr


def sides_of(case: Case, installed: Path) -> dict[str, Callable[[], float]]:
    """Both sides, as functions that return their wall time."""
    run_flakehound_polluter(case)  # compiles the files
    return {
        "ours": lambda: wall_s(partial(run_flakehound_polluter, case)),
        "peer": lambda: wall_s(partial(run_peer, case, installed)),
    }


def measure_six(installed: Path, repeats: int, subjects: Path) -> Row:
    """The row of six 1.16.0."""
    subject = prepare_subject("six-1.16.0", subjects)
    label = next(label for label in subject.labels if label["kind"] == "victim")
    with temporary_folder() as folder:
        shutil.copytree(subject.tree, folder / "six", symlinks=True)
        case = Case(
            folder=folder / "six",
            python=subject.python,
            victim=label["test"],
            polluter=label["polluters"][0],
            tests="test_six.py",
            env={"PYTEST_ADDOPTS": "-p no:cacheprovider -o addopts="},
        )
        took = measure_in_turns(repeats, sides_of(case, installed))
    return speedup_row("six 1.16.0, 200 tests, test_lazy", ours=took["ours"], peer=took["peer"], times=4)


def measure_slow_collection(installed: Path, repeats: int) -> list[Row]:
    """The rows of the generated suite."""
    with temporary_folder() as folder:
        planted = write_slow_collection_suite(folder, tests=512, collection_s=2.0)
        case = Case(
            folder=folder,
            python=sys.executable,
            victim=planted.victim,
            polluter=planted.polluter,
            tests=".",
            env={**NO_OTHER_PLUGINS, "PYTEST_ADDOPTS": " ".join(PYTEST_ARGS)},
        )
        limit = partial(_limit_s, folder, planted.victim, 512)
        took = measure_in_turns(repeats, {**sides_of(case, installed), "limit": limit})
    return [
        speedup_row("512 tests, collection takes 2 s", ours=took["ours"], peer=took["peer"], times=10),
        Row(
            job="the same, against one `pytest --collect-only` and log2 n = 9 forks",
            ours=took["ours"].text(),
            peer=f"limit {took['limit'].text()}",
            measured=f"{ratio_per_turn(took['ours'], took['limit']).text('×')} the limit",
        ),
    ]


def _limit_s(folder: Path, victim: str, tests: int) -> float:
    collection_s = wall_s(partial(run_plain_pytest, folder, "--collect-only"))
    with open_collected_suite(target_in(folder), jobs=1) as opened:
        order = (NodeId(victim),)
        forks = round(math.log2(tests))
        plans = (SingleRun(order=order, why="fork", setting=Setting.ALONE, seed=0) for _ in range(forks))
        return collection_s + wall_s(lambda: list(run_all(opened, plans)))


def main() -> None:
    parser = benchmark_parser(__doc__)
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    options = parser.parse_args()
    with temporary_folder() as folder:
        installed = install_peer(folder)
        rows = [measure_six(installed, options.repeats, options.subjects)]
        report_results(rows + measure_slow_collection(installed, options.repeats), options.json)


if __name__ == "__main__":
    main()
