"""Runs pytest sessions in forks of one process that has imported pytest: a session starts in a tenth of the time.

Reads one JSON request per line, `{"arguments", "folder", "environment", "out", "err", "limit_s"}`, and answers
with the exit code. Nothing but pytest is imported ahead of a session.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import signal
import sys
import time

import pytest
from _pytest.config import default_plugins

for _name in default_plugins:
    importlib.import_module("_pytest." + _name)


def main() -> None:
    """Serve until the other side closes the pipe."""
    inspect.getmodule(main.__code__)  # visits every module once, which the first failure of a session would do
    gc.freeze()  # pytest collects garbage five times at the end of a session
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    for line in iter(requests.readline, ""):
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            requests.close()
            os.close(answers)
            _become(request)
            sys.exit(pytest.main())
        os.write(answers, b"%d\n" % _exit_code(process, request["limit_s"]))
    requests.close()


def _become(request) -> None:
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[0] = request["folder"]  # as `python -m` does
    sys.argv = [pytest.__file__.replace("__init__", "__main__"), *request["arguments"]]


def _exit_code(process: int, limit_s: float) -> int:
    end_s = time.monotonic() + limit_s
    pause_s = 0.001
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        if time.monotonic() > end_s:
            os.kill(process, signal.SIGKILL)
        time.sleep(pause_s)
        pause_s = min(0.02, pause_s * 1.5)


if __name__ == "__main__":
    main()
