"""Encode analyses of test files as JSON values for the cache, and decode them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause
from flakehound.lint.analyse import CaseAnalysis
from flakehound.lint.metrics.table import METRIC_NAMES, Metrics, MetricsRow
from flakehound.lint.scoring.shared_objects import SharingCounts

FORMAT = 7  # increased with every change of the encoding

_FINDING_NAMES = tuple(field.name for field in fields(LintFinding))
_ROW_NAMES = tuple(field.name for field in fields(MetricsRow))


def encode_analyses(cases: Iterable[CaseAnalysis]) -> list[dict[str, Any]]:
    """The analyses of a file's tests as JSON values."""
    return [
        {
            "row": _encode_row(case.row),
            "sharing": case.sharing.cells(),
            "words": " ".join(sorted(case.words)),  # as a list they would take twice the time
            "suppressed": case.suppressed,
            "findings": [_encode_finding(finding) for finding in case.findings],
        }
        for case in cases
    ]


def decode_analyses(encoded: Iterable[Mapping[str, Any]]) -> tuple[CaseAnalysis, ...]:
    """The analyses that `encode_analyses` wrote."""
    return tuple(
        CaseAnalysis(
            row=_decode_row(case["row"]),
            sharing=SharingCounts(**case["sharing"]),
            words=frozenset(case["words"].split()),
            suppressed=case["suppressed"],
            findings=tuple(_decode_finding(finding) for finding in case["findings"]),
        )
        for case in encoded
    )


def _values(value: object, names: Iterable[str]) -> dict[str, Any]:
    # `dataclasses.asdict` copies each value, which takes longer than writing all of them.
    return {name: getattr(value, name) for name in names}


def _encode_row(row: MetricsRow) -> dict[str, Any]:
    return {**_values(row, _ROW_NAMES), "metrics": _values(row.metrics, METRIC_NAMES)}


def _decode_row(encoded: Mapping[str, Any]) -> MetricsRow:
    return MetricsRow(**{**encoded, "metrics": Metrics(**encoded["metrics"])})


def _encode_finding(finding: LintFinding) -> dict[str, Any]:
    return {**_values(finding, _FINDING_NAMES), "cause": finding.cause.value}


def _decode_finding(encoded: Mapping[str, Any]) -> LintFinding:
    return LintFinding(**{**encoded, "cause": Cause(encoded["cause"]), "via": tuple(encoded["via"])})
