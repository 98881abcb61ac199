"""Identifiers that differ in every run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import is_compared
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_IDENTIFIER_FUNCTIONS = frozenset({"nanoid.generate", "os.urandom", "shortuuid.uuid", "uuid.uuid1", "uuid.uuid4"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _IDENTIFIER_FUNCTIONS, ("secrets.",)):
        if call.short_name != "compare_digest":
            decides = is_compared(function, call.node, "less") or _is_sorted(call)
            yield sign_for(call, "{} gives another value in every run", "" if decides else "used as a name")


def _is_sorted(call: Call) -> bool:
    outer = [
        parent for parent in call.parents if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name)
    ]
    return any(parent.func.id in ("max", "min", "sorted") for parent in outer if isinstance(parent.func, ast.Name))


RULE = LintRule(
    id="FH102",
    name="random-identifier",
    cause=Cause.RANDOMNESS,
    title="Identifiers from uuid, secrets or os.urandom",
    why="They cannot be seeded. Results that are sorted, hashed, shortened or compared by them differ from "
    "run to run.",
    fix="Pass the identifier as an argument, or replace its source with `monkeypatch` for the test.",
    bad="import uuid\n\ndef test_name():\n    assert uuid.uuid4().hex < 'f'\n",
    good="import uuid\n\ndef test_name():\n    assert uuid.UUID(int=1).hex < 'f'\n",
    check=in_each_function(_find),
)
