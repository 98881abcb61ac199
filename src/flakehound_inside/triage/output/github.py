"""Annotations and the job summary of GitHub Actions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from flakehound_inside.triage.facts import FailureFacts

_HARMLESS = ("flaky", "unrelated")
_TITLES = {
    "flaky": "flaky test",
    "unrelated": "broken before the change",
    "likely-real": "likely a real failure",
    "undecided": "undecided failure",
}


class GitHubJob:
    """A job of GitHub Actions, as its environment describes it."""

    def __init__(self, environment: Mapping[str, str], rootdir: str) -> None:
        self.is_active = environment.get("GITHUB_ACTIONS") == "true"
        self._workspace = environment.get("GITHUB_WORKSPACE", "")
        self._summary = environment.get("GITHUB_STEP_SUMMARY", "")
        self._rootdir = rootdir

    def annotations(self, verdicts: Sequence[Mapping[str, Any]], failures: Sequence[FailureFacts]) -> list[str]:
        """One workflow command per verdict: a warning for a flaky or unrelated failure, an error for the rest."""
        lines = {failure["id"]: failure["line"] for failure in failures}
        return [self._annotation(verdict, lines.get(verdict["id"], 0)) for verdict in verdicts]

    def _annotation(self, verdict: Mapping[str, Any], line: int) -> str:
        verdict_name = str(verdict.get("verdict"))
        properties = ["file=" + _escape_property(self._path(verdict["id"]))]
        if line:
            properties.append("line=%d" % line)
        properties.append("title=" + _escape_property(_TITLES.get(verdict_name, verdict_name)))
        return "::%s %s::%s" % (
            "warning" if verdict_name in _HARMLESS else "error",
            ",".join(properties),
            _escape_message("%s: %s" % (verdict["id"], verdict.get("evidence") or verdict_name)),
        )

    def _path(self, node_id: str) -> str:
        path = os.path.join(self._rootdir, node_id.split("::", 1)[0])
        if self._workspace:
            relative = os.path.relpath(os.path.realpath(path), os.path.realpath(self._workspace))
            if not relative.startswith(os.pardir):
                return relative.replace(os.sep, "/")
        return path

    def append_summary(self, verdicts: Sequence[Mapping[str, Any]]) -> None:
        """Add a table to the page of the job."""
        if not self._summary or not verdicts:
            return
        rows = ["### flakehound", "", "| test | verdict | evidence |", "|---|---|---|"]
        for verdict in verdicts:
            verdict_name = str(verdict.get("verdict"))
            kind = " (%s)" % verdict["kind"] if verdict.get("kind") else ""
            cells = ("`%s`" % verdict["id"], verdict_name + kind, str(verdict.get("evidence") or ""))
            rows.append("| %s |" % " | ".join(_escape_cell(cell) for cell in cells))
        with open(self._summary, "a", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n\n")


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


def _escape_cell(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(text.split())
