"""The calls, assignments, comparisons and names of one function, read in one walk over its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.lint.source.scopes import FunctionNode, parameter_names
from flakehound.lint.source.syntax_walk import CHILD_FIELDS, nodes_of

MAX_BINDINGS_FOLLOWED = 6  # while a name is resolved; longer chains are cycles

_EQUAL = (
    "assertEqual",
    "assertEquals",
    "assertListEqual",
    "assertSequenceEqual",
    "assertTupleEqual",
    "assert_equal",
)
_LESS = ("assertLess", "assertLessEqual", "assertGreater", "assertGreaterEqual")
_NEAR = ("assertAlmostEqual", "assertAlmostEquals", "isclose", "approx")
_IN = ("assertIn", "assertNotIn")
_ASSERTED_RELATION = {
    name: relation
    for relation, names in (("equal", _EQUAL), ("less", _LESS), ("near", _NEAR), ("in", _IN))
    for name in names
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and the syntax around it."""

    name: str  # dotted, imports followed: "time.sleep"; "" if what is called has no name
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
        return next((one.value for one in self.node.keywords if one.arg == name), None)

    def argument(self, position: int, keyword: str = "") -> ast.expr | None:
        """The value of an argument given by position or by name."""
        if position < len(self.node.args):
            return self.node.args[position]
        return self.keyword(keyword) if keyword else None

    @property
    def has_no_arguments(self) -> bool:
        """Whether no argument is given, or only None."""
        values = [*self.node.args, *(one.value for one in self.node.keywords)]
        return all(isinstance(one, ast.Constant) and one.value is None for one in values)


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
    module_bindings: Mapping[str, ast.expr]  # what the module's own names are bound to
    calls: list[Call] = field(default_factory=list)
    comparisons: list[ValueComparison] = field(default_factory=list)
    assignments: list[tuple[ast.expr, ast.stmt]] = field(default_factory=list)  # targets; "del" counts
    bindings: dict[str, ast.expr] = field(default_factory=dict)  # local name -> value, the last one seen
    globals: set[str] = field(default_factory=set)
    decorators: list[str] = field(default_factory=list)
    context_manager_calls: set[int] = field(default_factory=set)  # ids of calls that a `with` enters
    parameters: set[str] = field(default_factory=set)
    strings: list[ast.Constant] = field(default_factory=list)
    subscripts: list[ast.Subscript] = field(default_factory=list)  # that are read
    self_names_resolved: bool = False  # `self.x` in the calls has been looked up in the class
    results: dict[Any, Any] = field(default_factory=dict)  # what was computed from the facts, by a key of its own

    def dotted_name(self, node: ast.AST, depth: int = MAX_BINDINGS_FOLLOWED) -> str:
        """An expression as a full dotted name; "()" for a call without arguments, "(_)" for one with.

        A parameter is "@name": in a test it is a fixture, whatever module has the same name.
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
        """What a name was bound to, as far as the function or module shows; any other expression is itself."""
        for _ in range(MAX_BINDINGS_FOLLOWED):
            if not isinstance(node, ast.Name):
                break
            known = self.bindings.get(node.id) or self.module_bindings.get(node.id)
            if known is None or known is node:
                break
            node = known
        return node

    def names_in(self, node: ast.expr) -> set[str]:
        """All dotted names that an expression is made of, bindings followed."""
        found: set[str] = set()
        self._add_names(node, found, MAX_BINDINGS_FOLLOWED)
        return found

    def _add_names(self, node: ast.expr, found: set[str], depth: int) -> None:
        for one in nodes_of(node):
            if isinstance(one, ast.Name) and one.id not in found:
                found.add(one.id)
                value = self.bindings.get(one.id) or self.module_bindings.get(one.id)
                if depth and value is not None:
                    self._add_names(value, found, depth - 1)
            if isinstance(one, ast.Attribute | ast.Name | ast.Call):
                found.add(self.dotted_name(one))


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
    """Names that an import statement binds, with the full names they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, f"{base}.{alias.name}"


def _resolve_calls(facts: FunctionFacts, function: ast.AST) -> None:
    # Names can be resolved only once all bindings are known, so `_call` leaves them empty.
    facts.calls = [Call(facts.dotted_name(one.node.func), one.node, one.parents) for one in facts.calls]
    facts.decorators = [
        facts.dotted_name(one.func if isinstance(one, ast.Call) else one)
        for one in getattr(function, "decorator_list", [])
    ]
    facts.comparisons += [found for call in facts.calls for found in _compared_by(call)]


def _compared_by(call: Call) -> Iterator[ValueComparison]:
    if len(call.node.args) < 2:
        return
    relation = _ASSERTED_RELATION.get(call.short_name)
    if relation is not None:
        yield ValueComparison(call.node.args[0], call.node.args[1], relation, call.node)


def _visit(facts: FunctionFacts, node: ast.AST, parents: tuple[ast.AST, ...]) -> None:
    visitor = _VISITORS.get(type(node))
    if visitor is not None:
        visitor(facts, node, parents)
    above = () if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS_WITH_VALUE) else parents
    inner = (node, *above)
    for name in CHILD_FIELDS[node.__class__]:
        child = getattr(node, name)
        if child.__class__ is list:
            for one in child:
                if one is not None:
                    _visit(facts, one, inner)
        elif child is not None:
            _visit(facts, child, inner)


_STATEMENTS_WITH_VALUE = (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert)


def _call(facts: FunctionFacts, node: ast.Call, parents: tuple[ast.AST, ...]) -> None:
    facts.calls.append(Call("", node, parents))


def _assign(facts: FunctionFacts, node: ast.Assign, _parents: tuple[ast.AST, ...]) -> None:
    for target in node.targets:
        _bind(facts, target, node.value, node)


def _annotated(facts: FunctionFacts, node: ast.AnnAssign, _parents: tuple[ast.AST, ...]) -> None:
    if node.value is not None:
        _bind(facts, node.target, node.value, node)


def _augmented(facts: FunctionFacts, node: ast.AugAssign, _parents: tuple[ast.AST, ...]) -> None:
    facts.assignments.append((node.target, node))


def _deleted(facts: FunctionFacts, node: ast.Delete, _parents: tuple[ast.AST, ...]) -> None:
    facts.assignments += [(target, node) for target in node.targets]


def _with(facts: FunctionFacts, node: ast.With | ast.AsyncWith, _parents: tuple[ast.AST, ...]) -> None:
    for item in node.items:
        facts.context_manager_calls |= {
            id(one) for one in nodes_of(item.context_expr) if isinstance(one, ast.Call)
        }
        if item.optional_vars is not None:
            _bind(facts, item.optional_vars, item.context_expr, node)


def _walrus(facts: FunctionFacts, node: ast.NamedExpr, _parents: tuple[ast.AST, ...]) -> None:
    facts.bindings[node.target.id] = node.value


def _bind(facts: FunctionFacts, target: ast.expr, value: ast.expr, statement: ast.stmt) -> None:
    if isinstance(target, ast.Name):
        facts.bindings[target.id] = value
        facts.assignments.append((target, statement))
    elif isinstance(target, ast.Tuple | ast.List):
        for index, one in enumerate(target.elts):
            same = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            element = value.elts[index] if same and isinstance(value, ast.Tuple) else value
            _bind(facts, one, element, statement)
    else:
        facts.assignments.append((target, statement))


_RELATION: dict[type[ast.cmpop], str] = {
    **dict.fromkeys((ast.Eq, ast.NotEq), "equal"),
    **dict.fromkeys((ast.Lt, ast.LtE, ast.Gt, ast.GtE), "less"),
    **dict.fromkeys((ast.Is, ast.IsNot), "is"),
    **dict.fromkeys((ast.In, ast.NotIn), "in"),
}


def _compare(facts: FunctionFacts, node: ast.Compare, _parents: tuple[ast.AST, ...]) -> None:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        facts.comparisons.append(ValueComparison(left, right, _RELATION[type(operator)], node))


def _global(facts: FunctionFacts, node: ast.Global, _parents: tuple[ast.AST, ...]) -> None:
    facts.globals |= set(node.names)


def _subscript(facts: FunctionFacts, node: ast.Subscript, _parents: tuple[ast.AST, ...]) -> None:
    if isinstance(node.ctx, ast.Load):
        facts.subscripts.append(node)


def _string(facts: FunctionFacts, node: ast.Constant, parents: tuple[ast.AST, ...]) -> None:
    # A string that stands alone is documentation.
    if isinstance(node.value, str) and not (parents and isinstance(parents[0], ast.Expr)):
        facts.strings.append(node)


_VISITORS: dict[type[ast.AST], Callable[[FunctionFacts, Any, tuple[ast.AST, ...]], None]] = {
    ast.Call: _call,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _deleted,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.NamedExpr: _walrus,
    ast.Compare: _compare,
    ast.Global: _global,
    ast.Constant: _string,
    ast.Subscript: _subscript,
}
