"""The working directory is changed for all tests that follow."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of


def _find(function: ReachedFunction) -> Iterator[Sign]:
    changes = list(calls_of(function, frozenset(("os.chdir", "os.fchdir"))))
    # A test that reads the folder first goes back with its second change.
    if len(changes) == 1 or (changes and not any(call.name == "os.getcwd" for call in function.facts.calls)):
        yield from (sign_for(change, "{} moves all tests that follow, too") for change in changes)


RULE = LintRule(
    id="FH902",
    name="working-directory",
    cause=Cause.TEST_ORDER,
    title="The working directory is changed",
    why="Relative paths of all later tests start in another folder, which may not exist any more.",
    fix="`monkeypatch.chdir(...)` or `contextlib.chdir`, which change back.",
    bad="import os\n\ndef test_here(tmp_path):\n    os.chdir(tmp_path)\n    assert here() == tmp_path\n",
    good="def test_here(monkeypatch, tmp_path):\n    monkeypatch.chdir(tmp_path)\n    assert here() == tmp_path\n",
    check=for_lasting_changes(_find),
)
