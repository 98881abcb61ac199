"""A test reads a file without making sure that it exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import (
    is_next_to_source,
    is_temporary_path,
    starts_with_text,
    string_value,
    strings_in,
)
from flakehound.lint.rules.file_outside_tmp import is_elsewhere

_READING_FUNCTIONS = frozenset(
    {
        "PIL.Image.open",
        "codecs.open",
        "cv2.imread",
        "gzip.open",
        "io.open",
        "joblib.load",
        "json.load",
        "numpy.genfromtxt",
        "numpy.load",
        "numpy.loadtxt",
        "open",
        "os.listdir",
        "os.path.getmtime",
        "os.path.getsize",
        "os.scandir",
        "os.stat",
        "pandas.read_csv",
        "pandas.read_excel",
        "pandas.read_json",
        "pandas.read_pickle",
        "tarfile.open",
        "zipfile.ZipFile",
    }
)
_READING_METHODS = frozenset({"read_bytes", "read_text"})
_EXISTENCE_CHECKS = ("os.makedirs", "os.mkdir", "os.path.exists", "os.path.isdir", "os.path.isfile", "shutil.copy")


def _path_read_by(call: Call) -> ast.expr | None:
    if call.name in _READING_FUNCTIONS:
        mode = string_value(call.argument(1, "mode")) or "r"
        return call.argument(0) if not set(mode) & set("wax") else None
    if call.short_name in _READING_METHODS and isinstance(call.node.func, ast.Attribute):
        return call.node.func.value
    return None


def _checks_existence(call: Call) -> bool:
    return call.name.startswith(_EXISTENCE_CHECKS) or call.short_name in ("exists", "is_file", "is_dir")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    if any(map(_checks_existence, function.facts.calls)):
        return
    for call in function.facts.calls:
        path = _path_read_by(call)
        if path is not None and _is_assumed_to_exist(function, path):
            weak = "" if starts_with_text(function, path) else "the path may be that of a file that exists"
            message = "{} expects a file that neither the test nor the project's folder guarantees"
            yield sign_for(call, message, weak)


def _is_assumed_to_exist(function: ReachedFunction, path: ast.expr) -> bool:
    if is_temporary_path(function, path) or is_next_to_source(function, path):
        return False
    return any(text for text in strings_in(function, path))


RULE = LintRule(
    id="FH502",
    name="resource-optimism",
    cause=Cause.IO,
    title="A file is opened without checking that it exists",
    why="The path is relative to the folder in which pytest was started, or another test must have written "
    "the file.",
    fix="Build the path from `Path(__file__).parent`, create the file in the test, or skip the test if the "
    "file is missing.",
    bad="def test_load():\n    assert open('data/cart.json').read()\n",
    good="from pathlib import Path\n\ndef test_load():\n    assert (Path(__file__).parent / "
    "'cart.json').read_text()\n",
    check=in_each_function(_find, in_production=False, unless=is_elsewhere),
)
