"""Made-up data that differ in every run."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each, uses
from flakehound.lint.rules._values import matching, told


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, ("factory.Faker",), ("faker.", "mimesis.", "fuzzywuzzy.fuzzy", "factory.fuzzy.")):
        if not call.last.startswith("seed") and call.keyword("seed") is None:
            yield told(call, "{} makes up other data in every run")


RULE = Rule(
    id="FH103",
    name="unseeded-faker",
    cause=Cause.RANDOMNESS,
    title="Made-up data without a seed",
    why="Faker's names, dates and texts differ in every run; some of them are longer, equal, or "
    "contain what you split at.",
    fix="Call `Faker.seed(...)` in a fixture, or ask for pytest's `faker` fixture, which is seeded.",
    bad="from faker import Faker\n\ndef test_user():\n    assert len(Faker().name()) < 20\n",
    good="def test_user(faker):\n    assert faker.name()\n",
    check=in_each(_look, unless=uses("faker.Faker.seed", "faker.Faker().seed", "factory.random.reseed_random")),
)
