"""What a name can refer to: a definition in the project, or something outside it."""

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
    owner: Definition | None = None  # the class whose body contains it

    @property
    def function(self) -> FunctionNode | None:
        """Its node if it is a function, else None."""
        return self.node if isinstance(self.node, FunctionNode) else None

    @property
    def class_(self) -> ast.ClassDef | None:
        """Its node if it is a class, else None."""
        return self.node if isinstance(self.node, ast.ClassDef) else None

    @property
    def value(self) -> ast.expr | None:
        """The expression that a variable is bound to; None if it is no variable."""
        return self.node if isinstance(self.node, ast.expr) else None

    @property
    def is_module(self) -> bool:
        """Whether it is a whole module."""
        return isinstance(self.node, ast.Module)


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Something that is not defined in the project: from the standard library, a dependency, or a builtin."""

    name: str  # full and dotted: "unittest.mock.patch"; of a builtin just "open"


Meaning = Definition | External


def dotted_name(node: ast.expr) -> str | None:
    """`a.b.c` as it is written; None for an expression other than a chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def string_literals(node: ast.expr | None) -> list[str]:
    """The strings of a string literal, or of a list or tuple of them."""
    if isinstance(node, ast.List | ast.Tuple):
        return [text for element in node.elts for text in string_literals(element)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
