"""Leave a green run where the controller takes it into the store later; SQLite would cost every green run."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from flakehound_inside.triage.journal import Journal

_MOST = 200  # runs that wait for the controller; it comes with every red run and every hunt


class Spool:
    """One run that may be left behind."""

    def __init__(self, config: pytest.Config, store: str | None, started_s: float) -> None:
        root = str(config.rootpath)
        usual = os.path.join(root, ".flakehound", "flakehound.db")
        path = os.path.join(str(config.invocation_params.dir), store) if store else usual
        self._folder = os.path.join(os.path.dirname(path), "runs")
        self._hide = None if store else os.path.dirname(path)
        self._rootdir = root
        self._started_s = started_s

    def leave(self, journals: Sequence[Journal], seed: int, checkout: Mapping[str, Any]) -> None:
        """Write the run down, under a name of its own; the oldest go when nobody fetches them."""
        run = {
            "rootdir": self._rootdir,
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "pytest": pytest.__version__,
            "seed": seed,
            "started_s": self._started_s,
            "sessions": [journal.session_facts() for journal in journals],
            **checkout,
        }
        self._make_folder()
        name = "%017.6f-%d.json" % (self._started_s, os.getpid())
        path = os.path.join(self._folder, name)
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(isolated.dumps(run))
        os.replace(path + ".part", path)
        waiting = sorted(other for other in os.listdir(self._folder) if other.endswith(".json"))
        for other in waiting[:-_MOST]:
            os.unlink(os.path.join(self._folder, other))

    def _make_folder(self) -> None:
        if self._hide is not None and not os.path.isdir(self._hide):
            os.makedirs(self._hide)
            with open(os.path.join(self._hide, ".gitignore"), "w", encoding="utf-8") as file:
                file.write("*\n")
        os.makedirs(self._folder, exist_ok=True)
