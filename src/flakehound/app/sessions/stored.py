"""Read the newest hunt back from the store, and judge its runs again."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.app.sessions.commands import hunt_command, store_arguments
from flakehound.app.sessions.continued_runs import continued_sessions, runs_of_sessions
from flakehound.app.sessions.default_paths import current_folder
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.app.sessions.store_file import existing_store
from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.app.sessions.target import default_python, plain_arguments, target_of
from flakehound.calls.characteristic_functions import default_functions
from flakehound.calls.verdict_causes import traces_of_last_test, with_likely_causes
from flakehound.core.errors import UsageError, same_command
from flakehound.core.history import History
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.engine.processes.launch import Target
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.options import SearchOptions
from flakehound.report.hunt.result import HuntResult, SpentFacts, SuiteFacts
from flakehound.store import SessionInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHunt:
    """An earlier hunt: its runs, and the verdicts that follow from them."""

    store_path: Path
    session: SessionInfo
    history: History
    result: HuntResult

    @property
    def target(self) -> Target:
        """The suite and interpreter of the hunt."""
        return target_of(self.session)

    def hunt_command(self, *options: str) -> str:
        """The command that hunts the same suite again, from any folder."""
        target = self.target
        python = [] if target.python == default_python() else ["--python", target.python]
        plugins = [word for name in target.keep_plugins for word in ("--keep-plugin", name)]
        memory = [] if target.memory_bytes is None else ["--memory-limit", str(target.memory_bytes)]
        all_options = [*options, *python, *plugins, *memory]
        return hunt_command(self.store_path, *all_options, folder=target.cwd, pytest_args=target.pytest_args)

    def check_suite_exists(self) -> None:
        """Refuse to run a suite whose folder or interpreter is gone."""
        target = self.target
        if not os.path.isdir(target.cwd):
            remedy = hunt_command(self.store_path)
            raise UsageError(f"the folder of that hunt is gone: {str(target.cwd)!r}", remedy=remedy)
        if not os.access(target.python, os.X_OK):
            remedy = hunt_command(self.store_path, folder=target.cwd, pytest_args=target.pytest_args)
            raise UsageError(f"the interpreter of that hunt is gone: {target.python!r}", remedy=remedy)

    def verdict_on(self, named: str) -> Verdict:
        """The verdict on the test that the user named by its id, or by a part of an id that only one test has."""
        exact = [verdict for verdict in self.result.verdicts if verdict.id == named]
        matches = exact or [verdict for verdict in self.result.verdicts if named in verdict.id]
        if len(matches) == 1:
            return matches[0]
        raise self._not_one_test(named, matches)

    def _not_one_test(self, named: str, matches: list[Verdict]) -> UsageError:
        ids = [verdict.id for verdict in self.result.verdicts]
        similar = [verdict.id for verdict in matches[:3]] or difflib.get_close_matches(named, ids, n=3, cutoff=0.0)
        message = f"{named!r} names {len(matches)} tests" if matches else f"the last hunt knows no test {named!r}"
        remedy = same_command(test=similar[0]) if similar else self.hunt_command()
        return UsageError(message, remedy=remedy, detail="\n".join(similar))


def read_last_hunt(store_path: Path) -> StoredHunt:
    """The newest hunt of the current folder; if it has none, the newest hunt of the store."""
    with existing_store(store_path) as store:
        session = store.latest_hunt(str(current_folder())) or store.latest_hunt()
        if session is None or session.id is None:
            raise no_hunt_in(store_path)
        continued, own = continued_sessions(store, session), stored_runs(store, session.id)
        earlier = runs_of_sessions(store, continued)
        history = History(store.suite(session.id), (*earlier.evidence, *own.evidence))
        traced = [record for info in (*continued, session) for record in store.traced_records(info.id or 0)]
    result = _result_of(session, history, (*earlier.observations, *own.observations), store_path)
    result = _with_causes(replace(result, spent=_spent(own.evidence)), traced)
    return StoredHunt(store_path=store_path, session=session, history=history, result=result)


def _with_causes(result: HuntResult, traced: Sequence[RunRecord]) -> HuntResult:
    known = characteristic_functions_in(Path(result.suite.rootdir)) if traced else default_functions()
    verdicts = (
        with_likely_causes(verdict, list(traces_of_last_test(traced, verdict.id)), known)
        for verdict in result.verdicts
    )
    return replace(result, verdicts=tuple(verdicts))


def no_hunt_in(store_path: Path) -> UsageError:
    """The error for a store without a hunt."""
    return UsageError(f"there is no hunt in {str(store_path)!r}", remedy=hunt_command(store_path))


def _result_of(
    session: SessionInfo, history: History, observations: Sequence[RunRecord], store_path: Path
) -> HuntResult:
    options = SearchOptions(seed=session.base_seed, isolation=session.isolation)
    agenda = Agenda(history, options, lambda: 0.0)
    return HuntResult(
        verdicts=tuple(judge(history, agenda.conclude(), observations)),
        suite=SuiteFacts(
            tests=len(history.suite.tests),
            original_order_s=0.0,
            python=session.python,
            pytest=session.pytest,
            commit=session.commit,
            rootdir=session.settings.rootdir or session.rootdir,
        ),
        spent=_spent(history.records),
        seed=session.base_seed,
        cwd=session.rootdir,
        python_path=session.settings.python,
        pytest_args=plain_arguments(session.settings.pytest_args, session.settings.switched_off),
        store=str(store_path) if store_arguments(store_path) else None,
    )


def _spent(records: Sequence[RunRecord]) -> SpentFacts:
    return SpentFacts(
        wall_s=0.0,
        cpu_s=sum(record.usage.cpu_s for record in records),
        test_runs=sum(record.executed for record in records),
        processes=len(records),
    )
