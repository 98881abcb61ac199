"""The event log still works after tests disturb files, and raises an error if it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flakehound_inside
from flakehound_inside.events import EventLog, ResultsLost


def test_a_full_disk_is_an_error_of_its_own():
    log = EventLog("/dev/full")

    with pytest.raises(ResultsLost):
        log.write("s 0 1.0")


def test_a_log_whose_descriptor_was_closed_is_opened_again(tmp_path):
    log = EventLog(str(tmp_path / "events"))
    os.close(log._fd)

    log.write("s 0 1.0")

    assert (tmp_path / "events").read_text() == "s 0 1.0\n"


def test_a_log_never_writes_into_the_file_that_got_its_number(tmp_path):
    log = EventLog(str(tmp_path / "events"))
    os.close(log._fd)
    other = os.open(tmp_path / "other", os.O_WRONLY | os.O_CREAT)
    os.dup2(other, log._fd)

    log.write("s 0 1.0")

    assert (tmp_path / "events").read_text() == "s 0 1.0\n"
    assert (tmp_path / "other").read_text() == ""
    os.close(other)


def test_a_forked_process_is_silent_until_it_adopts_the_log(tmp_path):
    log = EventLog(str(tmp_path / "events"))

    if os.fork() == 0:
        log.write("from a fork")
        log.adopt()
        log.write("from a branch")
        os._exit(0)
    os.wait()

    assert (tmp_path / "events").read_text() == "from a branch\n"


def test_half_a_surrogate_pair_is_written_as_its_escape(tmp_path):
    log = EventLog(str(tmp_path / "events"))

    log.write("x \udcff")

    assert (tmp_path / "events").read_bytes() == b"x \\udcff\n"


AMONG_LIMITS = """
import os, resource, sys
from flakehound_inside.events import EventLog
log = EventLog(sys.argv[1])
log.write("before")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
log.write("after")
assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 0
os.closerange(0, 256)
resource.setrlimit(resource.RLIMIT_NOFILE, (1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
log.write("at last")
os._exit(0 if log._fd > 2 else 9)
"""


def test_resource_limits_of_a_test_do_not_apply_to_the_log(tmp_path):
    path = tmp_path / "events"
    env = {**os.environ, "PYTHONPATH": str(Path(flakehound_inside.__file__).parents[1])}

    done = subprocess.run([sys.executable, "-c", AMONG_LIMITS, str(path)], env=env, check=False)

    assert done.returncode == 0
    assert path.read_text().split("\n\n") == ["before", "after", "at last\n"]
