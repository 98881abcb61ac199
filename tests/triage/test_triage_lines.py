"""What we say about lines is what the interpreter does."""

from __future__ import annotations

import ast
import email
import json
import sys
from pathlib import Path

import pytest
from triage_samples import text

from flakehound.triage.executed_lines import body_lines, import_lines
from flakehound.triage.module_outline import ModuleOutline

FILES = [path for package in (json, email) for path in sorted(Path(package.__file__).parent.glob("*.py"))]


def executed(source, *, call=""):
    """Lines executed by importing a source, and by calling a function of it then."""
    code = compile(source, "<traced>", "exec", dont_inherit=True)
    space = {"__name__": "traced"}
    imported = traced(lambda: exec(code, space))
    return imported, traced(lambda: space[call]()) if call else set()


def traced(act):
    lines = set()

    def watch(frame, event, _argument):
        if frame.f_code.co_filename == "<traced>" and event == "line":
            lines.add(frame.f_lineno)
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        act()
    except Exception:
        pass
    finally:
        sys.settrace(before)
    return lines


def first_function(source):
    return next(iter(ModuleOutline(ast.parse(source)).functions.values()))


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    return\n",
        "def f():\n    'Says.'\n    return 1\n",
        "def f():\n    raise ValueError\n",
        "def f():\n    assert x\n",
        "def f():\n    x = 1\n",
        "def f():\n    x: int = 1\n",
        "def f():\n    if 0:\n        x = 1\n    return 2\n",
        "def f():\n    try:\n        pass\n    finally:\n        pass\n",
        "def f():\n    for x in []:\n        pass\n",
        "def f():\n    with x:\n        pass\n",
        "def f():\n    import sys\n",
        "def f():\n    def g():\n        return 1\n",
        "def f():\n    class G:\n        pass\n",
        "def f():\n    del x\n",
        "def f():\n    match 1:\n        case 2:\n            pass\n",
        "def f():\n    while x:\n        pass\n",
        "def f(\n    a=1,\n    b=2,\n):\n    return (\n        a\n    )\n",
        "import functools\n@functools.lru_cache\n@functools.lru_cache()\ndef f():\n    return 1\n",
        "def f():\n    (\n        g()\n    )\n",
        "def f():\n    @staticmethod\n    def g(): pass\n",
    ],
)
def test_a_call_executes_one_of_the_lines_that_prove_it_and_the_import_none(source):
    lines = set(body_lines(first_function(source)))

    imported, called = executed(text(source), call="f")

    assert lines & called
    assert not lines & imported


@pytest.mark.parametrize(
    "source",
    [
        "import sys\n",
        "from __future__ import annotations\n",
        "'Says.'\n\nX = 1\n",
        "X = (\n    1,\n    2,\n)\n",
        "X = (\n    len('a')\n)\n",
        "(\n    len('a')\n)\n",
        "# first\n\nimport functools\n",
        "@staticmethod\ndef f():\n    return 1\n",
        "@staticmethod\n@staticmethod\nclass A:\n    def f(self):\n        return 1\n",
        "class A(\n    object,\n):\n    x = 1\n",
        "if 1:\n    def f():\n        pass\nX = [\n    2,\n]\n",
        "F = lambda: 1\nX = 1\n",
    ],
)
def test_every_import_executes_one_of_the_lines_that_prove_it(source):
    lines = import_lines(ast.parse(source))

    imported, _called = executed(source)

    assert set(lines) & imported


@pytest.mark.parametrize("source", ["", "'Says.'\n", "F = lambda: 1\n", "pass\n", "if x:\n    y = 1\n", "...\n"])
def test_a_module_without_a_line_that_only_an_import_executes_names_none(source):
    assert not import_lines(ast.parse(source))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_importing_a_real_module_executes_no_line_that_proves_a_call_without_a_call(path):
    source = path.read_text(encoding="utf-8")
    called, at_module_level = set(), set()

    def watch(frame, event, _argument):
        if frame.f_code.co_filename == str(path) and event == "line":
            own = set(frame.f_code.co_varnames) if frame.f_code.co_flags & 0x1 else None
            (at_module_level if own is None else called).add(frame.f_lineno)
        return watch

    run_module(source, path, watch)

    tree = ast.parse(source)
    bodies = {line for one in ModuleOutline(tree).functions.values() for line in body_lines(one)}
    assert not bodies & at_module_level
    assert set(import_lines(tree)) & at_module_level or not import_lines(tree)


def run_module(source, path, watch):
    code = compile(source, str(path), "exec", dont_inherit=True)
    space = {"__name__": f"{path.parent.name}.{path.stem}", "__package__": path.parent.name}
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        exec(code, space)
    finally:
        sys.settrace(before)
