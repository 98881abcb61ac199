"""What the expressions of a function stand for, as full dotted names.

random.random          a thing of a library, whatever alias the file gives it
open                   a builtin
tests.helpers.wait     a thing of the project, by the path of its file
random.Random()        what calling it gives; its methods are `random.Random().choice`
@tmp_path              a parameter, so in a test a fixture; `@self.x` where the class does not show what x is
str(), list(), set()   a literal, or a display, of that type
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

_MAX_ALIASES = 8  # variables of variables that are followed
_BINDING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.comprehension),
    *(ast.NamedExpr, ast.Global, ast.Nonlocal),
)
_DISPLAYS: dict[type[ast.expr], str] = {
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
    """What calling a class of the project gives."""

    definition: Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCall:
    """One call in a function."""

    node: ast.Call
    name: str  # full and dotted; "" where nothing is known of what is called


ExpressionMeaning = Meaning | Instance


def names_of(
    function: FunctionNode | None, module: Module, project: Project, owner: Definition | None = None
) -> Names:
    """The names of a function, made once; None for a function gives those of the module's top level."""
    key = ("names", function or module.tree, owner.node if owner else None)
    return project.cached(key, lambda: Names(function, module, project, owner))


class Names:
    """What the expressions in one function stand for; `owner` is the class that `self` is one of.

    A variable stands for what it was last bound to, wherever in the function that is.
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
        """The full name of a name, attribute, call or literal; None where nothing is known."""
        found = self.meaning_of(node)
        if isinstance(found, Instance):
            return f"{full_name(found.definition)}()"
        return full_name(found) if found is not None else None

    def calls(self) -> tuple[NamedCall, ...]:
        """Every call in the function with the name of what it calls, in the order of `ast.walk`."""
        if self._calls is None:
            walked = (node for node in self.nodes if isinstance(node, ast.Call))
            self._calls = tuple(NamedCall(node=node, name=self.name_of(node.func) or "") for node in walked)
        return self._calls

    @property
    def nodes(self) -> list[ast.AST]:
        """The function's nodes in the order of `ast.walk`, without contexts and operators."""
        if self._nodes is None:
            self._nodes = nodes_of(self.function or self.module.tree)
        return self._nodes

    def is_local(self, name: str) -> bool:
        """Whether the function binds the name itself, as a parameter or a variable."""
        return name in self._parameters or name in self._local_bindings

    def meaning_of(self, node: ast.expr, depth: int = 0) -> ExpressionMeaning | None:
        """What an expression stands for: a definition, an instance of one, or something outside the project."""
        if depth > _MAX_ALIASES:
            return None
        if node not in self._meanings:
            found = self._resolve(node, depth)
            if depth:
                return found  # not cached: after many aliases less may be known than from here
            self._meanings[node] = found
        return self._meanings[node]

    def _resolve(self, node: ast.expr, depth: int) -> ExpressionMeaning | None:
        if isinstance(node, ast.Name):
            return self._of_name(node.id, depth)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, depth)
        if isinstance(node, ast.Call):
            return self._of_call(node, depth)
        return self._of_other(node, depth)

    def _of_name(self, name: str, depth: int) -> ExpressionMeaning | None:
        if name in self._local_bindings:
            return self._of_binding(name, self._local_bindings[name], depth)
        if name in self._parameters:
            return External(name=f"@{name}")
        return self._follow(self.project.resolve_bound(self.module, name), depth)

    def _follow(self, found: Meaning | None, depth: int) -> ExpressionMeaning | None:
        """A module's or class's variable stands for its value, if that says more than the variable's name."""
        if not isinstance(found, Definition) or not isinstance(found.value, ast.Call):
            return found
        outside = names_of(None, found.module, self.project)
        return outside.meaning_of(found.value, depth + 1) or found

    def _of_binding(self, name: str, binding: Binding, depth: int) -> ExpressionMeaning | None:
        if isinstance(binding, ImportedName):
            return self.project.resolve_import(self.module, binding)
        if not isinstance(binding, AssignedName):
            return Definition(name=f"<locals>.{name}", module=self.module, node=binding)
        if binding.value is None or _refers_to(binding.value, name):
            return None
        return self.meaning_of(binding.value, depth + 1)

    def _of_attribute(self, node: ast.Attribute, depth: int) -> ExpressionMeaning | None:
        if self.owner is not None and isinstance(node.value, ast.Name) and node.value.id == self._self_name:
            return self._of_self(self.owner, node.attr, depth)
        base = self.meaning_of(node.value, depth + 1)
        return self._member(base, node.attr, depth) if base is not None else None

    def _of_self(self, owner: Definition, name: str, depth: int) -> ExpressionMeaning | None:
        found = self.project.resolve_in(owner, name)
        if found is not None:
            return self._follow(found, depth)
        was_set = attributes_set_on_self(owner, self.project).get(name)
        if was_set is not None:
            names = names_of(was_set.method, was_set.owner.module, self.project, owner)
            return names.meaning_of(was_set.value, depth + 1)
        return External(name=f"@{self._self_name}.{name}")

    def _member(self, base: ExpressionMeaning, name: str, depth: int) -> ExpressionMeaning | None:
        if isinstance(base, Instance):
            return self._of_instance(base, name, depth)
        if isinstance(base, External):
            return External(name=f"{base.name}.{name}")
        found = self.project.resolve_in(base, name)
        return self._follow(found, depth) or External(name=f"{full_name(base)}.{name}")

    def _of_instance(self, base: Instance, name: str, depth: int) -> ExpressionMeaning | None:
        found = self.project.resolve_in(base.definition, name)
        return self._follow(found, depth) or External(name=f"{full_name(base.definition)}().{name}")

    def _of_call(self, node: ast.Call, depth: int) -> ExpressionMeaning | None:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.owner is not None:
            return None
        called = self.meaning_of(node.func, depth + 1)
        if isinstance(called, Definition) and called.class_ is not None:
            return Instance(definition=called)
        if isinstance(called, Definition | External):
            return External(name=f"{full_name(called)}()")
        return None

    def _of_other(self, node: ast.expr, depth: int) -> ExpressionMeaning | None:
        if isinstance(node, ast.Constant):
            return External(name=f"{type(node.value).__name__}()")
        if type(node) in _DISPLAYS:
            return External(name=_DISPLAYS[type(node)])
        if isinstance(node, ast.Await | ast.NamedExpr | ast.Starred):
            return self.meaning_of(node.value, depth + 1)
        if isinstance(node, ast.IfExp):
            return self.meaning_of(node.body, depth + 1) or self.meaning_of(node.orelse, depth + 1)
        if isinstance(node, ast.BoolOp):
            return next((one for part in node.values if (one := self.meaning_of(part, depth + 1))), None)
        if isinstance(node, ast.Subscript) and (base := self.meaning_of(node.value, depth + 1)):
            return External(name=f"{_full_name_of(base)}[]")
        return None

    @property
    def _local_bindings(self) -> dict[str, Binding]:
        if self._locals is None:
            self._locals = self._read_locals() if self.function is not None else {}
        return self._locals

    def _read_locals(self) -> dict[str, Binding]:
        assert self.function is not None
        found: dict[str, Binding] = {}
        shared: set[str] = set()
        for node in self.nodes[1:]:
            if not isinstance(node, _BINDING):
                continue
            found.update(dict.fromkeys(_names_bound_by(node), AssignedName(value=None)))
            if isinstance(node, ast.Global | ast.Nonlocal):
                shared.update(node.names)
            elif isinstance(node, ast.NamedExpr) and isinstance(node.target, ast.Name):
                found[node.target.id] = AssignedName(value=node.value)
        found.update(scope_of(self.function.body).names)
        return {name: binding for name, binding in found.items() if name not in shared}


def _names_bound_by(node: ast.AST) -> Iterator[str]:
    """Names that inner functions and comprehensions bind: they hide outer ones, and nothing is known of them."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from parameter_names(node)
        yield from (name for name in scope_of(node.body).names if not name.startswith("*"))
    elif isinstance(node, ast.Lambda):
        yield from (one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
    elif isinstance(node, ast.comprehension):
        yield from (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))


def _first_parameter(function: FunctionNode) -> str | None:
    if any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list):
        return None
    arguments = (*function.args.posonlyargs, *function.args.args)
    return arguments[0].arg if arguments else None


def _refers_to(value: ast.expr, name: str) -> bool:
    """Whether `x = f(x)` binds a variable to what it was before."""
    return any(isinstance(one, ast.Name) and one.id == name for one in nodes_of(value))


def _full_name_of(meaning_of: ExpressionMeaning) -> str:
    return f"{full_name(meaning_of.definition)}()" if isinstance(meaning_of, Instance) else full_name(meaning_of)
