"""Read the calls, assignments, comparisons and names of a function in one walk over its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.lint.source.scopes import FunctionNode, parameter_names
from flakehound.lint.source.syntax_walk import CHILD_FIELDS, nodes_of

MAX_BINDINGS_FOLLOWED = 6  # to resolve a name; longer chains are cycles

_ASSERT_EQUAL = (
    "assertEqual",
    "assertEquals",
    "assertListEqual",
    "assertSequenceEqual",
    "assertTupleEqual",
    "assert_equal",
)
_ASSERT_LESS = ("assertLess", "assertLessEqual", "assertGreater", "assertGreaterEqual")
_ASSERT_NEAR = ("assertAlmostEqual", "assertAlmostEquals", "isclose", "approx")
_ASSERT_IN = ("assertIn", "assertNotIn")
_RELATION_OF_ASSERTION = {
    name: relation
    for relation, names in (
        ("equal", _ASSERT_EQUAL),
        ("less", _ASSERT_LESS),
        ("near", _ASSERT_NEAR),
        ("in", _ASSERT_IN),
    )
    for name in names
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and the syntax nodes around it."""

    name: str  # dotted, with imports resolved: "time.sleep"; "" if the callee has no name
    node: ast.Call
    parents: tuple[ast.AST, ...]  # innermost first, up to the statement
    short_name: str = field(init=False)  # the name after the last dot

    def __post_init__(self) -> None:
        """Compute the short name once, because most rules use it."""
        object.__setattr__(self, "short_name", self.name.rpartition(".")[2])

    @property
    def is_statement(self) -> bool:
        """Whether the result is ignored."""
        return bool(self.parents) and isinstance(self.parents[0], ast.Expr)

    def keyword(self, name: str) -> ast.expr | None:
        """The value of a keyword argument."""
        return next((keyword.value for keyword in self.node.keywords if keyword.arg == name), None)

    def argument(self, position: int, keyword: str = "") -> ast.expr | None:
        """The value of an argument given by position or by name."""
        if position < len(self.node.args):
            return self.node.args[position]
        return self.keyword(keyword) if keyword else None

    @property
    def has_no_arguments(self) -> bool:
        """Whether it has no arguments except None."""
        values = [*self.node.args, *(keyword.value for keyword in self.node.keywords)]
        return all(isinstance(value, ast.Constant) and value.value is None for value in values)


@dataclass(frozen=True, slots=True)
class ValueComparison:
    """Two values that the function compares, by an operator or by an assert method."""

    left: ast.expr
    right: ast.expr
    relation: str  # "equal", "near", "less", "is", "in"
    node: ast.AST

    @property
    def sides(self) -> tuple[ast.expr, ast.expr]:
        """Both values."""
        return (self.left, self.right)


@dataclass(slots=True, kw_only=True)
class FunctionFacts:
    """One function's calls, assignments and comparisons, with names resolved."""

    imports: Mapping[str, str]
    module_bindings: Mapping[str, ast.expr]  # variable of the module -> its value
    calls: list[Call] = field(default_factory=list)
    comparisons: list[ValueComparison] = field(default_factory=list)
    assignments: list[tuple[ast.expr, ast.stmt]] = field(default_factory=list)  # targets of assignments and `del`
    bindings: dict[str, ast.expr] = field(default_factory=dict)  # local name -> the last value
    globals: set[str] = field(default_factory=set)
    decorators: list[str] = field(default_factory=list)
    context_manager_calls: set[int] = field(
        default_factory=set
    )  # ids of call nodes in the heads of `with` statements
    parameters: set[str] = field(default_factory=set)
    strings: list[ast.Constant] = field(default_factory=list)
    subscripts: list[ast.Subscript] = field(default_factory=list)  # only those that are read
    self_names_resolved: bool = False  # whether `self.x` in the calls has been looked up in the class
    results: dict[Any, Any] = field(
        default_factory=dict
    )  # results computed from the facts, by a key of the caller

    def dotted_name(self, node: ast.AST, depth: int = MAX_BINDINGS_FOLLOWED) -> str:
        """An expression as a full dotted name; "()" for a call without arguments, "(_)" for one with.

        A parameter is "@name": in a test it is a fixture, and not a module of the same name.
        """
        if isinstance(node, ast.Attribute):
            return f"{self.dotted_name(node.value, depth)}.{node.attr}"
        if isinstance(node, ast.Name):
            return self._resolved_name(node.id, depth)
        if isinstance(node, ast.Call):
            inner = self.dotted_name(node.func, depth)
            return inner + ("(_)" if node.args or node.keywords else "()") if inner else ""
        if isinstance(node, ast.Await):
            return self.dotted_name(node.value, depth)
        return ""

    def _resolved_name(self, name: str, depth: int) -> str:
        value = self.bindings.get(name)
        if value is None and name not in self.parameters and name not in self.imports:
            value = self.module_bindings.get(name)
        if depth and isinstance(value, ast.Call | ast.Attribute | ast.Name):
            return self.dotted_name(value, depth - 1) or name
        if name in self.parameters and name not in self.bindings and name not in ("self", "cls"):
            return f"@{name}"
        return name if name in self.bindings or name in self.parameters else self.imports.get(name, name)

    def value_of(self, node: ast.expr) -> ast.expr:
        """The value that a name is bound to, if the function or module shows it; else the expression itself."""
        for _ in range(MAX_BINDINGS_FOLLOWED):
            if not isinstance(node, ast.Name):
                break
            value = self.bindings.get(node.id) or self.module_bindings.get(node.id)
            if value is None or value is node:
                break
            node = value
        return node

    def names_in(self, node: ast.expr) -> set[str]:
        """All dotted names in an expression and in the values of its variables."""
        names: set[str] = set()
        self._add_names(node, names, MAX_BINDINGS_FOLLOWED)
        return names

    def _add_names(self, node: ast.expr, names: set[str], depth: int) -> None:
        for part in nodes_of(node):
            if isinstance(part, ast.Name) and part.id not in names:
                names.add(part.id)
                value = self.bindings.get(part.id) or self.module_bindings.get(part.id)
                if depth and value is not None:
                    self._add_names(value, names, depth - 1)
            if isinstance(part, ast.Attribute | ast.Name | ast.Call):
                names.add(self.dotted_name(part))


def facts_of(
    function: ast.AST, imports: Mapping[str, str], module_bindings: Mapping[str, ast.expr]
) -> FunctionFacts:
    """The facts of one function, a lambda or a module's statements."""
    facts = FunctionFacts(imports=imports, module_bindings=module_bindings)
    if isinstance(function, FunctionNode):
        facts.parameters = set(parameter_names(function))
        for decorator in function.decorator_list:
            _visit(facts, decorator, ())
    body = getattr(function, "body", [])
    for statement in body if isinstance(body, list) else [body]:
        _visit(facts, statement, ())
    _resolve_calls(facts, function)
    return facts


def names_imported_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import statement binds, with their full names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, f"{base}.{alias.name}"


def _resolve_calls(facts: FunctionFacts, function: ast.AST) -> None:
    # Names can be resolved only when all bindings are known, so `_visit_call` leaves them empty.
    facts.calls = [Call(facts.dotted_name(call.node.func), call.node, call.parents) for call in facts.calls]
    facts.decorators = [
        facts.dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        for decorator in getattr(function, "decorator_list", [])
    ]
    facts.comparisons += [comparison for call in facts.calls for comparison in _comparisons_by(call)]


def _comparisons_by(call: Call) -> Iterator[ValueComparison]:
    if len(call.node.args) < 2:
        return
    relation = _RELATION_OF_ASSERTION.get(call.short_name)
    if relation is not None:
        yield ValueComparison(call.node.args[0], call.node.args[1], relation, call.node)


def _visit(facts: FunctionFacts, node: ast.AST, parents: tuple[ast.AST, ...]) -> None:
    visitor = _VISITORS.get(type(node))
    if visitor is not None:
        visitor(facts, node, parents)
    parents_within_statement = (
        () if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS_WITH_VALUE) else parents
    )
    inner = (node, *parents_within_statement)
    for name in CHILD_FIELDS[node.__class__]:
        child = getattr(node, name)
        if child.__class__ is list:
            for item in child:
                if item is not None:
                    _visit(facts, item, inner)
        elif child is not None:
            _visit(facts, child, inner)


_STATEMENTS_WITH_VALUE = (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert)


def _visit_call(facts: FunctionFacts, node: ast.Call, parents: tuple[ast.AST, ...]) -> None:
    facts.calls.append(Call("", node, parents))


def _visit_assignment(facts: FunctionFacts, node: ast.Assign, _parents: tuple[ast.AST, ...]) -> None:
    for target in node.targets:
        _bind(facts, target, node.value, node)


def _visit_annotated_assignment(facts: FunctionFacts, node: ast.AnnAssign, _parents: tuple[ast.AST, ...]) -> None:
    if node.value is not None:
        _bind(facts, node.target, node.value, node)


def _visit_augmented_assignment(facts: FunctionFacts, node: ast.AugAssign, _parents: tuple[ast.AST, ...]) -> None:
    facts.assignments.append((node.target, node))


def _visit_deletion(facts: FunctionFacts, node: ast.Delete, _parents: tuple[ast.AST, ...]) -> None:
    facts.assignments += [(target, node) for target in node.targets]


def _visit_with(facts: FunctionFacts, node: ast.With | ast.AsyncWith, _parents: tuple[ast.AST, ...]) -> None:
    for item in node.items:
        facts.context_manager_calls |= {
            id(part) for part in nodes_of(item.context_expr) if isinstance(part, ast.Call)
        }
        if item.optional_vars is not None:
            _bind(facts, item.optional_vars, item.context_expr, node)


def _visit_walrus(facts: FunctionFacts, node: ast.NamedExpr, _parents: tuple[ast.AST, ...]) -> None:
    facts.bindings[node.target.id] = node.value


def _bind(facts: FunctionFacts, target: ast.expr, value: ast.expr, statement: ast.stmt) -> None:
    if isinstance(target, ast.Name):
        facts.bindings[target.id] = value
        facts.assignments.append((target, statement))
    elif isinstance(target, ast.Tuple | ast.List):
        is_unpacked = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        for index, element in enumerate(target.elts):
            element_value = value.elts[index] if is_unpacked and isinstance(value, ast.Tuple) else value
            _bind(facts, element, element_value, statement)
    else:
        facts.assignments.append((target, statement))


_RELATION_OF_OPERATOR: dict[type[ast.cmpop], str] = {
    **dict.fromkeys((ast.Eq, ast.NotEq), "equal"),
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), "less"),
    **dict.fromkeys((ast.Is, ast.IsNot), "is"),
    **dict.fromkeys((ast.In, ast.NotIn), "in"),
}


def _visit_comparison(facts: FunctionFacts, node: ast.Compare, _parents: tuple[ast.AST, ...]) -> None:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        facts.comparisons.append(ValueComparison(left, right, _RELATION_OF_OPERATOR[type(operator)], node))


def _visit_global(facts: FunctionFacts, node: ast.Global, _parents: tuple[ast.AST, ...]) -> None:
    facts.globals |= set(node.names)


def _visit_subscript(facts: FunctionFacts, node: ast.Subscript, _parents: tuple[ast.AST, ...]) -> None:
    if isinstance(node.ctx, ast.Load):
        facts.subscripts.append(node)


def _visit_string(facts: FunctionFacts, node: ast.Constant, parents: tuple[ast.AST, ...]) -> None:
    # A string that is a statement of its own is documentation.
    if isinstance(node.value, str) and not (parents and isinstance(parents[0], ast.Expr)):
        facts.strings.append(node)


_VISITORS: dict[type[ast.AST], Callable[[FunctionFacts, Any, tuple[ast.AST, ...]], None]] = {
    ast.Call: _visit_call,
    ast.Assign: _visit_assignment,
    ast.AnnAssign: _visit_annotated_assignment,
    ast.AugAssign: _visit_augmented_assignment,
    ast.Delete: _visit_deletion,
    ast.With: _visit_with,
    ast.AsyncWith: _visit_with,
    ast.NamedExpr: _visit_walrus,
    ast.Compare: _visit_comparison,
    ast.Global: _visit_global,
    ast.Constant: _visit_string,
    ast.Subscript: _visit_subscript,
}
