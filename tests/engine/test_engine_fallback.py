"""Suites with handles that a fork cannot copy get a new interpreter per run, and a note says why."""

from __future__ import annotations

import pytest
from engine_samples import HASH_SEED

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

TEST = "def test_it(): pass\n"
THREAD = """
    import threading, time
    threading.Thread(target=time.sleep, args=(600,), name="heartbeat", daemon=True).start()
    """
HOLDING = {
    "a thread of a test module": ({"test_it.py": THREAD + "\n    " + TEST}, "heartbeat"),
    "a thread of a conftest": ({"conftest.py": THREAD, "test_it.py": TEST}, "heartbeat"),
    "a socket of a conftest": (
        {"conftest.py": "import socket\npair = socket.socketpair()\n", "test_it.py": TEST},
        "socket",
    ),
    "a database of a test module": (
        {"test_it.py": "import sqlite3\nopened = sqlite3.connect('some.db')\n" + TEST},
        "some.db",
    ),
    "a file that is being written": ({"test_it.py": "opened = open('some.log', 'w')\n" + TEST}, "some.log"),
    "an event loop": ({"test_it.py": "import asyncio\nloop = asyncio.new_event_loop()\n" + TEST}, "eventpoll"),
}
HARMLESS = {
    "conftest.py": """
        import logging, sqlite3, tempfile
        log = logging.FileHandler("appended.log")
        database = sqlite3.connect(":memory:")
        nothing = open("/dev/null", "w")
        scratch = tempfile.TemporaryFile()
        """,
    "lines": "one\ntwo\n",
    "test_it.py": """
        import os
        lines = open("lines")
        def test_reads(): assert lines.readline() == "one\\n"
        def test_reads_bytes(): assert os.read(lines.fileno(), 4) == b"one\\n"
        """,
}


@pytest.mark.parametrize("holding", HOLDING)
def test_handles_that_a_fork_cannot_copy_are_named(open_sample, holding):
    files, word = HOLDING[holding]
    sample = open_sample(files)

    reasons = sample.handshake.against_forking

    assert any(word in reason for reason in reasons), reasons
    assert sample.spawn().outcomes == (Outcome.PASSED,)


def test_a_suite_with_only_files_that_a_fork_can_copy_is_forked(open_sample):
    sample = open_sample(HARMLESS)

    assert sample.handshake.against_forking == ()


def test_every_fork_reads_an_open_file_from_the_place_collection_left(open_sample):
    sample = open_sample(HARMLESS)
    by_line, by_bytes = sample.ids

    outcomes = [sample.fork(test).last for test in (by_bytes, by_line, by_bytes, by_line)]

    assert outcomes == [Outcome.PASSED] * 4


def opened(sample, **options):
    usual = {"jobs": 1, "isolation": None, "hash_seed": HASH_SEED, "limits": Limits()}
    return open_suite(sample.target, **(usual | options))


def test_opening_such_a_suite_switches_to_new_interpreters_and_says_so(open_sample):
    files, _word = HOLDING["a thread of a test module"]
    sample = open_sample(files)

    suite = opened(sample)
    plan = SingleRun(order=suite.suite.order, why="a test", setting=Setting.ORIGINAL, isolation=suite.isolation)
    records = suite.pool.run_now(plan, Limits())
    suite.close()

    assert suite.isolation is Isolation.SPAWN
    assert any("heartbeat" in note for note in suite.notes)
    assert [record.outcomes for record in records] == [(Outcome.PASSED,)]
    assert not suite.folder.exists()


def test_opening_such_a_suite_forks_where_the_user_insists(open_sample):
    files, _word = HOLDING["a thread of a test module"]
    sample = open_sample(files)

    suite = opened(sample, isolation=Isolation.FORK)
    plan = SingleRun(order=suite.suite.order, why="a test", setting=Setting.ORIGINAL)
    records = suite.pool.run_now(plan, Limits())
    suite.close()

    assert suite.isolation is Isolation.FORK
    assert any("heartbeat" in note for note in suite.notes)
    assert [record.outcomes for record in records] == [(Outcome.PASSED,)]


def test_opening_a_plain_suite_forks_and_brings_the_reference(open_sample):
    sample = open_sample({"test_it.py": "def test_a(): pass\ndef test_b(): assert False\n"})

    suite = opened(sample)
    suite.close()

    assert suite.isolation is Isolation.FORK
    assert [record.outcomes for record in suite.reference] == [(Outcome.PASSED, Outcome.FAILED)]
    assert not suite.folder.exists()


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"test_it.py": "import nothing_of_this_name"}, "test_it.py"),
        ({"test_it.py": "x = 1"}, "no tests"),
        ({"test_it.py": TEST, "conftest.py": "import os; os._exit(7)"}, "code 7"),
        ({"test_it.py": TEST, "pytest.ini": "[pytest]\naddopts = --no-such-option\n"}, "code 4"),
    ],
    ids=["broken module", "no tests", "dying conftest", "unknown option"],
)
def test_a_suite_that_cannot_be_collected_is_an_error_with_a_remedy(open_sample, files, word):
    sample = open_sample(files)

    with pytest.raises(FlakehoundError) as caught:
        opened(sample)

    assert word in caught.value.what
    assert caught.value.remedy


def test_an_interpreter_without_pytest_is_an_error_with_a_remedy(open_sample, tmp_path):
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho \"No module named 'pytest'\" >&2\nexit 1\n")
    bare.chmod(0o755)
    sample = open_sample({"test_it.py": TEST}, python=str(bare))

    with pytest.raises(FlakehoundError) as caught:
        opened(sample)

    assert "has no pytest" in caught.value.what
    assert caught.value.remedy == f"{bare} -m pip install pytest"
