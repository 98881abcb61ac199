"""The metrics of a test function itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from flakehound.lint.metrics import testsmells
from flakehound.lint.metrics.assertions import assertions
from flakehound.lint.metrics.code import Code, code_of, first_line
from flakehound.lint.metrics.complexity import complexity
from flakehound.lint.metrics.external import external_modules
from flakehound.lint.metrics.halstead import halstead
from flakehound.lint.metrics.imported import names_bound
from flakehound.lint.metrics.lines import LineCounts, Lines
from flakehound.lint.metrics.maintainability import maintainability
from flakehound.lint.metrics.resources import existence_checks, resource_uses
from flakehound.lint.metrics.statements import ast_depth
from flakehound.lint.source.scopes import FunctionNode


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMetrics:
    """Ten metrics of the test of STATIC, and the seven static features of CANNIER."""

    mccabe: int
    tloc: int
    assertion_density: float
    assertion_roulette: int
    conditional_test_logic: int
    eager_test: int | None  # None: it is not known what is tested
    fire_and_forget: int
    mystery_guest: int
    resource_optimism: int
    sensitive_equality: int
    ast_depth: int
    assertions: int
    external_modules: int
    halstead_volume: float
    cyclomatic_complexity: int
    test_lines_of_code: int
    maintainability: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaseSource:
    """What the file and project around a test contribute to its metrics."""

    lines: Lines
    imports: Mapping[str, str]  # local name -> full dotted name
    is_own: Callable[[str], bool]  # whether a top-level package is the project's
    methods: Collection[str] | None  # of the linked code; None where nothing is linked


def case_metrics(function: FunctionNode, source: CaseSource) -> CaseMetrics:
    """All metrics that the test function alone decides."""
    code = code_of(function.body)
    imports = _imports(code, source.imports)
    found = assertions(code)
    used = resource_uses(code, imports)
    volume = halstead(code).volume
    branches = complexity(code, asserts=False)
    decisions = branches + len(code.all(ast.Assert))
    tloc = source.lines.between(first_line(function), _last_line(function)).written
    body = _body(function, source.lines)
    return CaseMetrics(
        mccabe=branches,
        tloc=tloc,
        assertion_density=len(found) / tloc if tloc else 0.0,
        assertion_roulette=testsmells.assertion_roulette(found),
        conditional_test_logic=testsmells.conditional_test_logic(code),
        eager_test=None if source.methods is None else testsmells.eager_test(code, source.methods),
        fire_and_forget=testsmells.fire_and_forget(code),
        mystery_guest=testsmells.mystery_guest(used),
        resource_optimism=testsmells.resource_optimism(used, existence_checks(code)) if used else 0,
        sensitive_equality=testsmells.sensitive_equality(code, found),
        ast_depth=ast_depth(function.body),
        assertions=len(found),
        external_modules=len(external_modules(function, code, imports, source.is_own)),
        halstead_volume=volume,
        cyclomatic_complexity=decisions,
        test_lines_of_code=body.logical,
        maintainability=maintainability(
            volume=volume,
            complexity=decisions,
            logical_lines=body.logical,
            comment_percent=body.comment_percent,
        ),
    )


def _imports(code: Code, outer: Mapping[str, str]) -> Mapping[str, str]:
    inside: list[ast.Import | ast.ImportFrom] = [*code.all(ast.Import), *code.all(ast.ImportFrom)]
    if not inside:
        return outer
    return {**outer, **{name: full for one in inside for name, full in names_bound(one).items()}}


def _last_line(function: FunctionNode) -> int:
    return function.end_lineno or function.lineno


def _body(function: FunctionNode, lines: Lines) -> LineCounts:
    opening = function.body[0]
    first = (
        first_line(opening)
        if isinstance(opening, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        else opening.lineno
    )
    tally = lines.between(first, _last_line(function))
    # A body on the line that ends the `def` belongs to the lines of that.
    return tally if tally.logical else lines.between(function.lineno, _last_line(function))
