"""Parsing files with any content."""

from __future__ import annotations

import ast
import json
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flakehound.lint.analyse import analyse_file
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.encoding import encode_analyses
from flakehound.lint.links.reached_code import reached_functions
from flakehound.lint.source.modules import MAX_TREE_DEPTH, Module, Unparsable, parse_source
from flakehound.lint.source.names import names_of
from flakehound.lint.source.project import Project

SOURCE_FRAGMENTS = [
    "def test_a():",
    "class Test(",
    "import",
    "from . import *",
    "@",
    "lambda:",
    "self.x = self",
    "global x",
    ":",
    "\n",
    "\n    ",
    "    ",
    "(",
    ")",
    "[",
    "]",
    "=",
    "x",
    "test_a",
    "yield",
    "async ",
    "await ",
    "*",
    "'",
    '"""',
    "match x:",
    "case _:",
    "try:",
    "except* E:",
    "pass",
    ":=",
    "del x",
    "1_0",
    "\x00",
    "\r",
    "\x0c",
    "\ufeff",
    "é",
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind_give_the_same_lines(end):
    parsed = parse_source("a.py", f"x = 1{end}{end}y = 2{end}".encode())

    assert isinstance(parsed, Module)
    assert parsed.lines == ("x = 1", "", "y = 2", "")
    assert parsed.tree.body[1].lineno == 3


def test_a_form_feed_does_not_shift_the_lines():
    parsed = parse_source("a.py", b"x = 1\n\x0c\ny = '\x1c'\nz = 3\n")

    assert parsed.lines[parsed.tree.body[2].lineno - 1] == "z = 3"


def test_the_declared_encoding_is_used():
    parsed = parse_source("a.py", "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))

    assert isinstance(parsed, Module)
    assert parsed.tree.body[0].value.value == "é"


def test_a_byte_order_mark_is_not_part_of_the_text():
    parsed = parse_source("a.py", b"\xef\xbb\xbfx = 1\n")

    assert parsed.text == "x = 1\n"


def test_an_empty_file_parses():
    assert parse_source("a.py", b"").tree.body == []


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"x = 1\ndef f(:\n", 2, "invalid syntax"),
        (b"print 'a'\n", 1, "Missing parentheses"),
        (b"x = '\x00'\n", None, "null bytes"),
        (b"# coding: no-such\n", None, "unknown encoding"),
        (b"# coding: rot13\n", None, "rot13"),
        (b"x = '\xff'\n", None, "invalid or missing encoding"),
        (b"(" * 5000, None, "nested"),
        (b"-" * 100_000 + b"1\n", None, "nested"),
        (b"x = 1" + b" + 1" * (MAX_TREE_DEPTH + 1), None, "nested"),
    ],
)
def test_an_unparsable_file_is_reported_with_line_and_reason(content, line, reason):
    parsed = parse_source("a.py", content)

    assert isinstance(parsed, Unparsable)
    assert parsed.path == "a.py"
    assert line is None or parsed.line == line
    assert reason in parsed.reason or "too many" in parsed.reason


def test_a_file_with_an_invalid_escape_still_parses(recwarn):
    assert isinstance(parse_source("a.py", b"x = '\\d'\n"), Module)
    assert not recwarn.list


@pytest.mark.parametrize(
    "text",
    [
        "if (n := 10) > 5: pass",
        "def f(a, /, b): pass",
        "with (open('a') as a, open('b') as b): pass",
        "match x:\n    case {'a': [1, *_]}: pass",
        "def f[T](x: T) -> T: return x",
        "type X[T] = list[T]",
        "try: pass\nexcept* E: pass",
        "f'{x!r:>{width}}'",
    ],
)
def test_newer_syntax_parses_if_this_python_supports_it(text):
    try:
        ast.parse(text)
    except SyntaxError:
        assert isinstance(parse_source("a.py", text.encode()), Unparsable)
    else:
        assert isinstance(parse_source("a.py", text.encode()), Module)


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(content):
    assert isinstance(parse_source("a.py", content), Module | Unparsable)


@given(st.lists(st.sampled_from(SOURCE_FRAGMENTS), max_size=40))
def test_no_file_that_parses_crashes_the_analysis(fragments):
    analyse_all("test_a.py", "".join(fragments).encode())


@pytest.mark.parametrize("name", ["ast.py", "typing.py", "unittest/mock.py", "enum.py", "test/test_grammar.py"])
def test_the_standard_library_is_analysed(name):
    file = Path(sysconfig.get_path("stdlib"), name)
    if not file.exists():
        pytest.skip("this Python comes without it")

    assert analyse_all(f"test_{file.name}", file.read_bytes())


def analyse_all(path, content):
    """Run every analysis of lint on one file; False if it cannot be parsed."""
    project = Project({path: content})
    module = project.module(path)
    if module is None:
        return False
    for case in cases_of(module, project.patterns, project):
        reached_functions(case, project)
    json.dumps(encode_analyses(analyse_file(project, module)))
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names_of(node, module, project).calls()
    return True
