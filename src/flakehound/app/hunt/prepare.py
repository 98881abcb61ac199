"""Prepare a hunt: open the suite, set its budget, open the store and begin or resume a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flakehound.app.hunt.causes_by_calls import reserved_for_causes_s
from flakehound.app.hunt.options import HuntOptions
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.progress import SILENT, Progress
from flakehound.app.sessions.new_session import new_session
from flakehound.app.sessions.plain_runs import import_pending_runs
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.core.errors import UsageError, same_command
from flakehound.core.history import History
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.store import SessionCommand, SessionInfo, Store


@contextmanager
def prepare(options: HuntOptions, progress: Progress = SILENT) -> Iterator[PreparedHunt]:
    """Open everything that a hunt needs, and close it at the end."""
    if not options.measure:
        with _open_hunt(options, progress, options.target) as hunt:
            yield hunt
        return
    from flakehound.app.measure import churn_file

    with (
        churn_file(options.target) as file,
        _open_hunt(options, progress, file.target, while_collecting=file.write) as hunt,
    ):
        yield hunt


@contextmanager
def _open_hunt(
    options: HuntOptions,
    progress: Progress,
    target: Target,
    while_collecting: Callable[[], None] = lambda: None,
) -> Iterator[PreparedHunt]:
    budget = Budget(limit_s=options.budget_s)
    opened = open_suite(
        target,
        jobs=options.jobs,
        isolation=options.isolation,
        hash_seed=options.base_seed % 4294967295,
        limits=Limits(test_limit_s=options.test_limit_s or FIRST_TEST_LIMIT_S),
        during_collection=while_collecting,
    )
    try:
        budget.set_default(opened.suite_s)
        budget.reserve(reserved_for_causes_s(budget.limit_s))
        # The suite is opened first: a folder without tests should not get a store.
        with Store.open(options.store_path) as store:
            import_pending_runs(store)
            yield _begin_session(options, progress, opened, store, budget)
    finally:
        opened.close()


def _begin_session(
    options: HuntOptions, progress: Progress, opened: OpenSuite, store: Store, budget: Budget
) -> PreparedHunt:
    """Begin or resume the session, with the reference run as its first run."""
    # Read first: an error in the settings must not leave a session in the store.
    characteristic_functions = characteristic_functions_in(Path(opened.handshake.rootdir))
    session = options.resumed or store.begin(_session(options, opened), opened.suite)
    hunt = PreparedHunt(
        options=options,
        opened=opened,
        store=store,
        session=session,
        history=_history_so_far(options, store, opened),
        budget=budget,
        characteristic_functions=characteristic_functions,
        progress=progress,
        seed=_seed_of_this_start(options, store),
    )
    reference = [record for record in opened.reference if record.executed]
    hunt.save_runs(reference)
    for record in reference:
        hunt.history.add(record)
    return hunt


def _history_so_far(options: HuntOptions, store: Store, opened: OpenSuite) -> History:
    """Empty for a new hunt; for a resumed one, the stored runs that count as evidence."""
    if options.resumed is None or options.resumed.id is None:
        return History(opened.suite)
    if store.suite(options.resumed.id).order != opened.suite.order:
        raise UsageError(
            "the suite's tests are not the ones of the hunt that was to be resumed",
            remedy=same_command(resume=None),
        )
    return History(opened.suite, stored_runs(store, options.resumed.id).evidence)


def _seed_of_this_start(options: HuntOptions, store: Store) -> int:
    """The base seed; a resumed hunt changes it by the number of stored runs, so that it repeats no run."""
    if options.resumed is None or options.resumed.id is None:
        return options.base_seed
    return (options.base_seed * 31 + store.number_of_runs(options.resumed.id)) % 2**31


def _session(options: HuntOptions, opened: OpenSuite) -> SessionInfo:
    return new_session(options.target, opened, command=SessionCommand.HUNT, seed=options.base_seed)
