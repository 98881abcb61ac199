"""Trace the suite of a hunt once: which tests call a characteristic function."""

from __future__ import annotations

import math

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.trace.run import TRACE_WHY, run_traced
from flakehound.calls.causes import likely_causes
from flakehound.calls.trace_plan import trace_for
from flakehound.core.calls import TraceMode
from flakehound.core.costs import TRACED_SUITE, TRACED_SUITE_SPARSELY
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting, SingleRun
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits
from flakehound.hunt.limits import MAX_SUITE_TRACE_SHARE


def calls_in_suite(hunt: PreparedHunt, max_s: float = math.inf) -> dict[NodeId, bool]:
    """Trace every test once and return whether it calls a characteristic function.

    Tests that ended their process are missing, and those that were not reached within `max_s` seconds.
    """
    opened, functions = hunt.opened, hunt.characteristic_functions
    plan = SingleRun(
        order=opened.suite.order,
        why=TRACE_WHY,
        setting=Setting.ORIGINAL,
        isolation=opened.isolation,
        seed=0,
        hash_seed=opened.hash_seed,
        trace=trace_for(functions, _mode(opened.handshake.python)),
    )
    limits = Limits(test_limit_s=hunt.options.test_limit_s or FIRST_TEST_LIMIT_S)
    hunt.progress.message(f"tracing what {len(plan.order)} tests call ...")
    if not hunt.options.ends_by_count_only:
        max_s = min(max_s, hunt.budget.left_s)
    records = run_traced(opened, plan, limits, hunt.progress, max_s)
    hunt.save_runs([record for record in records if record.calls])
    return {
        record.order[position]: bool(likely_causes([trace], functions))
        for record in records
        for position, trace in record.calls.items()
    }


def calls_if_affordable(hunt: PreparedHunt) -> dict[NodeId, bool]:
    """`calls_in_suite` if it is expected to take only a small share of the budget; else nothing.

    The user did not ask for the trace, so it is ended when it takes twice that share.
    """
    max_s = MAX_SUITE_TRACE_SHARE * (hunt.budget.limit_s or 0.0)
    return calls_in_suite(hunt, 2 * max_s) if 0 < expected_trace_s(hunt) <= max_s else {}


def expected_trace_s(hunt: PreparedHunt) -> float:
    """How long a traced run is expected to take; 0 if the times of the suite are not known."""
    tests_s = sum(sum(record.durations_s) for record in hunt.opened.reference)
    is_sparse = _traces_every_call_cheaply(hunt.opened.handshake.python)
    return tests_s * (TRACED_SUITE_SPARSELY if is_sparse else TRACED_SUITE).factor


def _mode(python: str) -> TraceMode:
    """The cheapest mode that misses no call. Before Python 3.12 the sparse mode sees only a test's first calls."""
    return TraceMode.CHARACTERISTIC if _traces_every_call_cheaply(python) else TraceMode.ALL


def _traces_every_call_cheaply(python: str) -> bool:
    return tuple(map(int, python.split(".")[:2])) >= (3, 12)
