"""No valid Python file makes a rule crash."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flakehound.lint.facts.case_context import CaseContext, FactsCache
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.source.modules import Module, parse_source

LIBRARY = Path(os.__file__).parent
FILES = sorted([*LIBRARY.glob("*.py"), *LIBRARY.glob("asyncio/*.py"), *LIBRARY.glob("unittest/*.py")])


def functions_in(module: Module) -> Iterator[ast.AST]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node


@pytest.mark.parametrize("start", range(4))  # a third of the files; `benchmarks/lint_robust.py` checks all
def test_no_rule_crashes_on_the_standard_library(start):
    cache, functions = FactsCache(), 0
    for path in FILES[start::12]:
        module = parse_source(path.name, path.read_bytes())
        if isinstance(module, Module):
            for function in functions_in(module):
                reached = cache.function(module, function)
                findings_of(CaseContext(test_id="x", functions=(reached,), cache=cache))
                functions += 1

    assert functions > 100
