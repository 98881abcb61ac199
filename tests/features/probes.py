"""A suite with known features: each test has a known value of one feature."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from flakehound.core.measurements import Measures
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

READS, WRITES, THREADS, CHILDREN, MEGABYTES, WAIT_S, SLEEPS = 7, 11, 4, 3, 60, 0.15, 30

SOURCE = """
    def covered(number):
        total = 0
        for n in range(3):
            total += n
        if number > 1000:
            total = -1
            total -= 1
        return total
    """

TESTS = f"""
    import os
    import subprocess
    import threading
    import time

    import pytest

    from probed import covered


    @pytest.fixture
    def opened(tmp_path):
        file = os.open(str(tmp_path / "probe"), os.O_RDWR | os.O_CREAT)
        yield file
        os.close(file)


    def test_nothing():
        pass


    def test_reads(opened):
        for _ in range({READS}):
            os.read(opened, 1)


    def test_writes(opened):
        for _ in range({WRITES}):
            os.write(opened, b"x")


    def test_prints_much():
        print("x" * 100000)


    def test_threads():
        gate = threading.Event()
        threads = [threading.Thread(target=gate.wait) for _ in range({THREADS})]
        for thread in threads:
            thread.start()
        gate.set()
        for thread in threads:
            thread.join()


    def test_threads_one_by_one():
        for _ in range({THREADS}):
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()


    def test_children():
        children = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range({CHILDREN})]
        for child in children:
            child.communicate()


    def test_children_one_by_one():
        for _ in range({CHILDREN}):
            subprocess.run(["true"], check=True)


    def test_forks():
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


    def test_memory():
        filled = bytearray(b"x") * ({MEGABYTES} * 1000 * 1000)
        del filled


    def test_after_memory():
        pass


    def test_waits():
        time.sleep({WAIT_S})


    def test_computes():
        end = time.process_time() + {WAIT_S}
        while time.process_time() < end:
            pass


    def test_sleeps_often():
        for _ in range({SLEEPS}):
            time.sleep(0.001)


    def test_covers():
        assert covered(1) == 3


    def test_covers_in_a_thread():
        thread = threading.Thread(target=covered, args=(1,))
        thread.start()
        thread.join()


    def test_covers_after_all_that():
        assert covered(1) == 3
    """


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text).lstrip("\n"))


def run_measured(
    folder: Path,
    isolation: Isolation,
    *,
    churn: Mapping[str, list[int]] | None = None,
    python: str = sys.executable,
    plain_first: bool = False,
) -> list[RunRecord]:
    """Measure one run of the suite in a folder, in its original order; if requested, after a plain run."""
    target = Target(python=python, cwd=folder, pytest_args=("-p", "no:cacheprovider", "-q"))
    if churn is not None:
        target = replace(target, churn=folder.parent / "churn.json")
        (folder.parent / "churn.json").write_text(json.dumps(churn))
    limits = Limits(test_limit_s=60.0)
    opened = open_suite(target, jobs=1, isolation=isolation, hash_seed=0, limits=limits, with_reference=False)
    try:
        plan = SingleRun(
            order=opened.suite.order,
            why="measured",
            setting=Setting.ORIGINAL,
            isolation=isolation,
            hash_seed=0,
        )
        plans = (
            [plan, replace(plan, measure_features=True)] if plain_first else [replace(plan, measure_features=True)]
        )
        return [record for plan in plans for record in opened.pool.run_now(plan, limits)]
    finally:
        opened.close()


def measures_by_name(record: RunRecord) -> dict[str, Measures]:
    return {test.rpartition("::")[2]: record.measures[position] for position, test, _outcome in record}
