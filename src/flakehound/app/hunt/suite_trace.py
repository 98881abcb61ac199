"""One traced run of a hunt's suite: which tests call a characteristic function."""

from __future__ import annotations

import math

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.trace.run import WHY, run_traced
from flakehound.calls.causes import likely_causes
from flakehound.calls.trace_plan import trace_for
from flakehound.core.calls import TraceMode
from flakehound.core.costs import TRACED_SUITE, TRACED_SUITE_SPARSELY
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting, SingleRun
from flakehound.engine.processes.limits import FIRST_TEST_LIMIT_S, Limits

SHARE = 0.05  # of a hunt's time that may be spent on it, where nobody asked for it


def calls_in_suite(hunt: PreparedHunt, most_s: float = math.inf) -> dict[NodeId, bool]:
    """Trace every test once; whether it calls one.

    A test that took its process with it is missing, and so is what had no turn in that time.
    """
    opened, known = hunt.opened, hunt.characteristic
    plan = SingleRun(
        order=opened.suite.order,
        why=WHY,
        setting=Setting.ORIGINAL,
        isolation=opened.isolation,
        seed=0,
        hash_seed=opened.hash_seed,
        trace=trace_for(known, _mode(opened.handshake.python)),
    )
    limits = Limits(test_limit_s=hunt.options.test_limit_s or FIRST_TEST_LIMIT_S)
    hunt.progress.message(f"tracing what {len(plan.order)} tests call ...")
    records = run_traced(opened, plan, limits, hunt.progress, most_s)
    hunt.save_runs([record for record in records if record.calls])
    return {
        record.order[place]: bool(likely_causes([trace], known))
        for record in records
        for place, trace in record.calls.items()
    }


def calls_if_cheap(hunt: PreparedHunt) -> dict[NodeId, bool]:
    """The same, if it should take so small a part of the time that the order of all other runs may hang on it.

    Where it takes twice that part, it ends.
    """
    most_s = SHARE * (hunt.budget.limit_s or 0.0)
    return calls_in_suite(hunt, 2 * most_s) if 0 < expected_s(hunt) <= most_s else {}


def expected_s(hunt: PreparedHunt) -> float:
    """What a traced run should take; 0 where the suite's times are not known."""
    tests_s = sum(sum(record.durations_s) for record in hunt.opened.reference)
    is_sparse = _hears_all_cheaply(hunt.opened.handshake.python)
    return tests_s * (TRACED_SUITE_SPARSELY if is_sparse else TRACED_SUITE).factor


def _mode(python: str) -> TraceMode:
    """What leaves no call unheard: before 3.12 the cheap mode hears only the first calls of a test."""
    return TraceMode.CHARACTERISTIC if _hears_all_cheaply(python) else TraceMode.ALL


def _hears_all_cheaply(python: str) -> bool:
    return tuple(map(int, python.split(".")[:2])) >= (3, 12)
