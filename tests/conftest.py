"""Our tests start as on a laptop, wherever they run: a build server's variables change what flakehound does.

They have a cache of their own, one for all workers: models are fitted once, and the user's cache is not touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from child_coverage import ChildCoverage

_NAMES = ("CI", "TF_BUILD", "PYTHONDONTWRITEBYTECODE")  # with the last, every process that we start compiles us
_PREFIXES = ("CI_", "GITHUB_", "GITLAB_", "SYSTEM_")
_CACHE = pytest.StashKey[str]()
_CHILDREN = pytest.StashKey[ChildCoverage]()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # workers inherit it
        config.stash[_CACHE] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="fh-cache-")
    for name in list(os.environ):
        if name in _NAMES or name.startswith(_PREFIXES):
            del os.environ[name]
    # Whoever starts us in the background of a script lets us ignore Ctrl-C, and with us all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    config = session.config
    if not hasattr(config, "workerinput") and getattr(config.option, "cov_source", None):
        config.stash[_CHILDREN] = ChildCoverage(Path(config.stash[_CACHE]))
        config.stash[_CHILDREN].start()


@pytest.hookimpl(wrapper=True, trylast=True)  # inside pytest-cov's own, which reports behind its yield
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    result = yield
    if _CHILDREN in session.config.stash:
        session.config.stash[_CHILDREN].save()
    return result


def pytest_unconfigure(config: pytest.Config) -> None:
    if _CACHE in config.stash:
        shutil.rmtree(config.stash[_CACHE], ignore_errors=True)
