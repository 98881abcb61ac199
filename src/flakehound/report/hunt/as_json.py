"""The report of a hunt as JSON: schema flakehound/report/1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.core.statistics.rates import Rate
from flakehound.core.verdicts import Kind, Replay, Verdict
from flakehound.report.commands import plain_pytest_command, replay_command
from flakehound.report.formatting import RATE_SETTINGS
from flakehound.report.hunt.result import HuntResult

SCHEMA = "flakehound/report/1"
# Tests in an order that is written as ids. An unresolved test may have failed after thousands of others, whose
# ids, written three times, would take more space than the rest of the report.
MAX_WRITTEN_ORDER = 100
# Keys that are left out of a steady test that never failed if they have this value.
DEFAULTS_OF_STEADY: Mapping[str, Any] = {
    "joint": False,
    "pollution_rate": None,
    "under_load": False,
    "signatures": {},
    "replay_run": None,
    "plain_pytest": None,
}
_WRITTEN_SETTINGS = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE, Setting.REPEATED)  # also without runs
_COMPACT = (",", ":")


def report_json(result: HuntResult) -> str:
    """The whole hunt, every test of the suite on a line of its own; ends with a newline."""
    # One line per test, so that grep finds a test; also, json's encoder is slow with indentation.
    head = json.dumps(_head(result), indent=1, allow_nan=False).removesuffix("\n}")
    positions = {verdict.id: position for position, verdict in enumerate(result.verdicts)}
    encoded = json.JSONEncoder(allow_nan=False, separators=_COMPACT).encode
    tests = ",\n  ".join(encoded(_test(result, verdict, positions)) for verdict in result.verdicts)
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
        **_estimates(result),
    }


def _estimates(result: HuntResult) -> dict[str, Any]:
    never_ran, forecast = result.never_ran, result.forecast
    written: dict[str, Any] = {}
    if never_ran is not None:
        written["never_ran"] = {
            "tests": len(never_ran.tests),
            "one_run_s": round(never_ran.one_run_s, 3),
            "full_look_s": round(never_ran.full_look_s, 3),
        }
    if forecast is not None:
        written["forecast"] = {"more_s": round(forecast.more_s, 3), "flaky_tests": round(forecast.flaky_tests, 6)}
    return written


def _test(result: HuntResult, verdict: Verdict, positions: Mapping[NodeId, int]) -> dict[str, Any]:
    never_ran = result.never_ran is not None and verdict.id in result.never_ran.tests
    written = {
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
        "minimal_order": _minimal_order(verdict),
        "signatures": dict(verdict.signatures),
        "replay": replay_command(result, verdict),
        "replay_run": None if verdict.replay is None else _replay_run(verdict.replay, positions),
        "plain_pytest": None if _is_long(verdict.replay) else plain_pytest_command(result, verdict),
        **({"never_ran": True} if never_ran else {}),
    }
    return _without_defaults(written, verdict) if verdict.kind is Kind.STEADY else written


def _without_defaults(written: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """A steady test without the keys that `from_json` can add again: most tests of most suites are steady."""
    defaults = {**DEFAULTS_OF_STEADY, "evidence": [steady_evidence(verdict.tallies)]}
    return {key: value for key, value in written.items() if key not in defaults or value != defaults[key]}


def steady_evidence(tallies: Mapping[Setting, Tally]) -> str:
    """The evidence of a test that never failed, as it follows from its counts."""
    total = sum((tallies.get(setting, Tally()) for setting in RATE_SETTINGS), Tally())
    return f"passed {total.passed} of {total.n} runs" if total.n else "never ran to an outcome"


def _is_long(replay: Replay | None) -> bool:
    return replay is not None and len(replay.order) > MAX_WRITTEN_ORDER


def _minimal_order(verdict: Verdict) -> list[str]:
    """The minimal order; empty if it is the long order of the replay."""
    replay = verdict.replay
    is_repeated = replay is not None and _is_long(replay) and verdict.minimal_order == replay.order
    return [] if is_repeated else list(verdict.minimal_order)


def _runs(tallies: Mapping[Setting, Tally]) -> dict[str, dict[str, int]]:
    counts = {setting: tallies.get(setting, Tally()) for setting in Setting}
    return {
        setting.value: {"n": tally.n, "failed": tally.failed}
        for setting, tally in counts.items()
        if tally.n or setting in _WRITTEN_SETTINGS
    }


def _rate(rate: Rate) -> dict[str, float]:
    return {"mean": round(rate.mean, 6), "low": round(rate.low, 6), "high": round(rate.high, 6)}


def _replay_run(replay: Replay, positions: Mapping[NodeId, int]) -> dict[str, Any]:
    order: dict[str, Any] = {"order": list(replay.order)}
    if _is_long(replay) and all(test in positions for test in replay.order):
        order = {"order": [], "order_positions": [positions[test] for test in replay.order]}
    return {
        **order,
        "isolation": replay.isolation.value,
        "seed": replay.seed,
        "hash_seed": replay.hash_seed,
        "failed": replay.failed,
        "runs": replay.runs,
    }
