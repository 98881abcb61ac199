"""Real modules: equal to themselves, and one statement less is found where it is missing."""

from __future__ import annotations

import ast
import email
import json
from pathlib import Path
from random import Random

import _pytest
import pytest

from flakehound.triage.changes import FileChange, FileStatus, Reach
from flakehound.triage.entities import changed_entities
from flakehound.triage.module_outline import ModuleOutline

PACKAGES = [Path(package.__file__).parent for package in (json, email, _pytest)]
FILES = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
QUICK_SHARE = 4  # every fourth file is compared in `make test`, all of them in `make test-all`
DELETIONS = 4  # per file


def compared(before, after):
    file = FileChange(path="real/code.py", status=FileStatus.MODIFIED, before=before, after=after)
    return changed_entities(file)


def blocks_of(tree):
    """Lists of statements from which one can be taken."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list) and len(block) > 1:
                yield block


def deletable(tree, source):
    """Statements that have their lines to themselves."""
    lines = source.decode().splitlines()
    found = [statement for block in blocks_of(tree) for statement in block]
    return [one for one in found if lines[first_line(one) - 1][: one.col_offset].strip() == ""]


def first_line(statement):
    return min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", []))])


def without(source, statement):
    lines = source.splitlines(keepends=True)
    return b"".join([*lines[: first_line(statement) - 1], *lines[statement.end_lineno :]])


def function_around(tree, statement):
    """The outermost function whose body holds a statement; empty at module level."""
    for (name, _nth), node in ModuleOutline(tree).functions.items():
        if node is not statement and first_line(node) <= statement.lineno <= node.end_lineno:
            return name
    return ""


def covers(entity, function):
    return entity.reach is Reach.IMPORT or (entity.reach is Reach.BODY and entity.name == function)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path, id=f"{path.parent.name}/{path.name}", marks=[pytest.mark.slow] if n % QUICK_SHARE else []
        )
        for n, path in enumerate(FILES)
    ],
)
def test_a_real_module_equals_itself_and_loses_no_statement_unnoticed(path):
    source = path.read_bytes()
    tree = ast.parse(source)
    choices = deletable(tree, source)
    random = Random(path.name)

    assert compared(source, source + b"\n# the end\n") == ()
    for statement in random.sample(choices, min(DELETIONS, len(choices))):
        found = compared(source, without(source, statement))
        function = function_around(tree, statement)
        assert any(covers(entity, function) for entity in found), (statement.lineno, found)
        assert function or all(entity.reach is Reach.IMPORT for entity in found)
