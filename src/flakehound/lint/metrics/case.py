"""The metrics of a test function itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from flakehound.lint.metrics import testsmells
from flakehound.lint.metrics.assertions import assertions
from flakehound.lint.metrics.code_nodes import Code, code_of, first_line
from flakehound.lint.metrics.complexity import complexity
from flakehound.lint.metrics.external_modules import external_modules
from flakehound.lint.metrics.halstead import halstead
from flakehound.lint.metrics.import_names import names_bound_by
from flakehound.lint.metrics.lines import LineCounter, LineCounts
from flakehound.lint.metrics.maintainability import maintainability
from flakehound.lint.metrics.nesting_depth import ast_depth
from flakehound.lint.metrics.resources import existence_checks, resource_uses
from flakehound.lint.source.scopes import FunctionNode


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMetrics:
    """The ten metrics of STATIC about the test, and the seven static features of CANNIER."""

    # As STATIC measures it.
    mccabe: int
    tloc: int
    assertion_density: float
    assertion_roulette: int
    conditional_test_logic: int
    eager_test: int | None  # None: the tested code is unknown
    fire_and_forget: int
    mystery_guest: int
    resource_optimism: int
    sensitive_equality: int
    # As CANNIER measures it.
    ast_depth: int
    assertions: int
    external_modules: int
    halstead_volume: float
    cyclomatic_complexity: int
    test_lines_of_code: int
    maintainability: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CaseSource:
    """What the metrics of a test need from its file and project."""

    lines: LineCounter
    imports: Mapping[str, str]  # local name -> full dotted name
    is_own: Callable[[str], bool]  # whether a top-level package belongs to the project
    methods: Collection[str] | None  # of the linked code; None if no code is linked


def case_metrics(function: FunctionNode, source: CaseSource) -> CaseMetrics:
    """Compute the metrics of a test function."""
    code = code_of(function.body)
    imports = _imports_with_inner(code, source.imports)
    assertion_nodes = assertions(code)
    uses = resource_uses(code, imports)
    volume = halstead(code).volume
    branches = complexity(code, asserts=False)
    decisions = branches + len(code.all_nodes(ast.Assert))
    tloc = source.lines.between(first_line(function), _last_line(function)).non_blank
    body = _body_counts(function, source.lines)
    return CaseMetrics(
        mccabe=branches,
        tloc=tloc,
        assertion_density=len(assertion_nodes) / tloc if tloc else 0.0,
        assertion_roulette=testsmells.assertion_roulette(assertion_nodes),
        conditional_test_logic=testsmells.conditional_test_logic(code),
        eager_test=None if source.methods is None else testsmells.eager_test(code, source.methods),
        fire_and_forget=testsmells.fire_and_forget(code),
        mystery_guest=testsmells.mystery_guest(uses),
        resource_optimism=testsmells.resource_optimism(uses, existence_checks(code)) if uses else 0,
        sensitive_equality=testsmells.sensitive_equality(code, assertion_nodes),
        ast_depth=ast_depth(function.body),
        assertions=len(assertion_nodes),
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


def _imports_with_inner(code: Code, outer: Mapping[str, str]) -> Mapping[str, str]:
    inner_imports: list[ast.Import | ast.ImportFrom] = [
        *code.all_nodes(ast.Import),
        *code.all_nodes(ast.ImportFrom),
    ]
    if not inner_imports:
        return outer
    return {
        **outer,
        **{
            name: full_name for statement in inner_imports for name, full_name in names_bound_by(statement).items()
        },
    }


def _last_line(function: FunctionNode) -> int:
    return function.end_lineno or function.lineno


def _body_counts(function: FunctionNode, lines: LineCounter) -> LineCounts:
    first_statement = function.body[0]
    first_body_line = (
        first_line(first_statement)
        if isinstance(first_statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        else first_statement.lineno
    )
    counts = lines.between(first_body_line, _last_line(function))
    # A body that starts on the last line of the `def` is counted together with it.
    return counts if counts.logical else lines.between(function.lineno, _last_line(function))
