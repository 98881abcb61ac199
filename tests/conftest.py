"""Our tests start as on a laptop, wherever they run: a build server's variables change what flakehound does.

They have a cache and a folder of their own, one for all workers: models are fitted once, projects that many tests
read are hunted once (`shared_once.py`), and the user's cache is not touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path

import pytest
from line_markers import LineMarkers

_NAMES = ("CI", "TF_BUILD", "PYTHONDONTWRITEBYTECODE")  # with the last, every process that we start compiles us
_PREFIXES = ("CI_", "GITHUB_", "GITLAB_", "SYSTEM_")
_FOLDER = pytest.StashKey[Path]()
_MARKERS = pytest.StashKey[LineMarkers]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-lines", action="store_true", help="write which lines of src/ ran to .coverage; needs -n"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers inherit it
        config.stash[_FOLDER] = folder = Path(tempfile.mkdtemp(prefix="fh-tests-"))
        for variable, name in (("XDG_CACHE_HOME", "cache"), ("FH_SHARED_BY_TESTS", "shared")):
            (folder / name).mkdir()
            os.environ[variable] = str(folder / name)
    for name in list(os.environ):
        if name in _NAMES or name.startswith(_PREFIXES):
            del os.environ[name]
    # Whoever starts us in the background of a script lets us ignore Ctrl-C, and with us all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if config.option.record_lines and not hasattr(config, "workerinput"):
        if not config.getoption("numprocesses", None):
            raise pytest.UsageError("--record-lines counts what pytest-xdist's workers run: add -n 3")
        config.stash[_MARKERS] = LineMarkers(config.stash[_FOLDER])
        config.stash[_MARKERS].start()


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _MARKERS in session.config.stash:
        session.config.stash[_MARKERS].save()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _FOLDER in config.stash:
        shutil.rmtree(config.stash[_FOLDER], ignore_errors=True)
