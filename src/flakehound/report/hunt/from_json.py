"""Read a report of schema flakehound/report/1 back into the result that it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flakehound.core.errors import UsageError
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting
from flakehound.core.statistics.rates import Rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay, Verdict
from flakehound.report.hunt.as_json import SCHEMA
from flakehound.report.hunt.result import HuntResult, SpentFacts, SuiteFacts

_NEW_REPORT = "flakehound hunt --json report.json"


def result_from_json(text: str, name: str = "the report") -> HuntResult:
    """The result in a report; `name` says in errors where the report is from."""
    try:
        report = json.loads(text)
        if not isinstance(report, dict) or report.get("schema") != SCHEMA:
            raise UsageError(f"{name!r} is no report of schema {SCHEMA}", remedy=_NEW_REPORT)
        return _result(report)
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"{name!r} is no complete report: {problem!r}", remedy=_NEW_REPORT) from problem


def _result(report: Mapping[str, Any]) -> HuntResult:
    return HuntResult(
        verdicts=tuple(_verdict(test) for test in report["tests"]),
        suite=SuiteFacts(**report["suite"]),
        spent=SpentFacts(**report["spent"]),
        seed=report["seed"],
        runs=report["runs"],
        notes=tuple(report["notes"]),
        pairs=report["pairs"] or "",
        complete=report["complete"],
        interrupted=report["interrupted"],
        cwd=report["suite"]["rootdir"],
        priors={test["id"]: test["prior"] for test in report["tests"] if test.get("prior") is not None},
    )


def _verdict(test: Mapping[str, Any]) -> Verdict:
    pollution_rate, replay = test.get("pollution_rate"), test.get("replay_run")
    return Verdict(
        id=NodeId(test["id"]),
        kind=Kind(test["kind"]),
        tallies={Setting(name): Tally(**tally) for name, tally in test["runs"].items()},
        rate=Rate(**test["failure_rate"]),
        evidence=tuple(test["evidence"]),
        polluters=_order(test["polluters"]),
        state_setters=_order(test["state_setters"]),
        cleaners=_order(test["cleaners"]),
        shared_state=tuple(test.get("shared_state", ())),
        leaves=tuple(test.get("leaves", ())),
        joint=test["joint"],
        pollution_rate=None if pollution_rate is None else Rate(**pollution_rate),
        under_load=test.get("under_load", False),
        causes=tuple(
            LikelyCause(cause=Cause(likely["cause"]), evidence=likely["evidence"])
            for likely in test.get("causes", ())
        ),
        minimal_order=_order(test["minimal_order"]),
        replay=None if replay is None else _replay(replay),
        signatures=test["signatures"],
    )


def _replay(run: Mapping[str, Any]) -> Replay:
    return Replay(
        order=_order(run["order"]),
        isolation=Isolation(run["isolation"]),
        seed=run["seed"],
        hash_seed=run["hash_seed"],
        failed=run["failed"],
        runs=run["runs"],
    )


def _order(tests: list[str]) -> Order:
    return tuple(map(NodeId, tests))
