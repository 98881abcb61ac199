"""The tracer in real pytest sessions: every call with its phase, and no outcome changed.

On the Python that runs this; FLAKEHOUND_OTHER_PYTHONS names others that have pytest, separated by colons.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tracer_probes import HELPERS, PROBES

from flakehound.calls.characteristic_functions import default_functions
from flakehound.core.calls import CallTrace, TraceMode, TraceOptions
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ForkServer
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner

PYTHONS = [sys.executable, *filter(None, os.environ.get("FLAKEHOUND_OTHER_PYTHONS", "").split(":"))]
KNOWN = default_functions()
TRACE_OPTIONS = {
    "counted": TraceOptions(mode=TraceMode.ALL, counts=True, patterns=KNOWN.patterns, neutral=KNOWN.neutral),
    "once": TraceOptions(mode=TraceMode.ALL, patterns=KNOWN.patterns, neutral=KNOWN.neutral),
    "characteristic": TraceOptions(mode=TraceMode.CHARACTERISTIC, patterns=KNOWN.patterns, neutral=KNOWN.neutral),
}
Runs = dict[str, RunRecord]


def outcomes(record: RunRecord) -> dict[str, Outcome]:
    return {test: outcome for _position, test, outcome in record}


@pytest.fixture(scope="module", params=PYTHONS)
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The probes plain and traced, each in one forked process, and once in a new interpreter."""
    project = tmp_path_factory.mktemp("project")
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p no:randomly -p no:faker\n")
    (project / "helpers.py").write_text(HELPERS)
    (project / "test_probes.py").write_text(PROBES)
    target = Target(python=request.param, cwd=project)
    folder = tmp_path_factory.mktemp("ours")
    server = ForkServer(target, folder / "s", slots=1, hash_seed=0)
    order = server.wait_until_collected().suite.order

    def plan(options: TraceOptions | None, isolation: Isolation = Isolation.FORK) -> SingleRun:
        return SingleRun(order=order, why="", setting=Setting.PROBE, seed=3, isolation=isolation, trace=options)

    found = {name: server.slots[0].run(plan(options), Limits(), ())[0] for name, options in TRACE_OPTIONS.items()}
    found["plain"] = server.slots[0].run(plan(None), Limits(), ())[0]
    server.close()
    spawned = plan(TRACE_OPTIONS["counted"], Isolation.SPAWN)
    found["spawned"] = Spawner(target, folder / "n").run(spawned, Limits(), ())[0]
    return found


def trace_of(record: RunRecord, test: str) -> CallTrace:
    position = next(position for position, id, _outcome in record if id.endswith(f"::{test}"))
    return record.calls[position]


def calls_of(record: RunRecord, test: str, phase: str = "call") -> dict[str, int]:
    return {function.text: count for function, count in trace_of(record, test).calls.get(phase, {}).items()}


def call_sites_of(record: RunRecord, test: str) -> set[tuple[str, str, str]]:
    return {(one.phase, one.function.text, f"{Path(one.path).name}") for one in trace_of(record, test).call_sites}


@pytest.mark.parametrize("name", [*TRACE_OPTIONS, "spawned"])
def test_tracing_changes_no_outcome(runs, name):
    assert outcomes(runs[name]) == outcomes(runs["plain"])
    assert outcomes(runs["plain"])["test_probes.py::test_fails"] is Outcome.FAILED


@pytest.mark.parametrize("name", ["counted", "spawned"])
def test_calls_are_counted_and_nothing_of_pytest_is_among_them(runs, name):
    assert calls_of(runs[name], "test_counts") == {"leaf": 3, "len": 3, "wait_a_bit": 1, "time.sleep": 1}


def test_without_counts_each_function_is_listed_once_in_the_order_of_first_calls(runs):
    assert list(calls_of(runs["once"], "test_counts")) == ["leaf", "len", "wait_a_bit", "time.sleep"]


@pytest.mark.parametrize("name", ["counted", "once"])
def test_calls_of_fixtures_are_recorded_in_their_own_phase(runs, name):
    setup, teardown = calls_of(runs[name], "test_counts", "setup"), calls_of(runs[name], "test_counts", "teardown")

    assert {"leaf", "len", "time.time"} <= set(setup)
    assert "time.monotonic" in teardown
    assert not {"time.monotonic", "wait_a_bit"} & set(setup)


@pytest.mark.parametrize("name", ["counted", "once"])
def test_a_method_is_named_by_the_class_that_defines_it(runs, name):
    functions = trace_of(runs[name], "test_classes").functions
    found = {(one.file, one.owner, one.name, one.kind) for one in functions}

    assert ("helpers.py", "Cart", "total", "python") in found
    assert ("helpers.py", "Cart", "empty", "python") in found
    assert ("<builtins>", "list", "append", "c") in found
    assert not any(owner == "Special" for _file, owner, _name, _kind in found)


@pytest.mark.parametrize("name", ["counted", "once"])
def test_new_threads_generators_and_coroutines_are_traced(runs, name):
    assert {"Thread.start", "wait_a_bit", "time.sleep"} <= set(calls_of(runs[name], "test_thread"))
    assert {"numbers", "leaf"} <= set(calls_of(runs[name], "test_generator"))
    assert {"work", "Cart.total"} <= set(calls_of(runs[name], "test_coroutine"))


def test_resuming_a_generator_is_not_another_call(runs):
    counts = calls_of(runs["counted"], "test_generator")

    assert (counts["numbers"], counts["leaf"]) == (1, 2)


def test_recursion_is_counted_call_by_call(runs):
    assert calls_of(runs["counted"], "test_recursion")["deeper"] > 21


@pytest.mark.parametrize("name", ["counted", "once"])
def test_a_test_that_fails_or_raises_is_traced_up_to_that_point(runs, name):
    assert {"pick", "Random.choice", "leaf"} <= set(calls_of(runs[name], "test_fails"))
    assert set(calls_of(runs[name], "test_error")) == {"leaf", "len"}


@pytest.mark.parametrize("name", ["counted", "once", "characteristic"])
def test_processes_that_a_test_starts_are_named(runs, name):
    children = [command for _phase, command in trace_of(runs[name], "test_children").children]

    assert any(command.endswith("-c pass") for command in children)
    assert "true" in children


@pytest.mark.parametrize("name", ["counted", "once"])
def test_unittest_and_setup_methods_have_their_phases(runs, name):
    assert "leaf" in calls_of(runs[name], "TestUnittest::test_method", "setup")
    assert "Cart.total" in calls_of(runs[name], "TestUnittest::test_method")
    assert "os.getpid" in calls_of(runs[name], "TestUnittest::test_method", "teardown")
    assert "leaf" not in calls_of(runs[name], "TestUnittest::test_method")
    assert "Cart.add" in calls_of(runs[name], "TestMethods::test_method", "setup")


def test_characteristic_mode_records_only_matching_functions_and_their_call_sites(runs):
    run = runs["characteristic"]

    assert calls_of(run, "test_counts").keys() == {"time.sleep"}
    assert ("call", "time.sleep", "helpers.py") in call_sites_of(run, "test_counts")
    assert ("setup", "time.time", "test_probes.py") in call_sites_of(run, "test_counts")
    assert ("call", "Random.choice", "helpers.py") in call_sites_of(run, "test_fails")
    assert ("call", "Thread.start", "test_probes.py") in call_sites_of(run, "test_thread")
    assert calls_of(run, "test_classes") == {}


@pytest.mark.parametrize("name", [*TRACE_OPTIONS, "spawned"])
def test_calls_that_logging_makes_for_itself_have_no_call_site(runs, name):
    functions = {function for _phase, function, _file in call_sites_of(runs[name], "test_neutral")}

    assert not {"time.time", "time.time_ns", "Random.choices"} & functions


@pytest.mark.parametrize("name", ["counted", "once"])
def test_a_test_after_one_with_its_own_profiler_is_traced_again(runs, name):
    after = calls_of(runs[name], "test_nobody_listens_after_a_profiler_of_the_test")

    assert {"leaf", "len"} <= set(after)


def test_a_skipped_test_calls_nothing(runs):
    assert calls_of(runs["counted"], "test_skipped") == {}
