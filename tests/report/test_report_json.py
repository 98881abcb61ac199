from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest

from flakehound.core.errors import UsageError
from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Cause, Kind, Replay
from flakehound.report.hunt.as_json import MAX_WRITTEN_ORDER, report_json, report_schema
from flakehound.report.hunt.from_json import result_from_json
from flakehound.report.hunt.result import ForecastFacts, NeverRan

from . import samples
from .golden import GOLD, assert_gold
from .json_schema import complaints


@pytest.fixture
def told() -> dict[str, Any]:
    return json.loads(report_json(samples.a_hunt()))


def test_the_report_of_every_kind_is_as_agreed() -> None:
    assert_gold("report.json", report_json(samples.a_hunt()))


@pytest.mark.parametrize(
    "hunted",
    [samples.a_hunt(), samples.a_quiet_hunt(), samples.a_quiet_hunt(verdicts=(), complete=False)],
    ids=["every kind", "quiet", "empty"],
)
def test_the_report_satisfies_its_schema(hunted: Any) -> None:
    assert complaints(json.loads(report_json(hunted)), report_schema()) == []


def test_the_report_satisfies_its_schema_by_the_reference_validator(told: dict[str, Any]) -> None:
    jsonschema = pytest.importorskip("jsonschema")

    jsonschema.validate(told, report_schema())


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("schema",), "flakehound/report/2"),
        (("tests", 0, "kind"), "flaky"),
        (("tests", 0, "runs", "alone", "n"), -1),
        (("tests", 0, "failure_rate", "high"), 1.5),
        (("tests", 0, "joint"), 1),
        (("tests", 0, "never_ran"), False),
        (("never_ran",), {"tests": 1}),
        (("forecast",), {"more_s": 1, "flaky_tests": -1}),
        (("tests", 0, "replay"), 3),
        (("tests", 0, "causes"), [{"cause": "moon", "evidence": ""}]),
        (("tests", 0, "pollution_rate"), "often"),
        (("spent",), {}),
    ],
)
def test_the_schema_refuses_what_the_contract_forbids(
    told: dict[str, Any], path: tuple[Any, ...], wrong: object
) -> None:
    *above, last = path
    place: Any = told
    for step in above:
        place = place[step]
    place[last] = wrong

    assert complaints(told, report_schema())


def test_every_test_of_the_suite_is_listed_in_the_original_order(told: dict[str, Any]) -> None:
    assert [test["id"] for test in told["tests"]] == [v.id for v in samples.a_hunt().verdicts]


def test_the_schema_knows_every_kind_and_cause() -> None:
    definitions = report_schema()["$defs"]

    assert set(definitions["test"]["properties"]["kind"]["enum"]) == {kind.value for kind in Kind}
    assert set(definitions["cause"]["properties"]["cause"]["enum"]) == {cause.value for cause in Cause}


def test_replays_are_commands_for_the_test_or_null(told: dict[str, Any]) -> None:
    for test in told["tests"]:
        assert (test["replay"] is None) == (test.get("replay_run") is None)
        assert test["replay"] is None or shlex.split(test["replay"]) == ["flakehound", "replay", test["id"]]


def test_a_report_has_one_line_per_test() -> None:
    lines = report_json(samples.a_hunt()).splitlines()

    assert len([line for line in lines if line.startswith('  {"id":')]) == len(samples.a_hunt().verdicts)


# The size of a report


def a_steady_suite(tests: int) -> Any:
    """Steady tests with ids of 100 characters, as a real hunt reports them."""
    ids = [
        NodeId(f"tests/unit/test_module.py::TestSomething::test_{n:05}".ljust(99, "x") + "]") for n in range(tests)
    ]
    steady = tuple(samples.a_steady(test) for test in ids)
    return samples.a_quiet_hunt(verdicts=steady, priors=dict.fromkeys(ids, 0.001234))


def test_a_steady_test_takes_at_most_450_bytes() -> None:
    few, many = (len(report_json(a_steady_suite(tests))) for tests in (1, 1001))

    assert (many - few) / 1000 <= 450


def test_a_steady_test_has_every_required_key_and_no_default_beyond_these() -> None:
    required = set(report_schema()["$defs"]["test"]["required"])

    (test,) = json.loads(report_json(a_steady_suite(1)))["tests"]

    assert set(test) == required


def a_test_that_failed_after_many() -> Any:
    """An unresolved test whose only failing run is one of the whole suite."""
    before = [samples.a_steady(NodeId(f"tests/test_many.py::test_{n}")) for n in range(MAX_WRITTEN_ORDER)]
    order = (*(verdict.id for verdict in reversed(before)), samples.SLOW)
    failed = replace(samples.unresolved(), minimal_order=order, replay=Replay(order=order, failed=1, runs=1))
    return samples.a_hunt(verdicts=(*before, failed))


def test_a_long_order_is_written_once_and_by_positions() -> None:
    told = json.loads(report_json(a_test_that_failed_after_many()))

    test = told["tests"][-1]
    assert complaints(told, report_schema()) == []
    assert (test["minimal_order"], test["plain_pytest"]) == ([], None)
    assert test["replay_run"]["order"] == []
    assert test["replay_run"]["order_positions"] == [*reversed(range(MAX_WRITTEN_ORDER)), MAX_WRITTEN_ORDER]
    assert test["replay"] is not None


# Reading a report back


@pytest.mark.parametrize(
    "hunted", [samples.a_hunt(), a_steady_suite(3), a_test_that_failed_after_many()], ids=["all", "steady", "long"]
)
def test_a_report_that_is_read_back_is_written_the_same(hunted: Any) -> None:
    read = result_from_json(report_json(hunted))

    assert [(one.id, one.kind, one.evidence, one.minimal_order, one.replay) for one in read.verdicts] == [
        (one.id, one.kind, one.evidence, one.minimal_order, one.replay) for one in hunted.verdicts
    ]


def test_what_never_ran_and_the_forecast_are_read_back() -> None:
    hunted = samples.a_quiet_hunt(
        never_ran=NeverRan(tests=frozenset({samples.RESET}), one_run_s=10.0, full_look_s=60.0),
        forecast=ForecastFacts(more_s=600.0, flaky_tests=3.6),
    )

    text = report_json(hunted)
    read = result_from_json(text)

    assert complaints(json.loads(text), report_schema()) == []
    assert [test.get("never_ran") for test in json.loads(text)["tests"]] == [None, True]
    assert (read.never_ran, read.forecast) == (hunted.never_ran, hunted.forecast)


def test_a_report_of_an_earlier_version_is_read_as_the_same_verdicts() -> None:
    text = (GOLD / "report_with_all_keys.json").read_text(encoding="utf-8")

    read = result_from_json(text)

    now = result_from_json(report_json(samples.a_hunt()))
    counted = [{setting: tally for setting, tally in one.tallies.items() if tally.n} for one in read.verdicts]
    assert [replace(one, tallies={}) for one in read.verdicts] == [
        replace(one, tallies={}) for one in now.verdicts
    ]
    assert counted == [
        {setting: tally for setting, tally in one.tallies.items() if tally.n} for one in now.verdicts
    ]
    assert (read.never_ran, read.forecast) == (None, None)


def test_an_order_with_a_position_outside_the_suite_is_an_error() -> None:
    told = json.loads(report_json(a_test_that_failed_after_many()))
    told["tests"][-1]["replay_run"]["order_positions"] = [9999]

    with pytest.raises(UsageError, match="no complete report"):
        result_from_json(json.dumps(told))
