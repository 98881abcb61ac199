"""The four ways to tell what lint found."""

from __future__ import annotations

from pathlib import Path

from flakehound import __version__
from flakehound.core.predictions import LintResult
from flakehound.report.lint.as_json import github_annotations, lint_json
from flakehound.report.lint.sarif import sarif
from flakehound.report.lint.text import linked_line, lint_text


def told(found: LintResult, form: str) -> str:
    """The text of a format."""
    if form == "json":
        return lint_json(found)
    if form == "sarif":
        return sarif(found, __version__)
    if form == "github":
        return "\n".join([*github_annotations(found), lint_text(found)])
    return lint_text(found)


def metrics_written(found: LintResult, path: Path) -> str:
    """A line about the table of metrics, for whoever reads standard error."""
    return f"Metrics written to {path}: {linked_line(found)}"
