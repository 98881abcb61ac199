"""A pytest that is ended while the controller works leaves neither processes nor folders."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from plugin_projects import BROKEN, Suite, environment, has

# Fails at once in the process of pytest; in every other one it takes longer than any test may wait.
HANGS_ELSEWHERE = """
    import os, pathlib, time

    def test_it():
        first = pathlib.Path("first.txt")
        if not first.exists():
            first.write_text(str(os.getpid()))
        if first.read_text() != str(os.getpid()):
            pathlib.Path("elsewhere.txt").touch()
            time.sleep(600)
        assert 0
"""


@pytest.fixture
def temporary_folder(tmp_path: Path) -> Path:
    (tmp_path / "temp").mkdir()
    return tmp_path / "temp"


def started(suite: Suite, temporary_folder: Path, **variables: str) -> subprocess.Popen[bytes]:
    """A pytest with the real controller, unless the variables describe a stand-in."""
    told = environment(suite.folder, **variables)
    if not variables:
        del told["FLAKEHOUND_TRIAGE_COMMAND"]
    return subprocess.Popen(
        suite.command("--flakehound"),
        cwd=suite.folder,
        env={**told, "TMPDIR": str(temporary_folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for(path: Path) -> None:
    until = time.monotonic() + 60
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert path.exists()


def own_names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith("fh-")]


@pytest.mark.skipif(not has("click"), reason="needs what the controller imports")
@pytest.mark.parametrize(
    ("end", "number"), [(os.kill, signal.SIGTERM), (os.kill, signal.SIGKILL), (os.killpg, signal.SIGTERM)]
)
def test_the_controller_ends_with_its_pytest_and_cleans_up(suite, temporary_folder, end, number):
    suite.write({"test_it.py": HANGS_ELSEWHERE})
    process = started(suite, temporary_folder)
    wait_for(suite.folder / "elsewhere.txt")
    others = psutil.Process(process.pid).children(recursive=True)
    assert others
    assert own_names(temporary_folder)

    end(process.pid, number)
    assert process.wait(timeout=60) == -number

    _gone, alive = psutil.wait_procs(others, timeout=60)
    assert alive == []
    assert own_names(temporary_folder) == []


def test_a_handler_of_the_project_ends_pytest_in_its_own_way(suite, temporary_folder):
    suite.write(
        {
            "test_it.py": BROKEN,
            "conftest.py": """
                import signal, sys

                def end(number, frame): sys.exit(7)

                signal.signal(signal.SIGTERM, end)
            """,
        }
    )
    process = started(suite, temporary_folder, STAND_IN="hang")
    wait_for(suite.folder / "facts.env")
    [controller] = psutil.Process(process.pid).children()

    process.terminate()
    code = process.wait(timeout=60)

    assert code == 7
    assert not controller.is_running() or controller.status() == psutil.STATUS_ZOMBIE
    assert own_names(temporary_folder) == []
