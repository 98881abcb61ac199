"""Output whose reader goes away, as in `flakehound hunt | head -1`: no traceback, nothing lost, code 141."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from cli_projects import LIMIT_S, QUICK, environment, flakehound_in, flakehound_with

from flakehound.cli.progress import shown_progress
from flakehound.store import Store

READER_GONE = 141


def unread(folder, *arguments, both=False):
    """A call whose output nobody reads, with its errors or without: its code, and what it said of errors."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "flakehound", *arguments],
        cwd=folder,
        env=environment(),
        stdout=writing,
        stderr=writing if both else subprocess.PIPE,
        timeout=LIMIT_S,
        check=False,
    )
    os.close(writing)
    return done.returncode, (done.stderr or b"").decode()


@pytest.mark.parametrize("both", [False, True], ids=["output", "output and errors"])
def test_a_hunt_whose_report_nobody_reads_keeps_everything(project, both):
    code, errors = unread(project, "hunt", *QUICK, "--json", "report.json", both=both)

    assert code == READER_GONE
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors
    assert len(json.loads((project / "report.json").read_text())["tests"]) == 2
    with Store.open(project / ".flakehound" / "flakehound.db", create=False) as store:
        session = store.latest_hunt()
        assert store.is_finished(session.id)
        assert json.loads(store.report(session.id))["runs"]["original"] == 3


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["hunt", "--help"], ["--version"], ["history"], ["explain", "victim"], ["replay", "victim"]],
    ids=" ".join,
)
def test_no_command_minds_a_reader_who_goes_away(shop, arguments):
    assert unread(shop.folder, *arguments) == (READER_GONE, "")


@pytest.mark.parametrize("arguments", [["explain", "no-such-test"], ["no-such-command"]], ids=" ".join)
def test_an_error_that_nobody_reads_is_no_traceback(shop, arguments):
    assert unread(shop.folder, *arguments, both=True)[0] == READER_GONE


def test_a_reader_of_the_first_line_gets_it(shop):
    process = subprocess.Popen(
        [sys.executable, "-m", "flakehound", "explain", "victim"],
        cwd=shop.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    first = process.stdout.readline()
    process.stdout.close()

    assert first.startswith("VICTIM")
    assert process.stderr.read() == ""
    assert process.wait(LIMIT_S) in (1, READER_GONE)  # it may have been done before we closed


def test_progress_that_nobody_watches_does_not_end_the_hunt(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        # Not in a fixture: pytest's own capturing takes the stream back before the test begins.
        monkeypatch.setattr(sys, "stderr", stream)

        with shown_progress() as progress:
            progress.message("2 tests")
            progress.message("3 tests")

        stream.flush()  # as Python does when it ends


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_hunt_without_output_or_errors_is_a_hunt(project, closed):
    command = " ".join([sys.executable, "-m", "flakehound", "hunt", *QUICK, closed])

    done = subprocess.run(["/bin/sh", "-c", command], cwd=project, env=environment(), timeout=LIMIT_S, check=False)

    assert done.returncode == 0


def test_a_name_the_terminal_cannot_show_costs_no_output(shop):
    said = flakehound_in(shop.folder, "explain", "luck", PYTHONIOENCODING="ascii")

    assert said.code == 1
    assert said.out.startswith("NOD")
    assert "Traceback" not in said.err


def test_a_store_that_fails_at_the_last_moment_costs_no_report(project):
    full = """
from flakehound.store import Store, StoreFull
def save_report(self, session_id, payload_json):
    raise StoreFull(self.path)
Store.save_report = save_report
"""

    said = flakehound_with(full, project, "hunt", *QUICK, "-q")

    assert said.code == 3
    assert "2 tests, 3 original runs" in said.out
    assert "no room left to write the store" in said.err
