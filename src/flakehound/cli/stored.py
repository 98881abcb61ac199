"""Read the last hunt back from the store."""

from __future__ import annotations

import difflib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from flakehound.cli.target import DEFAULT_STORE, plain_arguments
from flakehound.core.errors import UsageError
from flakehound.core.history import History
from flakehound.core.verdicts import Verdict
from flakehound.engine.launch import Target
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.judgement import judge
from flakehound.hunt.options import HuntOptions
from flakehound.report.summary import Hunted, SpentFacts, SuiteFacts
from flakehound.store import SessionInfo, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHunt:
    """A hunt of the past: what it saw and what follows from it."""

    session: SessionInfo
    history: History
    hunted: Hunted

    @property
    def target(self) -> Target:
        """The suite as it was hunted."""
        options = self.session.options
        return Target(
            python=options["python"],
            cwd=Path(self.session.rootdir),
            pytest_args=tuple(json.loads(options["pytest_args"])),
            keep_plugins=tuple(json.loads(options.get("keep_plugins", "[]"))),
            memory_bytes=json.loads(options.get("memory_bytes", "null")),
        )

    def verdict_on(self, named: str, command: str) -> Verdict:
        """The verdict on the test the user means: its id, or a part of it that only one test has.

        `command` is the one the user gave, for the remedy when it is unclear which test is meant.
        """
        exact = [v for v in self.hunted.verdicts if v.id == named]
        parts = exact or [v for v in self.hunted.verdicts if named in v.id]
        if len(parts) == 1:
            return parts[0]
        raise _unclear(named, parts, self.hunted, command)


def _unclear(named: str, parts: list[Verdict], hunted: Hunted, command: str) -> UsageError:
    ids = [verdict.id for verdict in hunted.verdicts]
    near = [v.id for v in parts[:3]] or difflib.get_close_matches(named, ids, n=3, cutoff=0.0)
    what = f"{named!r} names {len(parts)} tests" if parts else f"the last hunt knows no test {named!r}"
    store = ["--store", hunted.store] if hunted.store else []
    remedy = shlex.join(["flakehound", command, *store, near[0]]) if near else "flakehound hunt"
    return UsageError(what, remedy=remedy, detail="\n".join(near))


def read_last_hunt(store_path: Path) -> StoredHunt:
    """The newest hunt of the current folder, or of the store when there is none."""
    with Store.open(store_path, create=False) as store:
        session = store.latest(str(Path.cwd())) or store.latest()
        if session is None or session.id is None:
            raise UsageError(f"there is no hunt in {str(store_path)!r}", remedy="flakehound hunt")
        history = History(store.suite(session.id), store.records(session.id))
    return StoredHunt(session=session, history=history, hunted=_hunted(session, history, store_path))


def _hunted(session: SessionInfo, history: History, store_path: Path) -> Hunted:
    options = HuntOptions(seed=session.base_seed, isolation=session.isolation)
    agenda = Agenda(history, options, lambda: 0.0)
    return Hunted(
        verdicts=tuple(judge(history, agenda.conclude())),
        suite=SuiteFacts(
            tests=len(history.suite.tests),
            original_order_s=0.0,
            python=session.python,
            pytest=session.pytest,
            commit=session.commit,
            rootdir=session.options.get("rootdir", session.rootdir),
        ),
        spent=SpentFacts(
            wall_s=0.0,
            cpu_s=sum(record.usage.cpu_s for record in history.records),
            test_runs=sum(record.executed for record in history.records),
            processes=len(history.records),
        ),
        seed=session.base_seed,
        cwd=session.rootdir,
        python_path=session.options.get("python", "python"),
        pytest_args=plain_arguments(
            json.loads(session.options.get("pytest_args", "[]")),
            json.loads(session.options.get("switched_off", "[]")),
        ),
        store=str(store_path) if store_path != DEFAULT_STORE else None,
    )
