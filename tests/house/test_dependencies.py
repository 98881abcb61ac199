"""Every library that the package imports is declared, and every one that is declared is imported."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import FILES, parsed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Where the name that is imported is not the name that is installed.
IMPORT_NAMES = {"scikit-learn": "sklearn", "imbalanced-learn": "imblearn"}
RUNTIME_EXTRAS = ("learn", "study")  # the others are for whoever works on flakehound


def declared() -> set[str]:
    """The import names of the libraries that a user installs, extras included."""
    requirements = [*PROJECT["dependencies"]]
    for extra in RUNTIME_EXTRAS:
        requirements += PROJECT["optional-dependencies"][extra]
    names = [re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower() for requirement in requirements]
    return {IMPORT_NAMES.get(name, name) for name in names}


def imported() -> set[str]:
    """The third-party packages that any file imports, at its top or inside a function."""
    packages = {name.partition(".")[0] for path in FILES for name in _imports(parsed(path))}
    ours = {"flakehound", "flakehound_inside"}
    # Parts of pytest that only pytest installs.
    return {"pytest" if name == "_pytest" else name for name in packages - ours} - set(sys.stdlib_module_names)


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""
        elif isinstance(node, ast.Call) and _is_import_module(node.func):
            yield from (part.value for part in node.args[:1] if isinstance(part, ast.Constant))


def _is_import_module(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "import_module"


def test_every_declared_library_is_imported_somewhere():
    assert declared() - imported() == set()


def test_every_imported_library_is_declared():
    assert imported() - declared() == set()


@pytest.mark.parametrize("extra", ["learn", "study"])
def test_the_developers_environment_has_every_extra(extra):
    dev = {re.match(r"[A-Za-z0-9._-]+", one)[0] for one in PROJECT["optional-dependencies"]["dev"]}
    needed = {re.match(r"[A-Za-z0-9._-]+", one)[0] for one in PROJECT["optional-dependencies"][extra]}

    assert needed <= dev
