from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from flakehound.core.verdicts import Cause, Kind
from flakehound.report.hunt.as_json import report_json, report_schema

from . import samples
from .golden import assert_gold
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
        assert (test["replay"] is None) == (test["replay_run"] is None)
        assert test["replay"] is None or shlex.split(test["replay"]) == ["flakehound", "replay", test["id"]]


def test_a_report_has_one_line_per_test() -> None:
    lines = report_json(samples.a_hunt()).splitlines()

    assert len([line for line in lines if line.startswith('  {"id": ')]) == len(samples.a_hunt().verdicts)
