"""Parsing whatever bytes a file may hold."""

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

WORDS = [
    *(
        "def test_a():",
        "class Test(",
        "import",
        "from . import *",
        "@",
        "lambda:",
        "self.x = self",
        "global x",
        ":",
    ),
    *(
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
    ),
    *(
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
        "\f",
        "\ufeff",
        "é",
    ),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_sort_give_the_same_lines(end):
    found = parse_source("a.py", f"x = 1{end}{end}y = 2{end}".encode())

    assert isinstance(found, Module)
    assert found.lines == ("x = 1", "", "y = 2", "")
    assert found.tree.body[1].lineno == 3


def test_a_form_feed_does_not_shift_the_lines():
    found = parse_source("a.py", b"x = 1\n\x0c\ny = '\x1c'\nz = 3\n")

    assert found.lines[found.tree.body[2].lineno - 1] == "z = 3"


def test_the_declared_encoding_is_used():
    found = parse_source("a.py", "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))

    assert isinstance(found, Module)
    assert found.tree.body[0].value.value == "é"


def test_a_byte_order_mark_is_no_part_of_the_text():
    found = parse_source("a.py", b"\xef\xbb\xbfx = 1\n")

    assert found.text == "x = 1\n"


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
def test_what_does_not_parse_is_told_with_its_place(content, line, reason):
    found = parse_source("a.py", content)

    assert isinstance(found, Unparsable)
    assert found.path == "a.py"
    assert line is None or found.line == line
    assert reason in found.reason or "too many" in found.reason


def test_an_escape_that_python_warns_of_still_parses(recwarn):
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
def test_newer_syntax_parses_where_this_python_knows_it(text):
    try:
        ast.parse(text)
    except SyntaxError:
        assert isinstance(parse_source("a.py", text.encode()), Unparsable)
    else:
        assert isinstance(parse_source("a.py", text.encode()), Module)


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(content):
    assert isinstance(parse_source("a.py", content), Module | Unparsable)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
def test_no_file_that_parses_crashes_the_scanner(words):
    read_all("test_a.py", "".join(words).encode())


@pytest.mark.parametrize("name", ["ast.py", "typing.py", "unittest/mock.py", "enum.py", "test/test_grammar.py"])
def test_the_standard_library_is_read(name):
    file = Path(sysconfig.get_path("stdlib"), name)
    if not file.exists():
        pytest.skip("this Python comes without it")

    assert read_all(f"test_{file.name}", file.read_bytes())


def read_all(path, content):
    """Everything the room can say about one file."""
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
