"""Read a report of schema flakehound/report/1 back into the result that it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flakehound.core.errors import UsageError
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.statistics.rates import Rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay, Verdict
from flakehound.report.hunt.as_json import SCHEMA, steady_evidence
from flakehound.report.hunt.result import ForecastFacts, HuntResult, NeverRan, SpentFacts, SuiteFacts

_NEW_REPORT = "flakehound hunt --json report.json"


def result_from_json(text: str, name: str = "the report") -> HuntResult:
    """The result in a report; `name` says in errors where the report is from."""
    try:
        report = json.loads(text)
        if not isinstance(report, dict) or report.get("schema") != SCHEMA:
            raise UsageError(f"{name!r} is no report of schema {SCHEMA}", remedy=_NEW_REPORT)
        return _result(report)
    except (ValueError, LookupError, TypeError) as problem:
        raise UsageError(f"{name!r} is no complete report: {problem!r}", remedy=_NEW_REPORT) from problem


def _result(report: Mapping[str, Any]) -> HuntResult:
    tests = report["tests"]
    forecast = report.get("forecast")
    return HuntResult(
        verdicts=tuple(_verdict(test, tests) for test in tests),
        suite=SuiteFacts(**report["suite"]),
        spent=SpentFacts(**report["spent"]),
        seed=report["seed"],
        runs=report["runs"],
        notes=tuple(report["notes"]),
        pairs=report["pairs"] or "",
        complete=report["complete"],
        interrupted=report["interrupted"],
        cwd=report["suite"]["rootdir"],
        priors={test["id"]: test["prior"] for test in tests if test.get("prior") is not None},
        never_ran=_never_ran(report),
        forecast=None if forecast is None else ForecastFacts(**forecast),
    )


def _never_ran(report: Mapping[str, Any]) -> NeverRan | None:
    """The tests that never ran; None in a report of an earlier version, which does not tell them."""
    totals = report.get("never_ran")
    if totals is None:
        return None
    return NeverRan(
        tests=frozenset(NodeId(test["id"]) for test in report["tests"] if test.get("never_ran")),
        one_run_s=totals["one_run_s"],
        full_look_s=totals["full_look_s"],
    )


def _verdict(test: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> Verdict:
    """The verdict on a test; keys that steady tests leave out have their defaults."""
    pollution_rate, replay_run = test.get("pollution_rate"), test.get("replay_run")
    replay = None if replay_run is None else _replay(replay_run, tests)
    tallies = {Setting(name): Tally(**tally) for name, tally in test["runs"].items()}
    return Verdict(
        id=NodeId(test["id"]),
        kind=Kind(test["kind"]),
        tallies=tallies,
        rate=Rate(**test["failure_rate"]),
        evidence=tuple(test["evidence"]) if "evidence" in test else (steady_evidence(tallies),),
        polluters=_order(test["polluters"]),
        state_setters=_order(test["state_setters"]),
        cleaners=_order(test["cleaners"]),
        shared_state=tuple(test.get("shared_state", ())),
        leaves=tuple(test.get("leaves", ())),
        joint=test.get("joint", False),
        pollution_rate=None if pollution_rate is None else Rate(**pollution_rate),
        under_load=test.get("under_load", False),
        causes=tuple(
            LikelyCause(cause=Cause(likely["cause"]), evidence=likely["evidence"])
            for likely in test.get("causes", ())
        ),
        minimal_order=_order(test["minimal_order"]) or (replay.order if replay is not None else ()),
        replay=replay,
        signatures=test.get("signatures", {}),
    )


def _replay(run: Mapping[str, Any], tests: Sequence[Mapping[str, Any]]) -> Replay:
    positions = run.get("order_positions", ())
    return Replay(
        order=_order(run["order"]) or tuple(NodeId(tests[position]["id"]) for position in positions),
        isolation=Isolation(run["isolation"]),
        seed=run["seed"],
        hash_seed=run["hash_seed"],
        failed=run["failed"],
        runs=run["runs"],
    )


def _order(tests: list[str]) -> Order:
    return tuple(map(NodeId, tests))
