"""Tracing changes no outcome: real suites end the same with and without it."""

from __future__ import annotations

import shutil

import pytest

from flakehound.calls.characteristic_functions import default_functions
from flakehound.core.calls import TraceMode, TraceOptions
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Setting, SingleRun
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits

from .subjects import chosen_keys, prepared

KNOWN = default_functions()
TRACE_OPTIONS = [
    TraceOptions(mode=mode, counts=counts, patterns=KNOWN.patterns, neutral=KNOWN.neutral)
    for mode, counts in ((TraceMode.ALL, False), (TraceMode.CHARACTERISTIC, False), (TraceMode.ALL, True))
]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("key", chosen_keys() or [pytest.param("none", marks=pytest.mark.skip("no ../shared"))])
def test_every_outcome_is_the_same_when_traced(key, tmp_path):
    subject = prepared(key)
    tree = tmp_path / "tree"
    shutil.copytree(subject.tree, tree, symlinks=True)
    target = Target(python=str(subject.python), cwd=tree, pytest_args=subject.pytest_args)
    server = ForkServer(target, tmp_path / "s", slots=1, hash_seed=7, force_fork=True)
    try:
        order = server.wait_until_collected().suite.order

        def run(options: TraceOptions | None) -> list[Outcome]:
            plan = SingleRun(order=order, why="conformance", setting=Setting.ORIGINAL, seed=5, trace=options)
            (record,) = server.slots[0].run(plan, Limits(), ())
            assert options is None or len(record.calls) == len(order)
            return list(record.outcomes)

        plain = [run(None), run(None)]
        traced = [run(options) for options in TRACE_OPTIONS]
    finally:
        server.close()

    steady = [
        place
        for place, test in enumerate(order)
        if plain[0][place] is plain[1][place] and test not in subject.flaky
    ]
    assert steady
    for run_of in traced:
        assert {
            order[place]: (plain[0][place], run_of[place])
            for place in steady
            if run_of[place] is not plain[0][place]
        } == {}
