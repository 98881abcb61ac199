"""What the names of a module or a class body are bound to, in the order in which pytest sees them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def parameter_names(function: FunctionNode | ast.Lambda) -> list[str]:
    """The names of all parameters of a function, in order."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in (*named, arguments.vararg, arguments.kwarg) if argument is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedName:
    """A name that an import statement binds."""

    module: str  # dotted; "" in `from . import x`
    name: str | None = None  # None: the module itself; "*": a star import
    level: int = 0  # dots of a relative import
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssignedName:
    """A name that is bound to a value."""

    value: ast.expr | None  # None: bound by a loop, a `with` or an unpacking, or the value is not in the source
    line: int = 0


Binding = FunctionNode | ast.ClassDef | ImportedName | AssignedName


@dataclass(slots=True, kw_only=True)
class Scope:
    """The names of a body, in the order of `__dict__`: by where each name is first bound."""

    names: dict[str, Binding] = field(default_factory=dict)
    # Name -> attribute -> value, of statements such as `test_x.__test__ = False`.
    attributes: dict[str, dict[str, ast.expr]] = field(default_factory=dict)


def scope_of(body: Sequence[ast.stmt]) -> Scope:
    """The names that are bound when the statements run.

    Of alternative branches the first that binds a name counts. If the condition is known (`TYPE_CHECKING`,
    `sys.version_info`, `sys.platform`), only the branch that runs counts.
    """
    scope = Scope()
    _ScopeReader(scope).read(body)
    return scope


class _ScopeReader:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            read_statement = _READ_STATEMENT.get(type(statement))
            if read_statement is not None:
                read_statement(self, statement)

    def bind(self, name: str, binding: Binding) -> None:
        self._scope.names[name] = binding

    def read_definition(self, node: FunctionNode | ast.ClassDef) -> None:
        self.bind(node.name, node)

    def read_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, ImportedName(module=alias.name, line=node.lineno))
            else:
                head = alias.name.partition(".")[0]
                self.bind(head, ImportedName(module=head, line=node.lineno))

    def read_import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            imported = ImportedName(module=node.module or "", name=alias.name, level=node.level, line=node.lineno)
            # Several star imports are several bindings.
            key = f"*{node.lineno}" if alias.name == "*" else alias.asname or alias.name
            self.bind(key, imported)

    def read_assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.bind_target(target, node.value)

    def read_annotated_assignment(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind_target(node.target, node.value)

    def read_augmented_assignment(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self._scope.names:
            self.bind_target(node.target, None)

    def bind_target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, AssignedName(value=value, line=target.lineno))
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and value is not None:
            self._scope.attributes.setdefault(target.value.id, {})[target.attr] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for element, element_value in zip(target.elts, _unpacked_values(value, len(target.elts)), strict=True):
                self.bind_target(element, element_value)
        elif isinstance(target, ast.Starred):
            self.bind_target(target.value, None)

    def read_deletion(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.names.pop(target.id, None)

    def read_if(self, node: ast.If) -> None:
        truth = static_truth(node.test)
        if truth is not None:
            self.read(node.body if truth else node.orelse)
        else:
            self.read_alternatives(node.body, node.orelse)

    def read_try(self, node: ast.Try) -> None:
        self.read_alternatives([*node.body, *node.orelse], *(handler.body for handler in node.handlers))
        self.read(node.finalbody)

    def read_match(self, node: ast.Match) -> None:
        self.read_alternatives(*(case.body for case in node.cases))

    def read_alternatives(self, first: Sequence[ast.stmt], *others: Sequence[ast.stmt]) -> None:
        bound_names = set(scope_of(first).names)
        self.read(first)
        for other in others:
            names = scope_of(other).names
            for name, binding in names.items():
                if name not in bound_names:
                    self.bind(name, binding)
            bound_names |= set(names)

    def read_for(self, node: ast.For | ast.AsyncFor) -> None:
        self.bind_target(node.target, None)
        self.read([*node.body, *node.orelse])

    def read_while(self, node: ast.While) -> None:
        self.read([*node.body, *node.orelse])

    def read_with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.bind_target(item.optional_vars, item.context_expr)
        self.read(node.body)


_READ_STATEMENT: dict[type[ast.stmt], Callable[[_ScopeReader, Any], None]] = {
    ast.FunctionDef: _ScopeReader.read_definition,
    ast.AsyncFunctionDef: _ScopeReader.read_definition,
    ast.ClassDef: _ScopeReader.read_definition,
    ast.Import: _ScopeReader.read_import,
    ast.ImportFrom: _ScopeReader.read_import_from,
    ast.Assign: _ScopeReader.read_assignment,
    ast.AnnAssign: _ScopeReader.read_annotated_assignment,
    ast.AugAssign: _ScopeReader.read_augmented_assignment,
    ast.Delete: _ScopeReader.read_deletion,
    ast.If: _ScopeReader.read_if,
    ast.Try: _ScopeReader.read_try,
    ast.Match: _ScopeReader.read_match,
    ast.For: _ScopeReader.read_for,
    ast.AsyncFor: _ScopeReader.read_for,
    ast.While: _ScopeReader.read_while,
    ast.With: _ScopeReader.read_with,
    ast.AsyncWith: _ScopeReader.read_with,
}
if sys.version_info >= (3, 11):
    _READ_STATEMENT[ast.TryStar] = _ScopeReader.read_try


def _unpacked_values(value: ast.expr | None, count: int) -> list[ast.expr | None]:
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == count:
        return list(value.elts)
    return [None] * count


def static_truth(test: ast.expr) -> bool | None:
    """Whether a condition holds in the running Python; None if the source does not show it."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = static_truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _combine_truths(
            [static_truth(operand) for operand in test.values], any_of=isinstance(test.op, ast.Or)
        )
    if isinstance(test, ast.Name | ast.Attribute):
        return {"TYPE_CHECKING": False, "typing.TYPE_CHECKING": False}.get(ast.unparse(test))
    return _compare_known_values(test) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None


def _combine_truths(truths: list[bool | None], *, any_of: bool) -> bool | None:
    """The truth of `or` (any_of) or `and` over its operands."""
    if any_of in truths:
        return any_of
    return None if None in truths else not any_of


_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
}


def _compare_known_values(test: ast.Compare) -> bool | None:
    compare = _COMPARISONS.get(type(test.ops[0]))
    values = [value for operand in (test.left, test.comparators[0]) for value in _known_values(operand)]
    if compare is None or len(values) != 2:
        return None
    try:
        return compare(*values)
    except TypeError:
        return None


def _known_values(node: ast.expr) -> Iterator[object]:
    """The value of a literal, of `sys.version_info` or of `sys.platform`; yields nothing if it is unknown."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.Tuple) and all(isinstance(element, ast.Constant) for element in node.elts):
        yield ast.literal_eval(node)
    elif _starts_with_sys(node):
        known: dict[str, object] = {
            "sys.version_info": tuple(sys.version_info),
            "sys.version_info[0]": sys.version_info[0],
            "sys.version_info.major": sys.version_info[0],
            "sys.version_info[:2]": tuple(sys.version_info[:2]),
            "sys.platform": sys.platform,
        }
        text = ast.unparse(node)
        if text in known:
            yield known[text]


def _starts_with_sys(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "sys"
