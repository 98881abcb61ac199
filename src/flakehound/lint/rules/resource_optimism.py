"""A file is taken for granted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import is_next_to_source, is_temporary_path, string_value, strings_in
from flakehound.lint.rules.file_outside_tmp import SAFE

_READERS = frozenset(
    ("open", "io.open", "codecs.open", "os.listdir", "os.stat", "os.path.getsize", "os.path.getmtime",
        "numpy.load",
     "numpy.loadtxt", "numpy.genfromtxt", "pandas.read_csv", "pandas.read_excel", "pandas.read_json",
     "json.load", "cv2.imread",
     "PIL.Image.open", "os.scandir", "zipfile.ZipFile", "tarfile.open", "gzip.open", "joblib.load",
     "pandas.read_pickle")
)  # fmt: skip
_METHODS = frozenset(("read_text", "read_bytes"))
_CHECKS = ("os.path.exists", "os.path.isfile", "os.path.isdir", "os.makedirs", "os.mkdir", "shutil.copy")


def _read(call: Call) -> ast.expr | None:
    if call.name in _READERS:
        mode = string_value(call.argument(1, "mode")) or "r"
        return call.argument(0) if not set(mode) & set("wax") else None
    if call.short_name in _METHODS and isinstance(call.node.func, ast.Attribute):
        return call.node.func.value
    return None


def _checks_existence(call: Call) -> bool:
    return call.name.startswith(_CHECKS) or call.short_name in ("exists", "is_file", "is_dir")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    if any(map(_checks_existence, function.facts.calls)):
        return
    for call in function.facts.calls:
        path = _read(call)
        if path is not None and _is_taken_for_granted(function, path):
            yield sign_for(call, "{} expects a file that neither the test nor the project's folder guarantees")


def _is_taken_for_granted(function: ReachedFunction, path: ast.expr) -> bool:
    if is_temporary_path(function, path) or is_next_to_source(function, path):
        return False
    return any(text for text in strings_in(function, path))


RULE = LintRule(
    id="FH502",
    name="resource-optimism",
    cause=Cause.IO,
    title="A file is opened in the hope that it is there",
    why="The path is relative to wherever pytest was started, or another test has to have written the file.",
    fix="Start at `Path(__file__).parent`, create the file in the test, or skip where it is absent.",
    bad="def test_load():\n    assert open('data/cart.json').read()\n",
    good="from pathlib import Path\n\ndef test_load():\n    assert (Path(__file__).parent / "
    "'cart.json').read_text()\n",
    check=in_each_function(_find, in_production=False, unless=uses(*SAFE)),
)
