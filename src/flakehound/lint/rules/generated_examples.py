"""Hypothesis generates new examples in every run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign


def _find(function: ReachedFunction) -> Iterator[Sign]:
    decorators = getattr(function.node, "decorator_list", [])
    values = [function.facts.value_of(decorator) for decorator in decorators]
    is_property = any(name.endswith("given") and "hypothesis" in name for name in function.facts.decorators)
    if not is_property or any(_is_derandomised(value) for value in values):
        return
    message = "hypothesis invents other examples in every run"
    if not all(_is_known(name) for name in function.facts.decorators):
        yield Sign(function.node, message, "another decorator may fix the examples")
    elif any(_has_no_deadline(value) for value in values):
        yield Sign(function.node, message, "they have no deadline")
    else:
        yield Sign(function.node, f"{message}, and each has a deadline")


def _has_profile(context: CaseContext) -> bool:
    """Whether the test's file or a conftest loads a profile of its own, maybe in a hook."""
    modules = [*context.conftests, context.functions[0].module.source]
    return any("load_profile(" in module.text for module in modules)


def _is_known(decorator: str) -> bool:
    """Whether a decorator is none of the project's own, which may have settings of hypothesis."""
    return decorator.startswith(("hypothesis.", "pytest.", "unittest.")) or ".settings" in decorator


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
    check=in_each_function(_find, unless=_has_profile, in_production=False),
)
