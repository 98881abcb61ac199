"""pytest sessions in forks of one process that has imported pytest, for tests that need many of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_SERVER = Path(__file__).with_name("session_server.py")
_LIMIT_S = 300


class SessionServer:
    """A process that has imported pytest and runs each session in a fork; it ends when its pipe is closed."""

    def __init__(
        self, environment: Mapping[str, str], python: str = sys.executable, flags: Sequence[str] = ()
    ) -> None:
        self._process = subprocess.Popen(
            [python, *flags, str(_SERVER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, arguments: list[str], folder: Path, variables: dict[str, str], out: Path, err: Path) -> int:
        """The exit code of one session."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": variables,
            "out": str(out),
            "err": str(err),
            "limit_s": _LIMIT_S,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())
