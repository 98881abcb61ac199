"""What the expressions of a function refer to, as full dotted names.

random.random          a function of a library; an alias of the import is resolved
open                   a builtin
tests.helpers.wait     a definition of the project, by the path of its file
random.Random()        the result of a call; a method of it is `random.Random().choice`
@tmp_path              a parameter, in a test thus a fixture; `@self.x` if the class does not show what x is
str(), list(), set()   a literal or a comprehension of that type
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.lint.source.definitions import Definition, External, Meaning
from flakehound.lint.source.functions import full_name
from flakehound.lint.source.instance_attributes import attributes_set_on_self
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import (
    AssignedName,
    Binding,
    FunctionNode,
    ImportedName,
    parameter_names,
    scope_of,
)
from flakehound.lint.source.syntax_walk import nodes_of

_MAX_ALIASES = 8  # how many variables bound to variables are followed
_NODES_THAT_BIND_NAMES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.comprehension,
    ast.NamedExpr,
    ast.Global,
    ast.Nonlocal,
)
_TYPE_OF_LITERAL: dict[type[ast.expr], str] = {
    ast.JoinedStr: "str()",
    ast.List: "list()",
    ast.ListComp: "list()",
    ast.Tuple: "tuple()",
    ast.Dict: "dict()",
    ast.DictComp: "dict()",
    ast.Set: "set()",
    ast.SetComp: "set()",
    ast.GeneratorExp: "generator()",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """An instance of a class of the project."""

    definition: Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCall:
    """One call in a function."""

    node: ast.Call
    name: str  # full dotted name of the callee; "" if it is unknown


ExpressionMeaning = Meaning | Instance


def names_of(
    function: FunctionNode | None, module: Module, project: Project, owner: Definition | None = None
) -> FunctionNames:
    """The names of a function, cached per project; with None as function those of the module's top level."""
    key = ("names", function or module.tree, owner.node if owner else None)
    return project.compute_once(key, lambda: FunctionNames(function, module, project, owner))


class FunctionNames:
    """Resolves the expressions of one function; `owner` is the class of `self`.

    A variable refers to the last value that is bound to it anywhere in the function.
    """

    def __init__(
        self, function: FunctionNode | None, module: Module, project: Project, owner: Definition | None = None
    ) -> None:
        self.function = function
        self.module = module
        self.project = project
        self.owner = owner
        self._parameters = frozenset(parameter_names(function)) if function else frozenset()
        self._self_name = _first_parameter(function) if function and owner else None
        self._locals: dict[str, Binding] | None = None
        self._calls: tuple[NamedCall, ...] | None = None
        self._nodes: list[ast.AST] | None = None
        self._meanings: dict[ast.expr, ExpressionMeaning | None] = {}

    def name_of(self, node: ast.expr) -> str | None:
        """The full name of a name, attribute, call or literal; None if it is unknown."""
        meaning = self.meaning_of(node)
        return _name_of_meaning(meaning) if meaning is not None else None

    def calls(self) -> tuple[NamedCall, ...]:
        """Every call in the function with the name of its callee, in the order of `ast.walk`."""
        if self._calls is None:
            call_nodes = (node for node in self.nodes if isinstance(node, ast.Call))
            self._calls = tuple(NamedCall(node=node, name=self.name_of(node.func) or "") for node in call_nodes)
        return self._calls

    @property
    def nodes(self) -> list[ast.AST]:
        """The function's nodes in the order of `ast.walk`, without contexts and operators."""
        if self._nodes is None:
            self._nodes = nodes_of(self.function or self.module.tree)
        return self._nodes

    def meaning_of(self, node: ast.expr, depth: int = 0) -> ExpressionMeaning | None:
        """What an expression refers to: a definition, an instance of a class, or something outside the project."""
        if depth > _MAX_ALIASES:
            return None
        if node not in self._meanings:
            meaning = self._resolve(node, depth)
            if depth:
                return meaning  # not cached: near the limit of aliases less is resolved than with depth 0
            self._meanings[node] = meaning
        return self._meanings[node]

    def _resolve(self, node: ast.expr, depth: int) -> ExpressionMeaning | None:
        if isinstance(node, ast.Name):
            return self._meaning_of_name(node.id, depth)
        if isinstance(node, ast.Attribute):
            return self._meaning_of_attribute(node, depth)
        if isinstance(node, ast.Call):
            return self._meaning_of_call(node, depth)
        return self._meaning_of_literal_or_operator(node, depth)

    def _meaning_of_name(self, name: str, depth: int) -> ExpressionMeaning | None:
        if name in self._local_bindings:
            return self._meaning_of_binding(name, self._local_bindings[name], depth)
        if name in self._parameters:
            return External(name=f"@{name}")
        return self._follow_variable(self.project.resolve_if_bound(self.module, name), depth)

    def _follow_variable(self, meaning: Meaning | None, depth: int) -> ExpressionMeaning | None:
        """Replace a variable of a module or class by the value it is bound to, where that can be resolved."""
        if not isinstance(meaning, Definition) or not isinstance(meaning.value, ast.Call):
            return meaning
        module_names = names_of(None, meaning.module, self.project)
        return module_names.meaning_of(meaning.value, depth + 1) or meaning

    def _meaning_of_binding(self, name: str, binding: Binding, depth: int) -> ExpressionMeaning | None:
        if isinstance(binding, ImportedName):
            return self.project.resolve_import(self.module, binding)
        if not isinstance(binding, AssignedName):
            return Definition(name=f"<locals>.{name}", module=self.module, node=binding)
        if binding.value is None or _refers_to(binding.value, name):
            return None
        return self.meaning_of(binding.value, depth + 1)

    def _meaning_of_attribute(self, node: ast.Attribute, depth: int) -> ExpressionMeaning | None:
        if self.owner is not None and isinstance(node.value, ast.Name) and node.value.id == self._self_name:
            return self._meaning_of_self_attribute(self.owner, node.attr, depth)
        base = self.meaning_of(node.value, depth + 1)
        return self._meaning_of_member(base, node.attr, depth) if base is not None else None

    def _meaning_of_self_attribute(self, owner: Definition, name: str, depth: int) -> ExpressionMeaning | None:
        meaning = self.project.resolve_attribute(owner, name)
        if meaning is not None:
            return self._follow_variable(meaning, depth)
        assignment = attributes_set_on_self(owner, self.project).get(name)
        if assignment is not None:
            names = names_of(assignment.method, assignment.owner.module, self.project, owner)
            return names.meaning_of(assignment.value, depth + 1)
        return External(name=f"@{self._self_name}.{name}")

    def _meaning_of_member(self, base: ExpressionMeaning, name: str, depth: int) -> ExpressionMeaning | None:
        if isinstance(base, Instance):
            return self._meaning_of_instance_attribute(base, name, depth)
        if isinstance(base, External):
            return External(name=f"{base.name}.{name}")
        meaning = self.project.resolve_attribute(base, name)
        return self._follow_variable(meaning, depth) or External(name=f"{full_name(base)}.{name}")

    def _meaning_of_instance_attribute(self, base: Instance, name: str, depth: int) -> ExpressionMeaning | None:
        meaning = self.project.resolve_attribute(base.definition, name)
        return self._follow_variable(meaning, depth) or External(name=f"{full_name(base.definition)}().{name}")

    def _meaning_of_call(self, node: ast.Call, depth: int) -> ExpressionMeaning | None:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.owner is not None:
            return None
        callee = self.meaning_of(node.func, depth + 1)
        if isinstance(callee, Definition) and callee.class_ is not None:
            return Instance(definition=callee)
        if isinstance(callee, Definition | External):
            return External(name=f"{full_name(callee)}()")
        return None

    def _meaning_of_literal_or_operator(self, node: ast.expr, depth: int) -> ExpressionMeaning | None:
        if isinstance(node, ast.Constant):
            return External(name=f"{type(node.value).__name__}()")
        if type(node) in _TYPE_OF_LITERAL:
            return External(name=_TYPE_OF_LITERAL[type(node)])
        if isinstance(node, ast.Await | ast.NamedExpr | ast.Starred):
            return self.meaning_of(node.value, depth + 1)
        if isinstance(node, ast.IfExp):
            return self.meaning_of(node.body, depth + 1) or self.meaning_of(node.orelse, depth + 1)
        if isinstance(node, ast.BoolOp):
            meanings = (self.meaning_of(operand, depth + 1) for operand in node.values)
            return next((meaning for meaning in meanings if meaning), None)
        if isinstance(node, ast.Subscript) and (base := self.meaning_of(node.value, depth + 1)):
            return External(name=f"{_name_of_meaning(base)}[]")
        return None

    @property
    def _local_bindings(self) -> dict[str, Binding]:
        if self._locals is None:
            self._locals = self._read_local_bindings() if self.function is not None else {}
        return self._locals

    def _read_local_bindings(self) -> dict[str, Binding]:
        assert self.function is not None
        bindings: dict[str, Binding] = {}
        outer_names: set[str] = set()
        for node in self.nodes[1:]:
            if not isinstance(node, _NODES_THAT_BIND_NAMES):
                continue
            bindings.update(dict.fromkeys(_names_bound_by(node), AssignedName(value=None)))
            if isinstance(node, ast.Global | ast.Nonlocal):
                outer_names.update(node.names)
            elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
                bindings[node.target.id] = AssignedName(value=node.value)
        bindings.update(scope_of(self.function.body).names)
        return {name: binding for name, binding in bindings.items() if name not in outer_names}


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    """Names that inner functions and comprehensions bind: they hide outer names, and their values are unknown."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from parameter_names(node)
        yield from (name for name in scope_of(node.body).names if not name.startswith("*"))
    elif isinstance(node, ast.Lambda):
        yield from (argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    elif isinstance(node, ast.comprehension):
        yield from (target.id for target in ast.walk(node.target) if isinstance(target, ast.Name))


def _first_parameter(function: FunctionNode) -> str | None:
    if any(
        isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in function.decorator_list
    ):
        return None
    arguments = (*function.args.posonlyargs, *function.args.args)
    return arguments[0].arg if arguments else None


def _refers_to(value: ast.expr, name: str) -> bool:
    """Whether a value such as `f(x)` in `x = f(x)` uses the variable that it is bound to."""
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes_of(value))


def _name_of_meaning(meaning: ExpressionMeaning) -> str:
    return f"{full_name(meaning.definition)}()" if isinstance(meaning, Instance) else full_name(meaning)
