"""A function remembers what it returned to another test."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part, at_hand

_CACHES = (
    "functools.lru_cache",
    "functools.cache",
    "cachetools.cached",
    "joblib.",
    "django.utils.functional.cached",
)


def _look(part: Part) -> Iterator[Sign]:
    if any(name.startswith(_CACHES) for name in part.sights.decorators):
        yield Sign(part.function, f"{part.name}() remembers results from one test to the next")


def _is_cleared(context: Context) -> bool:
    return any(guard.endswith("cache_clear") for guard in context.guards)


RULE = Rule(
    id="FH913",
    name="cached-result",
    cause=Cause.TEST_ORDER,
    title="A cache outlives the test",
    why="The first test to call the function decides what all later ones get, also when they patched "
    "what lies beneath.",
    fix="Call `cache_clear()` in a fixture, or cache in an object that each test makes.",
    bad="import functools\n\n@functools.lru_cache\ndef settings():\n    return load()\n\n"
    "def test_settings():\n    assert settings().debug\n",
    good="def settings():\n    return load()\n\ndef test_settings():\n    assert settings().debug\n",
    check=at_hand(_look, unless=_is_cleared),
)
