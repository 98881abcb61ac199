"""A hunt that ends before its time: Ctrl-C, and a killed process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_projects import SHOP, commands_in, environment, flakehound_in, parsed, paste, write_project

from flakehound.store import Store

OTHER = {"other/test_other.py": "def test_other():\n    pass\n"}


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "flakehound", *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(condition, patience_s=30.0):
    """Poll: how long a step takes depends on what else the machine does."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def wait_until_hunting(process, folder):
    """Until the hunt has begun and stored enough to tell something."""
    for line in process.stderr:
        if "hunting for" in line:
            break
    wait_until(lambda: runs_stored(folder) > 60)


def runs_stored(folder):
    """How many runs the store holds by now."""
    with Store.open(folder / ".flakehound" / "flakehound.db", create=False) as store:
        return sum(1 for session in store.sessions() for _record in store.records(session.id))


def processes_in(folder):
    """Processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "cwd").startswith(str(folder)):
                    found.append(entry.name)
            except OSError:
                continue
    return found


def processes_left_in(folder):
    """Processes that still work in a folder after a while."""
    deadline = time.monotonic() + 10.0
    while processes_in(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    return processes_in(folder)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    folder = write_project(tmp_path_factory.mktemp("interrupted"), {**SHOP, **OTHER})
    process = start(folder, "hunt", "--budget", "60s", "--seed", "3", "test_shop.py")
    wait_until_hunting(process, folder)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=300)
    return folder, process.returncode, out, err, time.monotonic() - began


def test_ctrl_c_ends_the_hunt_with_code_130(interrupted):
    _folder, code, _out, err, _took = interrupted

    assert code == 130
    assert "Traceback" not in err


def test_ctrl_c_ends_the_hunt_within_seconds(interrupted):
    assert interrupted[4] < 10.0


def test_ctrl_c_prints_what_is_known(interrupted):
    _folder, _code, out, _err, _took = interrupted

    assert "FAILING test_shop.py::test_wrong" in out
    assert "8 tests" in out
    assert out.splitlines()[-1].startswith("Interrupted before all was settled. Go on: flakehound hunt --resume")


def test_ctrl_c_leaves_no_process_behind(interrupted):
    assert processes_left_in(interrupted[0]) == []


def test_an_interrupted_hunt_can_be_explained(interrupted):
    assert flakehound_in(interrupted[0], "explain", "test_wrong").out.startswith("FAILING")


def test_the_command_that_resumes_an_interrupted_hunt_parses(interrupted):
    assert parsed(commands_in(interrupted[2])[-1]).params["resume"] is True


def test_the_command_that_resumes_an_interrupted_hunt_works_when_pasted(interrupted):
    folder, _code, out, _err, _took = interrupted

    said = paste(folder, commands_in(out)[-1].replace(" --resume", " --resume --budget 2s"))

    assert said.code == 1, said.err


def test_ctrl_c_during_collection_ends_with_code_130_and_without_a_traceback(tmp_path):
    slow = "import time\ntime.sleep(30)\n\n\ndef test_a():\n    pass\n"
    folder = write_project(tmp_path / "slow", {"test_a.py": slow})
    process = start(folder, "hunt")
    wait_until(lambda: len(processes_in(folder)) > 1)  # ours, and at least one that collects

    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=300)

    assert process.returncode == 130
    assert "Traceback" not in err
    assert processes_left_in(folder) == []


def test_a_killed_hunt_loses_nothing_it_had_stored_and_can_be_resumed(tmp_path):
    folder = write_project(tmp_path / "killed", SHOP)
    process = start(folder, "hunt", "--budget", "60s", "--seed", "3")
    wait_until_hunting(process, folder)
    process.kill()
    process.communicate(timeout=300)

    listed = flakehound_in(folder, "history")
    resumed = flakehound_in(folder, "hunt", "--resume", "--budget", "2s")

    assert "not finished" in listed.out
    assert parsed(commands_in(listed.out)[0]).params["resume"] is True
    assert resumed.code == 1, resumed.err
    assert len(flakehound_in(folder, "history").out.splitlines()) == 1


def test_a_hunt_that_is_interrupted_in_its_first_run_reports_what_that_has_shown(tmp_path):
    waiting = "import time, pytest\n\n@pytest.mark.parametrize('n', range(200))\ndef test_it(n):\n    assert n\n"
    folder = write_project(tmp_path, {"test_long.py": waiting + "    time.sleep(0.3)\n"})
    process = start(folder, "hunt", "--budget", "60s", "--seed", "3")
    for line in process.stderr:
        if "searching while the first run goes on" in line:
            break
    time.sleep(1.0)

    process.send_signal(signal.SIGINT)
    out, _err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "note: the first run was ended after " in out
    assert "test_long.py::test_it[0]" in out
    assert processes_left_in(folder) == []
