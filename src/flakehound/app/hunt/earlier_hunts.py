"""What earlier hunts of a suite mean for a new one: evidence if the code is the same, else only knowledge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.app.hunt.options import HuntOptions
from flakehound.app.sessions.continued_runs import continued_sessions, runs_of_sessions
from flakehound.app.sessions.plain_runs import DIRTY
from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.core.code_state import CodeState
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.core.records import RunRecord
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.engine.git.tree_state import number_of_changed_files
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.store import SessionInfo, Store
from flakehound.store.opening import is_database

MAX_EARLIER_HUNTS = 100  # that one hunt goes on from; the newest ones
RESUMED_WITH_OTHER_CODE = (
    "resumed with other code"  # note of an ending: its runs are of several states of the code
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierHunts:
    """The earlier hunts of a suite, as far as they matter for the one that begins."""

    same_code: tuple[SessionInfo, ...] = ()  # oldest first; their runs are evidence
    evidence: tuple[RunRecord, ...] = ()  # oldest first
    observations: tuple[RunRecord, ...] = ()  # runs that compared states; no evidence for kinds
    newest: SessionInfo | None = None  # the last hunt of the same folder; None: there is none, or it is not used
    changed: str = ""  # what differs from the newest hunt, in words; empty: nothing

    def describe(self, tests_first: int) -> str:
        """One line on where this hunt goes on; `tests_first` tests of earlier hunts run first. Empty: nowhere."""
        if self.same_code:
            hunts = f"{len(self.same_code)} earlier hunt{'s' if len(self.same_code) > 1 else ''}"
            return f"goes on from {hunts} of the same code ({len(self.evidence)} runs)"
        if self.newest is None:
            return ""
        if tests_first:
            tests = f"{tests_first} tests that were" if tests_first > 1 else "one test that was"
            return f"{self.changed}: {tests} flaky or not settled before run first"
        return f"{self.changed}: its runs do not count"


def with_seed_of_same_code(options: HuntOptions, sources: str) -> HuntOptions:
    """The options with the seed of the last hunt if the project is the same, unless the user named a seed.

    With its seed, the orders go on where they ended, and forks have the same hash seed: outcomes under two hash
    seeds must not be compared.
    """
    if options.resumed or options.starts_afresh or options.seed_is_given or not _has_store(options.store_path):
        return options
    with Store.open(options.store_path, create=False) as store:
        for session in store.hunts(str(options.target.cwd))[:MAX_EARLIER_HUNTS]:
            is_same = sources and session.settings.code_state.sources == sources
            if is_same and session.settings.pytest_args == options.target.pytest_args:
                return replace(options, seed=session.base_seed)
    return options


def _has_store(store_path: Path) -> bool:
    return os.path.isfile(store_path) and os.path.getsize(store_path) > 0 and is_database(store_path)


def earlier_hunts(options: HuntOptions, store: Store, opened: OpenSuite, state: CodeState) -> EarlierHunts:
    """The hunts that a new hunt goes on from; none for a resumed hunt, which has its own runs."""
    if options.resumed is not None or options.starts_afresh:
        return EarlierHunts()
    hunts = store.hunts(str(options.target.cwd))
    same = [
        session
        for session in hunts[:MAX_EARLIER_HUNTS]
        if state.is_same_code(session.settings.code_state)
        and _has_same_hash_seed(session, opened)
        and session.id is not None
        and RESUMED_WITH_OTHER_CODE not in store.ending_notes(session.id)
    ]
    same.reverse()
    runs = runs_of_sessions(store, same)
    return EarlierHunts(
        same_code=tuple(same),
        evidence=runs.evidence,
        observations=runs.observations,
        newest=hunts[0] if hunts else None,
        changed="" if same or not hunts else _change_in_words(hunts[0], opened, state),
    )


def _has_same_hash_seed(session: SessionInfo, opened: OpenSuite) -> bool:
    return "PYTHONHASHSEED" in os.environ or session.settings.hash_seed == opened.hash_seed


def _change_in_words(last: SessionInfo, opened: OpenSuite, state: CodeState) -> str:
    before = last.settings.code_state
    if not before.is_known or not state.is_known:
        return "it is not known whether the code is that of the last hunt"
    if before.sources != state.sources:
        return f"the code has changed since the last hunt{_number_of_files(last, opened)}"
    if before.packages != state.packages:
        return "installed packages have changed since the last hunt"
    if before.tests != state.tests or before.interpreter != state.interpreter:
        return "the last hunt had other tests, options or versions"
    return "the last hunt had another seed"


def _number_of_files(last: SessionInfo, opened: OpenSuite) -> str:
    """How many files have changed, if the last hunt ran exactly a commit that this clone has."""
    if last.commit is None or last.commit.endswith(DIRTY):
        return ""
    repository = open_repository(opened.target.cwd)
    number = number_of_changed_files(repository, last.commit) if isinstance(repository, Repository) else None
    return f" ({number} file{'s' if number > 1 else ''})" if number else ""


def evidence_of_resumed(store: Store, session: SessionInfo) -> tuple[RunRecord, ...]:
    """All runs that count for a stored hunt: those of the hunts that it went on from, then its own."""
    assert session.id is not None
    continued = runs_of_sessions(store, continued_sessions(store, session))
    return (*continued.evidence, *stored_runs(store, session.id).evidence)


def number_of_earlier_runs(store: Store, sessions: Sequence[SessionInfo]) -> int:
    """How many runs the sessions have in the store, so that new seeds can differ from theirs."""
    return sum(store.number_of_runs(session.id) for session in sessions if session.id is not None)


def earlier_durations_s(store: Store, rootdir: str) -> dict[NodeId, float]:
    """How long the tests took in the newest run of the original order of the last hunts, whatever their code."""
    durations: dict[NodeId, float] = {}
    for session in store.hunts(rootdir)[:3]:
        record = store.newest_record(session.id, Setting.ORIGINAL) if session.id is not None else None
        for test, spent_s in zip(record.order, record.durations_s, strict=True) if record else ():
            if spent_s > 0:
                durations.setdefault(test, spent_s)
    return durations
