"""What the names of a module or a class body are bound to, in the order pytest meets them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def parameter_names(function: FunctionNode | ast.Lambda) -> list[str]:
    """The names of all parameters of a function, in order."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [one.arg for one in (*named, given.vararg, given.kwarg) if one is not None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImportedName:
    """A name that an import statement binds."""

    module: str  # dotted; "" in `from . import x`
    name: str | None = None  # None: the module itself; "*" names of a star import
    level: int = 0  # dots of a relative import
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssignedName:
    """A name that is bound to a value."""

    value: ast.expr | None  # None: by a loop, a `with`, an unpacking, or without a value that can be seen
    line: int = 0


Binding = FunctionNode | ast.ClassDef | ImportedName | AssignedName


@dataclass(slots=True, kw_only=True)
class Scope:
    """A body's names; the order is that of `__dict__`: where a name was first bound."""

    names: dict[str, Binding] = field(default_factory=dict)
    # Name -> attribute -> value, of statements such as `test_x.__test__ = False`.
    attributes: dict[str, dict[str, ast.expr]] = field(default_factory=dict)


def scope_of(body: Sequence[ast.stmt]) -> Scope:
    """The names that executing the statements binds.

    Of branches that exclude each other the first that binds a name wins, except that a branch whose
    condition is known (`TYPE_CHECKING`, `sys.version_info`, `sys.platform`) counts only if it is taken.
    """
    scope = Scope()
    _Reader(scope).read(body)
    return scope


class _Reader:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            read = _READERS.get(type(statement))
            if read is not None:
                read(self, statement)

    def bind(self, name: str, binding: Binding) -> None:
        self._scope.names[name] = binding

    def definition(self, node: FunctionNode | ast.ClassDef) -> None:
        self.bind(node.name, node)

    def imports(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, ImportedName(module=alias.name, line=node.lineno))
            else:
                head = alias.name.partition(".")[0]
                self.bind(head, ImportedName(module=head, line=node.lineno))

    def imports_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            found = ImportedName(module=node.module or "", name=alias.name, level=node.level, line=node.lineno)
            # Several star imports are several bindings.
            key = f"*{node.lineno}" if alias.name == "*" else alias.asname or alias.name
            self.bind(key, found)

    def assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.target(target, node.value)

    def annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.target(node.target, node.value)

    def augmented(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self._scope.names:
            self.target(node.target, None)

    def target(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, AssignedName(value=value, line=target.lineno))
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and value is not None:
            self._scope.attributes.setdefault(target.value.id, {})[target.attr] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for part, one in zip(target.elts, _parts(value, len(target.elts)), strict=True):
                self.target(part, one)
        elif isinstance(target, ast.Starred):
            self.target(target.value, None)

    def deletion(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.names.pop(target.id, None)

    def condition(self, node: ast.If) -> None:
        taken = static_truth(node.test)
        if taken is not None:
            self.read(node.body if taken else node.orelse)
        else:
            self.alternatives(node.body, node.orelse)

    def attempt(self, node: ast.Try) -> None:
        self.alternatives([*node.body, *node.orelse], *(handler.body for handler in node.handlers))
        self.read(node.finalbody)

    def matching(self, node: ast.Match) -> None:
        self.alternatives(*(case.body for case in node.cases))

    def alternatives(self, first: Sequence[ast.stmt], *others: Sequence[ast.stmt]) -> None:
        bound = set(scope_of(first).names)
        self.read(first)
        for other in others:
            found = scope_of(other).names
            for name, binding in found.items():
                if name not in bound:
                    self.bind(name, binding)
            bound |= set(found)

    def loop(self, node: ast.For | ast.AsyncFor) -> None:
        self.target(node.target, None)
        self.read([*node.body, *node.orelse])

    def repetition(self, node: ast.While) -> None:
        self.read([*node.body, *node.orelse])

    def context(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self.target(item.optional_vars, item.context_expr)
        self.read(node.body)


_READERS: dict[type[ast.stmt], Callable[[_Reader, Any], None]] = {
    ast.FunctionDef: _Reader.definition,
    ast.AsyncFunctionDef: _Reader.definition,
    ast.ClassDef: _Reader.definition,
    ast.Import: _Reader.imports,
    ast.ImportFrom: _Reader.imports_from,
    ast.Assign: _Reader.assignment,
    ast.AnnAssign: _Reader.annotated,
    ast.AugAssign: _Reader.augmented,
    ast.Delete: _Reader.deletion,
    ast.If: _Reader.condition,
    ast.Try: _Reader.attempt,
    ast.Match: _Reader.matching,
    ast.For: _Reader.loop,
    ast.AsyncFor: _Reader.loop,
    ast.While: _Reader.repetition,
    ast.With: _Reader.context,
    ast.AsyncWith: _Reader.context,
}
if sys.version_info >= (3, 11):
    _READERS[ast.TryStar] = _Reader.attempt


def _parts(value: ast.expr | None, count: int) -> list[ast.expr | None]:
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == count:
        return list(value.elts)
    return [None] * count


def static_truth(test: ast.expr) -> bool | None:
    """Whether a condition holds in the Python that runs us; None: cannot be known from the source."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = static_truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _joined([static_truth(one) for one in test.values], any_of=isinstance(test.op, ast.Or))
    if isinstance(test, ast.Name | ast.Attribute):
        return {"TYPE_CHECKING": False, "typing.TYPE_CHECKING": False}.get(ast.unparse(test))
    return _compared(test) if isinstance(test, ast.Compare) and len(test.ops) == 1 else None


def _joined(parts: list[bool | None], *, any_of: bool) -> bool | None:
    if any_of in parts:
        return any_of
    return None if None in parts else not any_of


_COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,  # type: ignore[operator]
    ast.LtE: lambda a, b: a <= b,  # type: ignore[operator]
    ast.Gt: lambda a, b: a > b,  # type: ignore[operator]
    ast.GtE: lambda a, b: a >= b,  # type: ignore[operator]
}


def _compared(test: ast.Compare) -> bool | None:
    compare = _COMPARISONS.get(type(test.ops[0]))
    sides = [side for one in (test.left, test.comparators[0]) for side in _known_values(one)]
    if compare is None or len(sides) != 2:
        return None
    try:
        return compare(*sides)
    except TypeError:
        return None


def _known_values(node: ast.expr) -> Iterator[object]:
    """The value of a literal, of `sys.version_info` or of `sys.platform`; nothing where unknown."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.Tuple) and all(isinstance(one, ast.Constant) for one in node.elts):
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
