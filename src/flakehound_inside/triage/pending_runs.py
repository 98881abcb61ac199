"""Passing runs that wait as files next to the store until flakehound imports them; SQLite would take longer."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from flakehound_inside.triage.journal import SessionJournal

_MAX_RUNS = 200  # that wait; every failed run and every hunt imports them


class PendingRuns:
    """The folder of pending runs, to which one run is added."""

    def __init__(self, config: pytest.Config, store: str | None, started_s: float) -> None:
        root = str(config.rootpath)
        default = os.path.join(root, ".flakehound", "flakehound.db")
        path = os.path.join(str(config.invocation_params.dir), store) if store else default
        self._folder = os.path.join(os.path.dirname(path), "runs")
        self._folder_to_ignore = None if store else os.path.dirname(path)  # by git
        self._rootdir = root
        self._started_s = started_s

    def add(self, journals: Sequence[SessionJournal], seed: int, git_facts: Mapping[str, Any]) -> None:
        """Write the run to a new file; the oldest files are removed if there are too many."""
        run = {
            "rootdir": self._rootdir,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "pytest": pytest.__version__,
            "seed": seed,
            "started_s": self._started_s,
            "sessions": [journal.session_facts() for journal in journals],
            **git_facts,
        }
        self._make_folder()
        name = "%017.6f-%d.json" % (self._started_s, os.getpid())
        path = os.path.join(self._folder, name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(isolated.dumps(run))
        os.replace(path + ".part", path)
        pending = sorted(other for other in os.listdir(self._folder) if other.endswith(".json"))
        for other in pending[:-_MAX_RUNS]:
            os.unlink(os.path.join(self._folder, other))

    def _make_folder(self) -> None:
        folder = self._folder_to_ignore
        if folder is not None and not os.path.isdir(folder):
            os.makedirs(folder)
            with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
                file.write("*\n")
        os.makedirs(self._folder, exist_ok=True)
