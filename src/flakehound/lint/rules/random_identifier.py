"""Identifiers that differ in every run."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(("uuid.uuid1", "uuid.uuid4", "os.urandom", "shortuuid.uuid", "nanoid.generate"))


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES, ("secrets.",)):
        if call.last != "compare_digest":
            yield told(call, "{} gives another value in every run")


RULE = Rule(
    id="FH102",
    name="random-identifier",
    cause=Cause.RANDOMNESS,
    title="Identifiers from uuid, secrets or os.urandom",
    why="They cannot be seeded. Whatever is sorted, hashed, cut short or compared by them changes "
    "from run to run.",
    fix="Hand the identifier in, or replace its source with `monkeypatch` for the test.",
    bad="import uuid\n\ndef test_name():\n    assert uuid.uuid4().hex < 'f'\n",
    good="import uuid\n\ndef test_name():\n    assert uuid.UUID(int=1).hex < 'f'\n",
    check=in_each(_look),
)
