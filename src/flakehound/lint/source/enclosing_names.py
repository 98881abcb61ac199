"""Which function or class a line of a file belongs to: names places that stay the same when lines move."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    name: str
    first: int
    last: int


def scope_at(path: str, line: int, project: Project) -> str:
    """`TestCart.test_total`, the innermost definition around a line; "" at a module's top level."""
    module = project.module(path)
    if module is None:
        return ""
    spans = project.compute_once(("spans", path), lambda: tuple(_spans(module)))
    # Inner definitions come after the definitions around them.
    return next((span.name for span in reversed(spans) if span.first <= line <= span.last), "")


def _spans(module: Module) -> Iterator[_Span]:
    yield from _spans_in(module.tree.body, "")


def _spans_in(body: Sequence[ast.AST], prefix: str) -> Iterator[_Span]:
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            name = f"{prefix}{node.name}"
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield _Span(name=name, first=first, last=node.end_lineno or first)
            yield from _spans_in(node.body, f"{name}.")
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            for field in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from _spans_in(getattr(node, field, ()), prefix)
