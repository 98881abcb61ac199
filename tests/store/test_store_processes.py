"""A store that several processes use, or whose writer is killed."""

from __future__ import annotations

import signal
import subprocess
import sys

from store_samples import a_run, a_session, a_suite, child_environment

from flakehound.store import Store
from flakehound.store.opening import is_database

BATCH = 3
SUITE = 30

APPENDER = f"""
import sys
from pathlib import Path
from store_samples import a_run, a_suite
from flakehound.store import Store

store = Store.open(Path(sys.argv[1]), create=False)
order = a_suite({SUITE}).order
for i in range(int(sys.argv[2])):
    rotated = order[i % {SUITE}:] + order[:i % {SUITE}]
    store.append(1, [a_run(rotated, why=f"{{sys.argv[3]}} {{i}}") for _ in range({BATCH})])
    print(i + 1, flush=True)
"""

CREATOR = """
import sys
from pathlib import Path
from store_samples import a_session, a_suite
from flakehound.store import Store

sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    store.begin(a_session(), a_suite())
"""


def child(script, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=child_environment(),
    )


def test_every_append_that_returned_survives_kill_9(path):
    with Store.open(path) as store:
        session_id = store.begin(a_session(), a_suite(SUITE)).id
    appender = child(APPENDER, path, 10**9, "killed")
    seen = [next(appender.stdout) for _ in range(50)]

    appender.send_signal(signal.SIGKILL)
    seen += appender.communicate()[0].splitlines()

    returned = int(seen[-1])
    with Store.open(path, create=False) as store:
        runs = list(store.records(session_id))
    assert len(runs) >= returned * BATCH >= 150
    assert len(runs) % BATCH == 0
    assert [run.why for run in runs[::BATCH]] == [f"killed {i}" for i in range(len(runs) // BATCH)]


def test_a_store_can_be_appended_to_and_read_after_its_writer_was_killed(path):
    with Store.open(path) as store:
        session_id = store.begin(a_session(), a_suite(SUITE)).id
    appender = child(APPENDER, path, 10**9, "killed")
    next(appender.stdout)
    appender.send_signal(signal.SIGKILL)
    appender.communicate()

    with Store.open(path) as store:
        store.append(session_id, [a_run(a_suite(SUITE).order, why="resumed")])
        whys = [run.why for run in store.records(session_id)]

    assert whys[0] == "killed 0"
    assert whys[-1] == "resumed"


def test_processes_that_append_at_once_lose_nothing(path):
    with Store.open(path) as store:
        session_id = store.begin(a_session(), a_suite(SUITE)).id

    writers = [child(APPENDER, path, 40, name) for name in ("one", "two", "three")]
    for writer in writers:
        writer.communicate()

    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with Store.open(path, create=False) as store:
        runs = list(store.records(session_id))
    for name in ("one", "two", "three"):
        assert [r.why for r in runs if r.why.startswith(name)][::BATCH] == [f"{name} {i}" for i in range(40)]
    assert all(sorted(run.order) == sorted(a_suite(SUITE).order) for run in runs)


def test_processes_that_create_one_store_at_once_share_it(path):
    creators = [child(CREATOR, path) for _ in range(4)]
    for creator in creators:
        creator.stdin.write("go\n")
        creator.stdin.flush()
    for creator in creators:
        creator.communicate()

    assert [creator.returncode for creator in creators] == [0, 0, 0, 0]
    with Store.open(path, create=False) as store:
        assert len({session.uuid for session in store.sessions()}) == 4


def test_a_reader_in_the_middle_of_its_runs_does_not_hold_up_a_writer(path, store):
    order = a_suite(3).order
    session_id = store.begin(a_session(), a_suite(3)).id
    store.append(session_id, [a_run(order)] * 300)
    with Store.open(path, create=False) as reader:
        reading = reader.records(session_id)
        next(reading)

        store.append(session_id, [a_run(order)])
        tidied = store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

        assert tidied["busy"] == 0
        assert len(list(reading)) == 300


def test_checking_whether_a_file_is_a_store_releases_no_lock_on_it(tmp_path):
    path = tmp_path / "store.db"
    look = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT count(*) FROM run'); c.close()"
    )
    with Store.open(path) as store:
        store.begin(a_session(), a_suite())
        assert is_database(path)
        subprocess.run([sys.executable, "-c", look, str(path)], check=True)

        # Who closes the last connection removes the log: without our lock, the other process takes itself for it.
        assert path.with_name("store.db-wal").exists()
