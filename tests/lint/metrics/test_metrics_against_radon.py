"""Halstead, complexity, lines and maintainability compared with radon, for all functions of real packages."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from radon.metrics import h_visit_ast, mi_compute
from radon.raw import analyze
from radon.visitors import ComplexityVisitor

from flakehound.lint.metrics.code_nodes import code_of
from flakehound.lint.metrics.complexity import complexity
from flakehound.lint.metrics.halstead import halstead
from flakehound.lint.metrics.lines import LineCounter, LineCounts
from flakehound.lint.metrics.maintainability import maintainability
from flakehound.lint.source.scopes import FunctionNode

PACKAGES = ("click", "jinja2", "pluggy")
# radon takes seconds to count the lines of the larger packages.
MOSTLY_SLOW = ("pluggy", *(pytest.param(package, marks=pytest.mark.slow) for package in ("click", "jinja2")))


def files_of(package: str) -> list[Path]:
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return sorted(Path(spec.origin).parent.rglob("*.py"))


def parsed_files(package: str) -> Iterator[tuple[str, ast.Module]]:
    for path in files_of(package):
        text = path.read_text(encoding="utf-8")
        yield text, ast.parse(text)


def functions_of(tree: ast.Module) -> list[FunctionNode]:
    return [node for node in ast.walk(tree) if isinstance(node, FunctionNode)]


def as_module(function: FunctionNode) -> ast.Module:
    # pytest-cannier passes the body of a function to radon as if it were a file.
    return ast.Module(body=function.body, type_ignores=[])


def body_text(function: FunctionNode, text: str) -> str:
    lines = text.split("\n")[function.body[0].lineno - 1 : function.end_lineno]
    return "\n".join(lines)


def radon_counts(radon_result) -> tuple[int, int, int, int]:
    return radon_result.N1, radon_result.N2, radon_result.h1, radon_result.h2


def our_counts(body: list[ast.stmt]) -> tuple[int, int, int, int]:
    halstead_counts = halstead(code_of(body))
    return (
        halstead_counts.operators,
        halstead_counts.operands,
        halstead_counts.distinct_operators,
        halstead_counts.distinct_operands,
    )


def has_code_that_radon_ignores(function: FunctionNode) -> bool:
    """Whether the function has code in which radon does not count decisions."""
    inside = [node for statement in function.body for node in ast.walk(statement)]
    definitions = [node for node in inside if isinstance(node, FunctionNode | ast.ClassDef)]
    nested = any(isinstance(node, ast.ClassDef) for node in definitions) or any(
        isinstance(inner, FunctionNode) for outer in definitions for inner in ast.walk(outer) if inner is not outer
    )
    asserts = any(has_decision(node) for node in inside if isinstance(node, ast.Assert))
    headers = any(has_decision(part) for node in definitions for part in header_nodes(node))
    return nested or asserts or headers or any(is_unknown_to_radon(node) for node in inside)


def has_decision(node: ast.AST) -> bool:
    return any(isinstance(part, ast.BoolOp | ast.IfExp | ast.comprehension) for part in ast.walk(node))


def header_nodes(node: ast.AST) -> list[ast.AST]:
    return [*node.decorator_list, *([node.args] if isinstance(node, FunctionNode) else [])]


def is_unknown_to_radon(node: ast.AST) -> bool:
    if isinstance(node, ast.match_case):
        return node.guard is not None
    return isinstance(node, ast.MatchOr) or type(node).__name__ == "TryStar"


@pytest.mark.parametrize("package", PACKAGES)
def test_halstead_counts_of_every_file_and_function_equal_those_of_radon(package):
    differing = []
    for _text, tree in parsed_files(package):
        if our_counts(tree.body) != radon_counts(h_visit_ast(tree).total):
            differing.append(tree)
        for function in functions_of(tree):
            theirs = radon_counts(h_visit_ast(as_module(function)).total)
            differing += [function] * (our_counts(function.body) != theirs)

    assert differing == []


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("asserts", [True, False])
def test_complexity_of_every_function_that_radon_counts_fully_equals_that_of_radon(package, asserts):
    compared, differing = 0, []
    for _text, tree in parsed_files(package):
        for function in functions_of(tree):
            theirs = ComplexityVisitor.from_ast(as_module(function), no_assert=not asserts).total_complexity
            ours = complexity(code_of(function.body), asserts=asserts)
            if not has_code_that_radon_ignores(function):
                compared += 1
                differing += [function.name] * (ours != theirs)

    assert compared > 50
    assert differing == []


@pytest.mark.parametrize("package", MOSTLY_SLOW)
def test_lines_of_every_file_equal_those_of_radon(package):
    differing = []
    for text, tree in parsed_files(package):
        theirs, ours = as_line_counts(analyze(text)), LineCounter(text).whole_file()
        surplus = theirs.logical - ours.logical
        if replace(theirs, logical=ours.logical) != ours or not 0 <= surplus <= colons_in_fstrings(tree):
            differing.append((theirs, ours))

    assert differing == []


def colons_in_fstrings(tree: ast.AST) -> int:
    """F-strings with a colon in a field: since Python 3.12 radon counts it as a colon of the code."""
    if sys.version_info < (3, 12):
        return 0
    return sum(isinstance(node, ast.JoinedStr) and has_colon(node) for node in ast.walk(tree))


def has_colon(text: ast.JoinedStr) -> bool:
    fields = [node for node in ast.walk(text) if isinstance(node, ast.FormattedValue)]
    colons = (ast.Slice, ast.Dict, ast.DictComp, ast.Lambda)
    return any(field.format_spec for field in fields) or any(isinstance(node, colons) for node in ast.walk(text))


def as_line_counts(raw) -> LineCounts:
    return LineCounts(
        non_blank=raw.loc - raw.blank,
        source=raw.sloc,
        logical=raw.lloc,
        comments=raw.comments,
        documentation=raw.multi,
    )


@pytest.mark.parametrize("package", MOSTLY_SLOW)
def test_maintainability_equals_that_of_radon_if_complexity_does(package):
    differing = []
    for text, tree in parsed_files(package):
        lines = LineCounter(text)
        for function in functions_of(tree):
            if not (
                has_code_that_radon_ignores(function)
                or starts_on_line_of_def(function, text)
                or colons_in_fstrings(function)
            ):
                ours, theirs = our_index(function, lines), radon_index(function, text)
                differing += [(function.name, ours, theirs)] * (abs(ours - theirs) > 1e-9)

    assert differing == []


def starts_on_line_of_def(function: FunctionNode, text: str) -> bool:
    # Then the text of the body starts with the end of the `def`, which radon cannot parse.
    first = function.body[0]
    return bool(text.split("\n")[first.lineno - 1][: first.col_offset].strip()) or isinstance(first, FunctionNode)


def our_index(function: FunctionNode, lines: LineCounter) -> float:
    code = code_of(function.body)
    counts = lines.between(function.body[0].lineno, function.end_lineno or function.lineno)
    return maintainability(
        volume=halstead(code).volume,
        complexity=complexity(code, asserts=True),
        logical_lines=counts.logical,
        comment_percent=counts.comment_percent,
    )


def radon_index(function: FunctionNode, text: str) -> float:
    raw, tree = analyze(body_text(function, text)), as_module(function)
    comments = (raw.comments + raw.multi) / raw.sloc * 100 if raw.sloc else 0
    volume = h_visit_ast(tree).total.volume
    return mi_compute(volume, ComplexityVisitor.from_ast(tree).total_complexity, raw.lloc, comments)
