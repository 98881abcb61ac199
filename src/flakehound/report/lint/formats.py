"""Render a lint result in one of the four output formats."""

from __future__ import annotations

from pathlib import Path

from flakehound import __version__
from flakehound.core.predictions import LintResult
from flakehound.report.lint.as_json import github_annotations, lint_json
from flakehound.report.lint.sarif import sarif
from flakehound.report.lint.text import TextView, linked_line, lint_text


def render_result(result: LintResult, output_format: str, view: TextView | None = None) -> str:
    """The text of a result in an output format: "json", "sarif", "github" or "text"; `view` is of the last two."""
    if output_format == "json":
        return lint_json(result)
    if output_format == "sarif":
        return sarif(result, __version__)
    if output_format == "github":
        return "\n".join([*github_annotations(result), lint_text(result, view)])
    return lint_text(result, view)


def metrics_line(result: LintResult, path: Path) -> str:
    """The line on standard error about the written table of metrics."""
    return f"Metrics written to {path}: {linked_line(result)}"
