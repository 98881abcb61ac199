"""The working directory is changed for all tests that follow."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of


def _find(function: ReachedFunction) -> Iterator[Sign]:
    moves = list(calls_of(function, frozenset(("os.chdir", "os.fchdir"))))
    # Two moves are there and back.
    if len(moves) == 1 or (moves and not any(call.name == "os.getcwd" for call in function.facts.calls)):
        yield sign_for(moves[0], "{} moves all tests that follow, too")


RULE = LintRule(
    id="FH902",
    name="working-directory",
    cause=Cause.TEST_ORDER,
    title="The working directory is changed",
    why="Relative paths of every later test start somewhere else, perhaps in a folder that is gone.",
    fix="`monkeypatch.chdir(...)` or `contextlib.chdir`, which go back.",
    bad="import os\n\ndef test_here(tmp_path):\n    os.chdir(tmp_path)\n    assert here() == tmp_path\n",
    good="def test_here(monkeypatch, tmp_path):\n    monkeypatch.chdir(tmp_path)\n    assert here() == tmp_path\n",
    check=lasting_change(_find),
)
