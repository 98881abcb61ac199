"""Identifiers that differ in every run."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_IDENTIFIER_FUNCTIONS = frozenset({"nanoid.generate", "os.urandom", "shortuuid.uuid", "uuid.uuid1", "uuid.uuid4"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _IDENTIFIER_FUNCTIONS, ("secrets.",)):
        if call.short_name != "compare_digest":
            yield sign_for(call, "{} gives another value in every run")


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
