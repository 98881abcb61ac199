"""Generated data that differs in every run."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_GENERATORS = ("factory.fuzzy.", "faker.", "fuzzywuzzy.fuzzy", "mimesis.")
_SEEDING_FUNCTIONS = ("factory.random.reseed_random", "faker.Faker().seed", "faker.Faker.seed")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, ("factory.Faker",), _GENERATORS):
        if not call.short_name.startswith("seed") and call.keyword("seed") is None:
            yield sign_for(call, "{} makes up other data in every run")


RULE = LintRule(
    id="FH103",
    name="unseeded-faker",
    cause=Cause.RANDOMNESS,
    title="Generated data without a seed",
    why="Faker's names, dates and texts differ in every run; some are longer, occur twice, or contain a "
    "separator.",
    fix="Call `Faker.seed(...)` in a fixture, or request pytest's `faker` fixture, which is seeded.",
    bad="from faker import Faker\n\ndef test_user():\n    assert len(Faker().name()) < 20\n",
    good="def test_user(faker):\n    assert faker.name()\n",
    check=in_each_function(_find, unless=uses(*_SEEDING_FUNCTIONS)),
)
