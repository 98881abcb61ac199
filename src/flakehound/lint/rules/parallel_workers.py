"""Workers that run side by side."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_NAMES = frozenset(
    (
        "concurrent.futures.ThreadPoolExecutor", "concurrent.futures.ProcessPoolExecutor", "joblib.Parallel",
        "multiprocessing.Process", "multiprocessing.Pool", "multiprocessing.pool.ThreadPool",
        "multiprocessing.Manager",
        "multiprocessing.pool.Pool", "multiprocessing.dummy.Pool", "os.fork", "dask.distributed.Client",
        "multiprocessing.get_context", "distributed.Client", "gevent.pool.Pool",
        "pathos.multiprocessing.ProcessingPool",
        "multiprocessing.context.Process", "billiard.Process", "loky.get_reusable_executor",
    )
)  # fmt: skip


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _NAMES, ("concurrent.futures.thread.", "concurrent.futures.process.")):
        yield sign_for(call, "{} runs workers side by side, in an order that the scheduler decides")


RULE = LintRule(
    id="FH313",
    name="parallel-workers",
    cause=Cause.CONCURRENCY,
    title="Threads or processes side by side",
    why="Who finishes first, which worker gets which job, and whether a child starts in time differ "
    "from run to run.",
    fix="Assert what does not depend on the order, close the pool before you assert, or hand in an "
    "executor that runs in place.",
    bad="from multiprocessing import Pool\n\ndef test_ids():\n    with Pool(2) as pool:\n"
    "        assert len(set(pool.map(worker_id, range(9)))) == 2\n",
    good="def test_ids():\n    assert list(map(worker_id, range(2))) == [0, 1]\n",
    check=in_each_function(_find),
)
