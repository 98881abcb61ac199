"""The polluter of a given victim: `flakehound polluter` against detect-test-pollution from PyPI.

On six 1.16.0, whose prepared tree and environment `subjects.py` also uses, and on a generated suite of 512
tests whose collection takes 2 s. The limit that any search meets is one collection plus log2 n forks; we say
how near we come. Both are whole commands, interpreter start included, on all cores; the peer never uses more
than one.
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

from prepared import SUBJECTS, prepared_subject
from running import BARE, PYTEST_ARGS, bare, engine_on, flakehound_command, plain_pytest, run_all, temporary_folder
from side_by_side import Row, arguments, at_least, in_turns, ratio, told, wall_s
from suites import slow_collection_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting, SingleRun

PEER = "detect-test-pollution"
# Not `-m`: it hands its own module name on to pytest.
PEER_MAIN = "import sys, detect_test_pollution; sys.exit(detect_test_pollution.main())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One victim to explain."""

    folder: Path
    python: str
    victim: str
    polluter: str
    tests: str  # the path pytest collects
    env: Mapping[str, str]


def install_peer(folder: Path) -> Path:
    """The peer in a folder of its own, so that no environment is changed."""
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", str(folder), PEER]
    subprocess.run(command, check=True)
    return folder


def by_us(case: Case) -> None:
    answer = case.folder / "answer.json"
    done = flakehound_command(
        case.folder, "polluter", "--python", case.python, "--json", str(answer), case.victim, "--", case.tests,
        env=case.env,
    )  # fmt: skip
    assert answer.exists(), done.stderr
    found = json.loads(answer.read_text())["polluters"]
    answer.unlink()
    assert found == [case.polluter], (found, done.stdout)


def by_peer(case: Case, installed: Path) -> None:
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
    by_us(case)  # compiles the files
    return {
        "ours": lambda: wall_s(partial(by_us, case)),
        "peer": lambda: wall_s(partial(by_peer, case, installed)),
    }


def on_six(installed: Path, repeats: int, subjects: Path) -> Row:
    subject = prepared_subject("six-1.16.0", subjects)
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
        took = in_turns(repeats, sides_of(case, installed))
    return at_least(
        "polluter of test_lazy in six 1.16.0, 200 tests", ours=took["ours"], peer=took["peer"], times=4
    )


def on_slow_collection(installed: Path, repeats: int) -> list[Row]:
    with temporary_folder() as folder:
        planted = slow_collection_suite(folder, tests=512, collection_s=2.0)
        case = Case(
            folder=folder,
            python=sys.executable,
            victim=planted.victim,
            polluter=planted.polluter,
            tests=".",
            env={**BARE, "PYTEST_ADDOPTS": " ".join(PYTEST_ARGS)},
        )
        limit = partial(_limit_s, folder, planted.victim, 512)
        took = in_turns(repeats, {**sides_of(case, installed), "limit": limit})
    job = "polluter among 512 tests whose collection takes 2 s"
    return [
        at_least(job, ours=took["ours"], peer=took["peer"], times=10),
        Row(
            job="the same against the limit: one collection (`pytest --collect-only`) and log2 n = 9 forks",
            ours=took["ours"].text(),
            peer=f"limit {took['limit'].text()}",
            measured=f"{ratio(took['ours'], took['limit']).text('×')} the limit",
        ),
    ]


def _limit_s(folder: Path, victim: str, tests: int) -> float:
    collection_s = wall_s(partial(plain_pytest, folder, "--collect-only"))
    with engine_on(bare(folder), jobs=1) as opened:
        order = (NodeId(victim),)
        forks = round(math.log2(tests))
        plans = (SingleRun(order=order, why="fork", setting=Setting.ALONE, seed=0) for _ in range(forks))
        return collection_s + wall_s(lambda: list(run_all(opened, plans)))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared subjects (default %(default)s)")
    chosen = parser.parse_args()
    with temporary_folder() as folder:
        installed = install_peer(folder)
        rows = [on_six(installed, chosen.repeats, chosen.subjects)]
        told(rows + on_slow_collection(installed, chosen.repeats), chosen.json)


if __name__ == "__main__":
    main()
