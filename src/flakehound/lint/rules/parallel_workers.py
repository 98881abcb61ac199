"""Threads or processes run in parallel."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of, number_value

_PARALLEL_FUNCTIONS = frozenset(
    {
        "billiard.Process",
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.ThreadPoolExecutor",
        "dask.distributed.Client",
        "distributed.Client",
        "gevent.pool.Pool",
        "joblib.Parallel",
        "loky.get_reusable_executor",
        "multiprocessing.Manager",
        "multiprocessing.Pool",
        "multiprocessing.Process",
        "multiprocessing.context.Process",
        "multiprocessing.dummy.Pool",
        "multiprocessing.get_context",
        "multiprocessing.pool.Pool",
        "multiprocessing.pool.ThreadPool",
        "os.fork",
        "pathos.multiprocessing.ProcessingPool",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(
        function, _PARALLEL_FUNCTIONS, ("concurrent.futures.thread.", "concurrent.futures.process.")
    ):
        is_awaited = id(call.node) in function.facts.context_manager_calls
        weak = "it waits for its workers" if is_awaited or function.is_production else ""
        if number_value(call.argument(0, "max_workers")) == 1 or call.short_name == "get_context":
            weak = "it has one worker or none"
        yield sign_for(call, "{} runs workers side by side, in an order that the scheduler decides", weak)


RULE = LintRule(
    id="FH313",
    name="parallel-workers",
    cause=Cause.CONCURRENCY,
    title="Threads or processes in parallel",
    why="Which worker finishes first, which worker gets which job, and whether a child starts in time differ "
    "from run to run.",
    fix="Assert what does not depend on the order, close the pool before you assert, or pass an executor "
    "that runs jobs in the same thread.",
    bad="from multiprocessing import Pool\n\ndef test_ids():\n    with Pool(2) as pool:\n"
    "        assert len(set(pool.map(worker_id, range(9)))) == 2\n",
    good="def test_ids():\n    assert list(map(worker_id, range(2))) == [0, 1]\n",
    check=in_each_function(_find),
)
