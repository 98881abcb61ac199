"""Workers that run side by side."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, told

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


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES, ("concurrent.futures.thread.", "concurrent.futures.process.")):
        yield told(call, "{} runs workers side by side, in an order that the scheduler decides")


RULE = Rule(
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
    check=in_each(_look),
)
