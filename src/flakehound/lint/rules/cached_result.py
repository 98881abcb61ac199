"""A function caches a result that it returned to another test."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import in_direct_calls
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign

_CACHE_DECORATORS = (
    "cachetools.cached",
    "django.utils.functional.cached",
    "functools.cache",
    "functools.lru_cache",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    if any(name.startswith(_CACHE_DECORATORS) or _is_of_joblib(name) for name in function.facts.decorators):
        yield Sign(function.node, f"{function.name}() remembers results from one test to the next")


def _is_of_joblib(name: str) -> bool:
    return "joblib.Memory" in name and name.endswith(".cache")


def _is_cleared(context: CaseContext) -> bool:
    return any(name.endswith("cache_clear") for name in context.used_names)


RULE = LintRule(
    id="FH913",
    name="cached-result",
    cause=Cause.TEST_ORDER,
    title="A cache outlives the test",
    why="The first test that calls the function decides what all later tests get, even if they patch "
    "functions that it calls.",
    fix="Call `cache_clear()` in a fixture, or keep the cache in an object that each test creates.",
    bad="import functools\n\n@functools.lru_cache\ndef settings():\n    return load()\n\n"
    "def test_settings():\n    assert settings().debug\n",
    good="def settings():\n    return load()\n\ndef test_settings():\n    assert settings().debug\n",
    check=in_direct_calls(_find, unless=_is_cleared),
)
