"""Hypothesis generates new examples in every run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign


def _find(function: ReachedFunction) -> Iterator[Sign]:
    decorators = getattr(function.node, "decorator_list", [])
    if any(_is_derandomised(function.facts.value_of(decorator)) for decorator in decorators):
        return
    if any(name.endswith("given") and "hypothesis" in name for name in function.facts.decorators):
        has_deadline = not any(_has_no_deadline(function.facts.value_of(decorator)) for decorator in decorators)
        message = "hypothesis invents other examples in every run"
        if has_deadline:
            yield Sign(function.node, f"{message}, and each has a deadline")
        else:
            yield Sign(function.node, message, "it has no deadline")


def _has_no_deadline(decorator: ast.expr) -> bool:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(
        keyword.arg == "deadline" and isinstance(keyword.value, ast.Constant) and keyword.value.value is None
        for keyword in keywords
    )


def _is_derandomised(decorator: ast.expr) -> bool:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(keyword.arg == "derandomize" for keyword in keywords)


RULE = LintRule(
    id="FH105",
    name="generated-examples",
    cause=Cause.RANDOMNESS,
    title="Property tests with new examples in every run",
    why="A rare example, or one that takes longer than the deadline of 200 ms, fails one run and no other.",
    fix="Set `derandomize=True` and `deadline=None` in the profile used by CI, and pin examples that failed "
    "with `@example`.",
    bad="from hypothesis import given, strategies as st\n\n@given(st.text())\ndef test_sort(text):\n "
    "   assert sort(text)\n",
    good="from hypothesis import given, settings, strategies as st\n\n@settings(derandomize=True, deadline=None)\n"
    "@given(st.text())\ndef test_sort(text):\n    assert sort(text)\n",
    check=in_each_function(_find, unless=uses("hypothesis.settings.load_profile"), in_production=False),
)
