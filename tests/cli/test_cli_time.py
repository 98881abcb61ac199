"""`flakehound hunt --budget`: it ends in time and says what it does, however long the suite takes."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cli_projects import LIMIT_S, environment, parsed, paste, write_project

# What a hunt may take is 1.05 times its budget and 5 s; a busy machine may take this much longer.
SLACK_S = 15.0
LONG = """
    import time, pytest

    @pytest.mark.parametrize("number", range(200))
    def test_waits(number):
        time.sleep(0.3)
"""
HANGING = """
    import signal, time

    def test_first():
        pass

    def test_hangs():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)

    def test_last():
        pass
"""


@dataclass
class TimedHunt:
    """A hunt, and when each of its lines was printed, in seconds since the start."""

    code: int = 0
    wall_s: float = 0.0
    out: str = ""
    lines: list[tuple[float, str]] = field(default_factory=list)  # of the error stream

    @property
    def err(self) -> str:
        return "\n".join(line for _time, line in self.lines)

    def first(self, beginning: str) -> float:
        return next(time_s for time_s, line in self.lines if line.startswith(beginning))

    @property
    def longest_silence_s(self) -> float:
        times = [0.0, *(time_s for time_s, _line in self.lines), self.wall_s]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


def timed_hunt(folder, *options: str) -> TimedHunt:
    """A hunt in another process, whose lines are read while it runs."""
    hunt = TimedHunt()
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "flakehound", "hunt", "--seed", "3", *options],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        end = threading.Timer(LIMIT_S, process.kill)
        end.start()

        def read() -> None:
            for line in process.stderr:
                hunt.lines.append((time.monotonic() - began, line.rstrip("\n")))

        reader = threading.Thread(target=read)
        reader.start()
        hunt.out = process.stdout.read()
        hunt.code = process.wait()
        hunt.wall_s = time.monotonic() - began
        reader.join()
        end.cancel()
    return hunt


def allowed_s(budget_s: float) -> float:
    return 1.05 * budget_s + 5.0 + SLACK_S


@pytest.fixture(scope="module")
def long_hunt(tmp_path_factory) -> TimedHunt:
    """A suite of a minute, hunted for a quarter of it."""
    return timed_hunt(write_project(tmp_path_factory.mktemp("long"), {"test_long.py": LONG}), "--budget", "16s")


def test_a_hunt_ends_in_time_although_one_run_of_the_suite_takes_longer(long_hunt):
    assert long_hunt.wall_s < allowed_s(16)
    assert long_hunt.code == 0, long_hunt.err


def test_a_run_that_was_cut_is_told_and_is_no_whole_run(long_hunt):
    assert "note: the first run was ended after " in long_hunt.out
    assert "original run" not in long_hunt.out


def test_something_is_seen_soon_and_then_now_and_then(long_hunt):
    assert long_hunt.lines[0][0] < 3 + SLACK_S
    assert long_hunt.first("200 tests, one run takes about ") < 10 + SLACK_S
    assert "first run: " in long_hunt.err
    assert long_hunt.longest_silence_s < 10 + SLACK_S


def test_a_hunt_in_new_interpreters_ends_in_time(tmp_path):
    hunt = timed_hunt(write_project(tmp_path, {"test_long.py": LONG}), "--budget", "8s", "--isolation", "spawn")

    assert hunt.wall_s < allowed_s(8)
    assert hunt.code == 0, hunt.err


@pytest.mark.parametrize("isolation", [(), ("--isolation", "spawn")])
def test_a_test_that_hangs_and_ignores_signals_does_not_delay_the_end(tmp_path, isolation):
    hunt = timed_hunt(write_project(tmp_path, {"test_hang.py": HANGING}), "--budget", "8s", *isolation)

    assert hunt.wall_s < allowed_s(8)
    assert hunt.code in (0, 1), hunt.err
    assert "note: the first run was ended after 1 of 3 tests" in hunt.out


def test_a_collection_that_takes_longer_than_the_budget_is_an_error_that_says_how_far_it_got(tmp_path):
    files = {"test_a.py": "def test_a(): pass\n", "test_b.py": "import time\ntime.sleep(600)\n"}
    hunt = timed_hunt(write_project(tmp_path, files), "--budget", "5s")

    assert hunt.wall_s < allowed_s(5)
    assert hunt.code == 3
    assert "still collecting after 5 s, the whole budget: 1 tests in 2 files so far, in test_b.py" in hunt.err
    assert "collecting: 1 tests in 2 files so far" in hunt.err
    assert hunt.lines[-1][1] == "try: flakehound hunt --budget 10m --seed 3"
    parsed(hunt.lines[-1][1].removeprefix("try: "))


def test_the_offered_budget_suffices_for_a_slow_collection(tmp_path):
    slow = "import time\ntime.sleep(6)\ndef test_a(): pass\n"
    project = write_project(tmp_path, {"test_slow.py": slow})
    hunt = timed_hunt(project, "--budget", "4s")

    said = paste(project, hunt.lines[-1][1].removeprefix("try: "), "--runs", "1", "--shuffles", "0")

    assert hunt.code == 3
    assert said.code == 0, said.err


def test_a_collection_that_is_shorter_than_the_budget_leaves_the_rest_for_runs(tmp_path):
    slow = "import time\ntime.sleep(4)\n\ndef test_a():\n    pass\n"
    hunt = timed_hunt(write_project(tmp_path, {"test_slow.py": slow}), "--budget", "15s")

    assert hunt.wall_s < allowed_s(15)
    assert hunt.code == 0, hunt.err
    assert "1 test" in hunt.out


def test_no_process_of_a_cut_suite_is_left(tmp_path):
    project = write_project(tmp_path, {"test_hang.py": HANGING})

    timed_hunt(project, "--budget", "6s")

    assert _processes_in(project) == []


def _processes_in(folder) -> list[str]:
    """The processes whose working folder it is."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.path.samefile(process / "cwd", folder):
                found.append(process.name)
    return found
