"""Prepare a hunt: open the suite within its budget, open the store and begin or resume a session."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flakehound.app.hunt.earlier_hunts import (
    RESUMED_WITH_OTHER_CODE,
    EarlierHunts,
    earlier_durations_s,
    earlier_hunts,
    evidence_of_resumed,
    number_of_earlier_runs,
    with_seed_of_same_code,
)
from flakehound.app.hunt.options import HuntOptions
from flakehound.app.hunt.prepared import PreparedHunt, set_default_budget
from flakehound.app.limited_step import attempt_within
from flakehound.app.progress import SILENT, Progress, opening_observer
from flakehound.app.sessions.code_state import code_state, sources_state
from flakehound.app.sessions.new_session import new_session
from flakehound.app.sessions.plain_runs import import_pending_runs
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.core.code_state import CodeState
from flakehound.core.errors import UsageError, same_command
from flakehound.core.history import History
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits, first_test_limit_s
from flakehound.engine.suite.budget import DEFAULT_LIMIT_S, Budget
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.engine.suite.thread_limits import with_thread_limits
from flakehound.store import SessionCommand, SessionInfo, Store

# Share of the time in which git's history has to be read, else measured tests lack one feature of 18.
MAX_CHURN_SHARE = 0.25


@contextmanager
def prepare(options: HuntOptions, budget: Budget, progress: Progress = SILENT) -> Iterator[PreparedHunt]:
    """Open everything that a hunt needs, and close it at the end."""
    sources = sources_state(options.target.cwd, options.store_path)
    options = with_seed_of_same_code(options, sources)
    if not options.measure:
        # Not for measured runs: the number of threads is one of the features.
        target = with_thread_limits(options.target, options.jobs)
        with _open_hunt(options, budget, progress, target, sources) as hunt:
            yield hunt
        return
    from flakehound.app.measure import churn_file

    def write_churn() -> None:
        limit_s = math.inf if options.ends_by_count_only else MAX_CHURN_SHARE * budget.left_s
        attempt_within(
            file.write, limit_s, lambda: progress.show_state(lambda: "collecting: reading git's history")
        )

    with (
        churn_file(options.target) as file,
        _open_hunt(options, budget, progress, file.target, sources, while_collecting=write_churn) as hunt,
    ):
        yield hunt


@contextmanager
def _open_hunt(
    options: HuntOptions,
    budget: Budget,
    progress: Progress,
    target: Target,
    sources: str,
    while_collecting: Callable[[], None] = lambda: None,
) -> Iterator[PreparedHunt]:
    opened = open_suite(
        target,
        jobs=options.jobs,
        isolation=options.isolation,
        hash_seed=options.base_seed % 4294967295,
        limits=Limits(test_limit_s=options.test_limit_s or first_test_limit_s(budget.limit_s or DEFAULT_LIMIT_S)),
        budget=None if options.ends_by_count_only else budget,
        during_collection=while_collecting,
        report=opening_observer(progress),
    )
    try:
        set_default_budget(budget, opened)
        # The suite is opened first: a folder without tests should not get a store.
        with Store.open(options.store_path) as store:
            import_pending_runs(store)
            limit_s = options.test_limit_s
            state = code_state(options.target, opened.handshake, sources, test_limit_s=limit_s)
            yield _begin_session(options, progress, opened, store, budget, state)
    finally:
        opened.close()


def _begin_session(
    options: HuntOptions, progress: Progress, opened: OpenSuite, store: Store, budget: Budget, state: CodeState
) -> PreparedHunt:
    """Begin or resume the session, with the reference run as its first run if that has ended."""
    # Read first: an error in the settings must not leave a session in the store.
    characteristic_functions = characteristic_functions_in(Path(opened.handshake.rootdir))
    earlier = earlier_hunts(options, store, opened, state)
    session = options.resumed or store.begin(_session(options, opened, state, earlier), opened.suite)
    hunt = PreparedHunt(
        options=options,
        opened=opened,
        store=store,
        session=session,
        history=_history_so_far(options, store, opened, earlier, state),
        budget=budget,
        characteristic_functions=characteristic_functions,
        progress=progress,
        seed=_seed_of_this_start(session, store, earlier),
        earlier=earlier,
    )
    if not options.starts_afresh:
        hunt.history.times.remember(earlier_durations_s(store, session.rootdir))
    reference = [record for record in opened.reference if record.executed]
    hunt.save_runs(reference)
    for record in reference:
        hunt.history.add(record)
    return hunt


def _history_so_far(
    options: HuntOptions, store: Store, opened: OpenSuite, earlier: EarlierHunts, state: CodeState
) -> History:
    """The stored runs that count as evidence: of the resumed hunt, or of earlier hunts of the same code."""
    resumed = options.resumed
    if resumed is None or resumed.id is None:
        return History(opened.suite, earlier.evidence)
    if store.suite(resumed.id).order != opened.suite.order:
        raise UsageError(
            "the suite's tests are not the ones of the hunt that was to be resumed",
            remedy=same_command(resume=None),
        )
    if not state.is_same_code(resumed.settings.code_state):
        # From now on its runs are not all of one state of the code, so that no later hunt may go on from them.
        store.finish(resumed.id, RESUMED_WITH_OTHER_CODE)
    return History(opened.suite, evidence_of_resumed(store, resumed))


def _seed_of_this_start(session: SessionInfo, store: Store, earlier: EarlierHunts) -> int:
    """The base seed, changed by the number of runs that count already, so that no run is repeated.

    Two hunts that start at the same time, from the same runs, differ by their sessions.
    """
    earlier_runs = number_of_earlier_runs(store, (*earlier.same_code, session))
    if not earlier_runs:
        return session.base_seed
    other_session = (session.id or 0) * 7919 if earlier.same_code else 0
    return (session.base_seed * 31 + earlier_runs + other_session) % 2**31


def _session(options: HuntOptions, opened: OpenSuite, state: CodeState, earlier: EarlierHunts) -> SessionInfo:
    return new_session(
        options.target,
        opened,
        command=SessionCommand.HUNT,
        seed=options.base_seed,
        code_state=state,
        continues=earlier.same_code,
    )
