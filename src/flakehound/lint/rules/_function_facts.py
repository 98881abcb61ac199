"""What the rules ask about one function, gathered in one walk over its tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.lint.source.syntax_walk import CHILD_FIELDS, nodes_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
LONGEST_CHAIN = 6  # bindings followed while a name is spelled out; more would only meet cycles

_EQUAL = frozenset(
    ("assertEqual", "assertEquals", "assertListEqual", "assertSequenceEqual", "assertTupleEqual", "assert_equal")
)
_ORDERED = frozenset(("assertLess", "assertLessEqual", "assertGreater", "assertGreaterEqual"))
_NEAR = frozenset(("assertAlmostEqual", "assertAlmostEquals", "isclose", "approx"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call, and what becomes of its result."""

    name: str  # dotted, imports followed: "time.sleep"; "" where the function is no name
    node: ast.Call
    parents: tuple[ast.AST, ...]  # innermost first, up to the statement
    last: str = field(init=False)  # the name after the last dot

    def __post_init__(self) -> None:
        """Find the last part once: most rules ask for it."""
        object.__setattr__(self, "last", self.name.rpartition(".")[2])

    @property
    def is_statement(self) -> bool:
        """Whether the result is thrown away."""
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
    def is_bare(self) -> bool:
        """Whether nothing, or only None, is handed over."""
        values = [*self.node.args, *(one.value for one in self.node.keywords)]
        return all(isinstance(one, ast.Constant) and one.value is None for one in values)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values that the function compares, by an operator or by an assert method."""

    left: ast.expr
    right: ast.expr
    how: str  # "equal", "near", "less", "is", "in"
    node: ast.AST

    @property
    def sides(self) -> tuple[ast.expr, ast.expr]:
        """Both values."""
        return (self.left, self.right)


@dataclass(slots=True, kw_only=True)
class Sights:
    """One function's calls, assignments and comparisons, with names spelled out."""

    imports: Mapping[str, str]
    outer: Mapping[str, ast.expr]  # what the module's own names are bound to
    calls: list[Call] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    assigned: list[tuple[ast.expr, ast.stmt]] = field(default_factory=list)  # targets; "del" counts
    bound: dict[str, ast.expr] = field(default_factory=dict)  # local name -> value, the last one seen
    globals: set[str] = field(default_factory=set)
    decorators: list[str] = field(default_factory=list)
    entered: set[int] = field(default_factory=set)  # ids of calls that a `with` enters
    parameters: set[str] = field(default_factory=set)
    texts: list[ast.Constant] = field(default_factory=list)
    subscripts: list[ast.Subscript] = field(default_factory=list)  # that are read
    attributes_named: bool = False  # `self.x` in the calls has been looked up in the class
    noticed: dict[Any, Any] = field(default_factory=dict)  # by `Look`: its signs; kept by `Part`
    loud: dict[Any, Any] = field(default_factory=dict)  # by `Looks` and sort of part; kept by `Part`

    def dotted(self, node: ast.AST, depth: int = LONGEST_CHAIN) -> str:
        """An expression as a full dotted name; "()" for a call without arguments, "(_)" for one with.

        A parameter is "@name": in a test it is a fixture, whatever module has the same name.
        """
        if isinstance(node, ast.Attribute):
            return f"{self.dotted(node.value, depth)}.{node.attr}"
        if isinstance(node, ast.Name):
            return self._spelled(node.id, depth)
        if isinstance(node, ast.Call):
            inner = self.dotted(node.func, depth)
            return inner + ("(_)" if node.args or node.keywords else "()") if inner else ""
        if isinstance(node, ast.Await):
            return self.dotted(node.value, depth)
        return ""

    def _spelled(self, name: str, depth: int) -> str:
        value = self.bound.get(name)
        if value is None and name not in self.parameters and name not in self.imports:
            value = self.outer.get(name)
        if depth and isinstance(value, ast.Call | ast.Attribute | ast.Name):
            return self.dotted(value, depth - 1) or name
        if name in self.parameters and name not in self.bound and name not in ("self", "cls"):
            return f"@{name}"
        return name if name in self.bound or name in self.parameters else self.imports.get(name, name)

    def value_of(self, node: ast.expr) -> ast.expr:
        """What a name was bound to, as far as the function or module shows; any other expression is itself."""
        for _ in range(LONGEST_CHAIN):
            if not isinstance(node, ast.Name):
                break
            known = self.bound.get(node.id) or self.outer.get(node.id)
            if known is None or known is node:
                break
            node = known
        return node

    def roots_of(self, node: ast.expr) -> set[str]:
        """All dotted names that an expression is made of, bindings followed."""
        found: set[str] = set()
        self._gather(node, found, LONGEST_CHAIN)
        return found

    def _gather(self, node: ast.expr, found: set[str], depth: int) -> None:
        for one in nodes_of(node):
            if isinstance(one, ast.Name) and one.id not in found:
                found.add(one.id)
                value = self.bound.get(one.id) or self.outer.get(one.id)
                if depth and value is not None:
                    self._gather(value, found, depth - 1)
            if isinstance(one, ast.Attribute | ast.Name | ast.Call):
                found.add(self.dotted(one))


def sights_of(function: ast.AST, imports: Mapping[str, str], outer: Mapping[str, ast.expr]) -> Sights:
    """Walk a function once and note what rules ask for."""
    sights = Sights(imports=imports, outer=outer)
    if isinstance(function, FunctionNode):
        sights.parameters = parameters_of(function)
        for decorator in function.decorator_list:
            _note(sights, decorator, ())
    body = getattr(function, "body", [])
    for statement in body if isinstance(body, list) else [body]:
        _note(sights, statement, ())
    _spell(sights, function)
    return sights


def parameters_of(function: FunctionNode) -> set[str]:
    """The names a function takes."""
    spec = function.args
    several = [one for one in (spec.vararg, spec.kwarg) if one]
    return {one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *several)}


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that an import statement binds, with what they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            yield alias.asname or alias.name, f"{base}.{alias.name}"


def _spell(sights: Sights, function: ast.AST) -> None:
    # Names can be spelled only once all bindings are known, so calls are noted unnamed first.
    sights.calls = [Call(sights.dotted(one.node.func), one.node, one.parents) for one in sights.calls]
    sights.decorators = [
        sights.dotted(one.func if isinstance(one, ast.Call) else one)
        for one in getattr(function, "decorator_list", [])
    ]
    sights.comparisons += [found for call in sights.calls for found in _asserted(call)]


def _asserted(call: Call) -> Iterator[Comparison]:
    if len(call.node.args) < 2:
        return
    how = "equal" if call.last in _EQUAL else "less" if call.last in _ORDERED else ""
    how = how or ("near" if call.last in _NEAR else "in" if call.last in ("assertIn", "assertNotIn") else "")
    if how:
        yield Comparison(call.node.args[0], call.node.args[1], how, call.node)


def _note(sights: Sights, node: ast.AST, parents: tuple[ast.AST, ...]) -> None:
    noter = _NOTERS.get(type(node))
    if noter is not None:
        noter(sights, node, parents)
    above = () if isinstance(node, ast.stmt) and not isinstance(node, _HOLDERS) else parents
    inner = (node, *above)
    for name in CHILD_FIELDS[node.__class__]:
        child = getattr(node, name)
        if child.__class__ is list:
            for one in child:
                if one is not None:
                    _note(sights, one, inner)
        elif child is not None:
            _note(sights, child, inner)


_HOLDERS = (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert)


def _call(sights: Sights, node: ast.Call, parents: tuple[ast.AST, ...]) -> None:
    sights.calls.append(Call("", node, parents))


def _assign(sights: Sights, node: ast.Assign, _parents: tuple[ast.AST, ...]) -> None:
    for target in node.targets:
        _bind(sights, target, node.value, node)


def _annotated(sights: Sights, node: ast.AnnAssign, _parents: tuple[ast.AST, ...]) -> None:
    if node.value is not None:
        _bind(sights, node.target, node.value, node)


def _augmented(sights: Sights, node: ast.AugAssign, _parents: tuple[ast.AST, ...]) -> None:
    sights.assigned.append((node.target, node))


def _deleted(sights: Sights, node: ast.Delete, _parents: tuple[ast.AST, ...]) -> None:
    sights.assigned += [(target, node) for target in node.targets]


def _with(sights: Sights, node: ast.With | ast.AsyncWith, _parents: tuple[ast.AST, ...]) -> None:
    for item in node.items:
        sights.entered |= {id(one) for one in nodes_of(item.context_expr) if isinstance(one, ast.Call)}
        if item.optional_vars is not None:
            _bind(sights, item.optional_vars, item.context_expr, node)


def _walrus(sights: Sights, node: ast.NamedExpr, _parents: tuple[ast.AST, ...]) -> None:
    sights.bound[node.target.id] = node.value


def _bind(sights: Sights, target: ast.expr, value: ast.expr, statement: ast.stmt) -> None:
    if isinstance(target, ast.Name):
        sights.bound[target.id] = value
        sights.assigned.append((target, statement))
    elif isinstance(target, ast.Tuple | ast.List):
        for index, one in enumerate(target.elts):
            same = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            part = value.elts[index] if same and isinstance(value, ast.Tuple) else value
            _bind(sights, one, part, statement)
    else:
        sights.assigned.append((target, statement))


_HOW = {ast.Eq: "equal", ast.NotEq: "equal", ast.Lt: "less", ast.LtE: "less", ast.Gt: "less", ast.GtE: "less"}
_HOW_ELSE = {ast.Is: "is", ast.IsNot: "is", ast.In: "in", ast.NotIn: "in"}


def _compare(sights: Sights, node: ast.Compare, _parents: tuple[ast.AST, ...]) -> None:
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        how = _HOW.get(type(operator)) or _HOW_ELSE[type(operator)]
        sights.comparisons.append(Comparison(left, right, how, node))


def _global(sights: Sights, node: ast.Global, _parents: tuple[ast.AST, ...]) -> None:
    sights.globals |= set(node.names)


def _subscript(sights: Sights, node: ast.Subscript, _parents: tuple[ast.AST, ...]) -> None:
    if isinstance(node.ctx, ast.Load):
        sights.subscripts.append(node)


def _text(sights: Sights, node: ast.Constant, parents: tuple[ast.AST, ...]) -> None:
    # A string that stands alone is documentation.
    if isinstance(node.value, str) and not (parents and isinstance(parents[0], ast.Expr)):
        sights.texts.append(node)


_NOTERS: dict[type[ast.AST], Callable[[Sights, Any, tuple[ast.AST, ...]], None]] = {
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
    ast.Constant: _text,
    ast.Subscript: _subscript,
}
