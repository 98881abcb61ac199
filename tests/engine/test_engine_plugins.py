"""Plugins that rerun, repeat, shuffle, measure or report, each in an environment that has it."""

from __future__ import annotations

import json

import pytest
from engine_samples import Sample, outcomes_of
from environments import python_with

from flakehound.core.outcomes import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.network]

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
PLUGINS = (
    "pytest",
    "pytest-rerunfailures",
    "pytest-xdist",
    "pytest-cov",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-repeat",
    "pytest-flakefinder",
    "pytest-random-order",
    "pytest-html",
    "pytest-reportlog",
)
OPTIONS = (
    "--reruns 3 --cov --cov-report=xml --cov-fail-under=100 -n 2 --strict-markers --count=2 --flake-finder "
    "--random-order --html=report.html --report-log=report.json -W error"
)
SETTINGS = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\ntimeout = 60\n"
FILES = {
    "pytest.ini": f"[pytest]\naddopts = {OPTIONS}\n{SETTINGS}",
    "report.html": "kept",
    "report.json": "kept",
    "coverage.xml": "kept",
    "test_it.py": """
        import asyncio, json, sys, time
        import pytest

        attempts = []
        def test_first(): pass
        @pytest.mark.flaky(reruns=3)  # known although its plugin is switched off
        def test_passes_when_rerun():
            attempts.append(1)
            assert len(attempts) > 1
        @pytest.mark.repeat(3)
        def test_repeated(): pass
        @pytest.mark.timeout(0.3)
        def test_times_out(): time.sleep(20)
        @pytest.fixture
        async def answer():
            await asyncio.sleep(0)
            yield 42
            await asyncio.sleep(0)
        async def test_waits(answer):
            await asyncio.sleep(0)
            assert answer == 42
        async def test_waits_in_vain(answer):
            await asyncio.sleep(0)
            assert answer == 43
        def test_traced_by_nobody():
            assert sys.gettrace() is None
            assert "coverage" not in sys.modules
        """,
}


@pytest.fixture(scope="module")
def sample(open_shared_sample) -> Sample:
    return open_shared_sample(FILES, python=python_with(*PLUGINS))


def test_every_disturbing_plugin_is_named(sample):
    disabled = set(sample.handshake.switched_off)

    assert disabled >= {
        "--reruns", "--numprocesses", "--flake-finder-enable", "pytest-rerunfailures", "pytest-xdist",
        "pytest-cov", "pytest-repeat", "pytest-flakefinder", "pytest-random-order",
    }  # fmt: skip
    assert sample.handshake.against_forking == ()


def test_outcomes_are_those_of_one_plain_execution(sample):
    plain = sample.plain("-o", "addopts=", "-p", "no:rerunfailures", "-p", "no:repeat")

    forked = sample.fork(*sample.ids)
    spawned = sample.spawn()

    assert [test.partition("::")[2] for test in sample.ids] == [
        "test_first", "test_passes_when_rerun", "test_repeated", "test_times_out", "test_waits",
        "test_waits_in_vain", "test_traced_by_nobody",
    ]  # fmt: skip
    assert forked.outcomes == (PASSED, FAILED, PASSED, FAILED, PASSED, FAILED, PASSED), json.dumps(
        [failure.text for failure in forked.failures.values()]
    )
    assert spawned.outcomes == forked.outcomes
    assert outcomes_of(forked) == plain


def test_asynchronous_tests_run_twice_in_one_process(sample):
    waits = "test_it.py::test_waits"

    record = sample.fork(waits, waits, "test_it.py::test_waits_in_vain", waits)

    assert record.outcomes == (PASSED, PASSED, FAILED, PASSED)


def test_no_report_is_overwritten(sample):
    sample.spawn("test_it.py::test_first")

    assert {name: (sample.root / name).read_text() for name in ("report.html", "report.json", "coverage.xml")} == {
        "report.html": "kept",
        "report.json": "kept",
        "coverage.xml": "kept",
    }
    assert not (sample.root / ".coverage").exists()
