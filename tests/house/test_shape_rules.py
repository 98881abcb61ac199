"""The shape that the style guide asks for: short files and functions, small classes, docstrings, unique names."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from source_tree import FILES, module_of, parsed

REPOSITORY = Path(__file__).parents[2]
ALL_FILES = [*FILES, *REPOSITORY.glob("tests/**/*.py"), *REPOSITORY.glob("benchmarks/*.py")]
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_METHODS = 20
NAMES_THAT_SAY_NOTHING = {"utils", "misc", "common", "globals", "helpers"}


def test_no_file_has_a_name_that_says_nothing():
    assert [str(path) for path in FILES if path.stem in NAMES_THAT_SAY_NOTHING] == []


def test_no_file_is_longer_than_a_reader_can_hold():
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in ALL_FILES}

    assert {path: lines for path, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_no_function_is_longer_than_a_screen():
    long = {
        f"{module_of(path)}.{node.name}": length
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        # Decorators are an options table, which may be longer.
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION_LINES
    }

    assert long == {}


def test_no_class_has_too_many_methods():
    large = {
        f"{module_of(path)}.{node.name}": methods
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        and (methods := sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in node.body))
        > MAX_METHODS
    }

    assert large == {}


def test_no_two_public_classes_have_one_name():
    names = Counter(
        node.name
        for path in FILES
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert [name for name, times in names.items() if times > 1] == []


def test_every_module_has_a_docstring():
    assert [module_of(path) for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_every_public_function_class_and_method_has_a_docstring():
    undocumented = [f"{module_of(path)}.{name}" for path in FILES for name in _undocumented(parsed(path))]

    assert undocumented == []


def _undocumented(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _needs_docstring(node):
            yield node.name
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _undocumented_methods(node)


def _undocumented_methods(owner: ast.ClassDef) -> Iterator[str]:
    # A method that overrides one of a library's is documented there.
    for node in () if owner.bases else owner.body:
        if isinstance(node, ast.FunctionDef) and _needs_docstring(node):
            yield f"{owner.name}.{node.name}"


def _needs_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return not node.name.startswith("_") and not ast.get_docstring(node)
