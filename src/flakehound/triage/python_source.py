"""Parse Python source as the interpreter does, without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef

_WORD = re.compile(r"[^\W\d]\w*")
_FILE_NAME = "<source>"  # the file name in warnings of the compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSource:
    """A source that compiles."""

    tree: ast.Module
    compiler_warnings: Counter[str]  # a project may turn them into errors


def parse_source(content: bytes) -> ParsedSource | None:
    """The source, or None when this interpreter cannot import it."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # Compiled, because parsing does not find errors such as `return` outside a function.
            compile(content, _FILE_NAME, "exec", dont_inherit=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
        # Other code may warn at the same time, such as the garbage collector about files that were left open.
        from_compiler = [warning for warning in caught if warning.filename == _FILE_NAME]
        compiler_warnings = Counter(f"{warning.category.__name__}: {warning.message}" for warning in from_compiler)
        return ParsedSource(tree=tree, compiler_warnings=compiler_warnings)
    # ValueError: a null byte; RecursionError and MemoryError: nested too deeply.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def identifiers(node: ast.AST) -> Counter[str]:
    """Every identifier used below a node; the names of definitions are not uses."""
    return Counter(word for child in ast.walk(node) for word in _words_of(child))


def mentions(node: ast.AST) -> Counter[str]:
    """Every identifier used below a node, and every word inside a string."""
    strings = (child.value for child in ast.walk(node) if isinstance(child, ast.Constant))
    words = (word for text in strings if isinstance(text, str) for word in _WORD.findall(text))
    return identifiers(node) + Counter(words)


def _words_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        return
    for field, value in ast.iter_fields(node):
        if field == "name" and isinstance(node, DefinitionNode):
            continue
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield from _WORD.findall(text)


def docstring_of(node: ast.AST) -> list[ast.stmt]:
    """The statement of the docstring in a list; an empty list without a docstring."""
    body: list[ast.stmt] = getattr(node, "body", [])
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    return body[:1] if isinstance(first, ast.Constant) and isinstance(first.value, str) else []


def traits_of(function: FunctionNode) -> tuple[bool, bool]:
    """What the body of a function decides before it is executed: is it a generator, and does it use its class?"""
    return _makes_a_generator(function), _uses_its_class(function)


def _makes_a_generator(function: FunctionNode) -> bool:
    """Whether a call runs no code until the result is iterated."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_scope(function))


def _uses_its_class(function: FunctionNode) -> bool:
    """Whether it uses `__class__`, which adds an entry to the namespace that the metaclass gets."""
    return any(
        isinstance(node, ast.Name) and node.id in ("super", "__class__")
        for statement in function.body
        for node in ast.walk(statement)
    )


def _own_scope(function: FunctionNode) -> Iterator[ast.AST]:
    nodes: list[ast.AST] = [*function.body]
    while nodes:
        node = nodes.pop()
        yield node
        hidden = _body_of(node)
        nodes += [child for child in ast.iter_child_nodes(node) if child not in hidden]


def _body_of(node: ast.AST) -> list[ast.stmt] | list[ast.expr]:
    """The nodes in the scope that a node opens; its decorators and defaults belong to the outer scope."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    return node.body if isinstance(node, DefinitionNode) else []
