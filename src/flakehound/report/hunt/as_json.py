"""The report of a hunt as JSON: schema flakehound/report/1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from flakehound.core.history import Tally
from flakehound.core.plans import Setting
from flakehound.core.statistics.rates import Rate
from flakehound.core.verdicts import Replay, Verdict
from flakehound.report.commands import plain_pytest_command, replay_command
from flakehound.report.hunt.result import HuntResult

SCHEMA = "flakehound/report/1"


def report_json(result: HuntResult) -> str:
    """The whole hunt, every test of the suite on a line of its own; ends with a newline."""
    # One line per test, so that grep finds a test; also, json's encoder is slow with indentation.
    head = json.dumps(_head(result), indent=1, allow_nan=False).removesuffix("\n}")
    tests = ",\n  ".join(json.dumps(_test(result, verdict), allow_nan=False) for verdict in result.verdicts)
    return f'{head},\n "tests": [\n  {tests}\n ]\n}}\n'


def report_schema() -> dict[str, Any]:
    """The JSON Schema that every report satisfies."""
    file = resources.files("flakehound.report") / "schema" / "report-1.json"
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


def _head(result: HuntResult) -> dict[str, Any]:
    suite, spent = result.suite, result.spent
    return {
        "schema": SCHEMA,
        "complete": result.complete,
        "interrupted": result.interrupted,
        "suite": {
            "tests": suite.tests,
            "original_order_s": suite.original_order_s,
            "python": suite.python,
            "pytest": suite.pytest,
            "commit": suite.commit,
            "rootdir": suite.rootdir,
        },
        "spent": {
            "wall_s": spent.wall_s,
            "cpu_s": spent.cpu_s,
            "test_runs": spent.test_runs,
            "processes": spent.processes,
        },
        "seed": result.seed,
        "runs": dict(result.runs),
        "pairs": result.pairs or None,
        "notes": list(result.notes),
    }


def _test(result: HuntResult, verdict: Verdict) -> dict[str, Any]:
    return {
        "id": verdict.id,
        "kind": verdict.kind.value,
        "evidence": list(verdict.evidence),
        "runs": _runs(verdict.tallies),
        "failure_rate": _rate(verdict.rate),
        "polluters": list(verdict.polluters),
        "state_setters": list(verdict.state_setters),
        "cleaners": list(verdict.cleaners),
        **({"shared_state": list(verdict.shared_state)} if verdict.shared_state else {}),
        **({"leaves": list(verdict.leaves)} if verdict.leaves else {}),
        "joint": verdict.joint,
        "pollution_rate": None if verdict.pollution_rate is None else _rate(verdict.pollution_rate),
        "under_load": verdict.under_load,
        "causes": [{"cause": likely.cause.value, "evidence": likely.evidence} for likely in verdict.causes],
        "prior": result.priors.get(verdict.id),
        "minimal_order": list(verdict.minimal_order),
        "signatures": dict(verdict.signatures),
        "replay": replay_command(result, verdict),
        "replay_run": None if verdict.replay is None else _replay_run(verdict.replay),
        "plain_pytest": plain_pytest_command(result, verdict),
    }


def _runs(tallies: Mapping[Setting, Tally]) -> dict[str, dict[str, int]]:
    counts = {setting.value: tallies.get(setting, Tally()) for setting in Setting}
    return {name: {"n": tally.n, "failed": tally.failed} for name, tally in counts.items()}


def _rate(rate: Rate) -> dict[str, float]:
    return {"mean": round(rate.mean, 6), "low": round(rate.low, 6), "high": round(rate.high, 6)}


def _replay_run(replay: Replay) -> dict[str, Any]:
    return {
        "order": list(replay.order),
        "isolation": replay.isolation.value,
        "seed": replay.seed,
        "hash_seed": replay.hash_seed,
        "failed": replay.failed,
        "runs": replay.runs,
    }
