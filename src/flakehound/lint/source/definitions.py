"""What a name can stand for: something in the project, or something outside it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from flakehound.lint.source.modules import Module
from flakehound.lint.source.scopes import FunctionNode


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Definition:
    """A module, class, function or value of the project."""

    name: str  # within its module: "Cart.total"; "" for the module itself
    module: Module
    node: ast.Module | ast.ClassDef | FunctionNode | ast.expr
    owner: Definition | None = None  # the class whose body holds it

    @property
    def function(self) -> FunctionNode | None:
        """The function, where it is one."""
        return self.node if isinstance(self.node, FunctionNode) else None

    @property
    def class_(self) -> ast.ClassDef | None:
        """The class, where it is one."""
        return self.node if isinstance(self.node, ast.ClassDef) else None

    @property
    def value(self) -> ast.expr | None:
        """The expression a variable is bound to, where it is a variable."""
        return self.node if isinstance(self.node, ast.expr) else None

    @property
    def is_module(self) -> bool:
        """Whether it is a whole module."""
        return isinstance(self.node, ast.Module)


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Something that is not defined in the project: the standard library's, a dependency's, a builtin."""

    name: str  # full and dotted: "unittest.mock.patch"; a builtin's is bare: "open"


Meaning = Definition | External


def dotted_name(node: ast.expr) -> str | None:
    """`a.b.c` as it is written; None for an expression that is not a plain chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def string_literals(node: ast.expr | None) -> list[str]:
    """The strings of a literal: one, or a list or tuple of them."""
    if isinstance(node, ast.List | ast.Tuple):
        return [text for one in node.elts for text in string_literals(one)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
