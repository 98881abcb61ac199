"""Our tests start as on a laptop, wherever they run: a build server's variables change what flakehound does."""

from __future__ import annotations

import os
import signal
import threading

_NAMES = ("CI", "TF_BUILD", "PYTHONDONTWRITEBYTECODE")  # with the last, every process that we start compiles us
_PREFIXES = ("CI_", "GITHUB_", "GITLAB_", "SYSTEM_")


def pytest_configure() -> None:
    for name in list(os.environ):
        if name in _NAMES or name.startswith(_PREFIXES):
            del os.environ[name]
    # Whoever starts us in the background of a script lets us ignore Ctrl-C, and with us all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
