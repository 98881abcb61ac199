"""Metrics of newer syntax, compared with radon."""

from __future__ import annotations

import ast
import sys

import pytest
from metric_samples import metrics_of_test
from radon.visitors import ComplexityVisitor

from flakehound.lint.metrics.code_nodes import code_of
from flakehound.lint.metrics.complexity import complexity
from flakehound.lint.metrics.lines import LineCounter, LineCounts


def our_complexity(source: str, *, asserts: bool = True) -> int:
    return complexity(code_of(ast.parse(source).body), asserts=asserts)


def radon_complexity(source: str) -> int:
    return ComplexityVisitor.from_ast(ast.parse(source)).total_complexity


SAME_AS_RADON = {
    "walrus": ("if (n := next(x)) > 1:\n    pass", 2),
    "comprehension": ("[a for b in c if b for a in b]", 4),
    "generator in a call": ("any(a for a in b)", 2),
    "match with a last resort": ("match x:\n    case 1:\n        pass\n    case _:\n        pass", 2),
    "match without one": ("match x:\n    case 1:\n        pass\n    case 2:\n        pass", 3),
    "match that binds a name": ("match x:\n    case 1:\n        pass\n    case other:\n        pass", 2),
    "loop with else": ("for a in b:\n    pass\nelse:\n    pass", 3),
    "try with else": ("try:\n    pass\nexcept A:\n    pass\nexcept B:\n    pass\nelse:\n    pass", 4),
    "conditional expression": ("x = a if b else c", 2),
    "lambda": ("x = lambda a: a or 1", 2),
    "async": ("async def f():\n    async for a in b:\n        pass", 2),
}
DIFFERENT_FROM_RADON = {
    "guard": ("match x:\n    case 1 if a:\n        pass", 3, 2),
    "guarded last resort": ("match x:\n    case _ if a:\n        pass", 2, 1),
    "alternatives": ("match x:\n    case 1 | 2 | 3:\n        pass", 4, 2),
    "decision in an assert": ("assert a and b", 3, 2),
    "comprehension in an assert": ("assert all(a for a in b)", 3, 2),
    "class in a function": ("def f():\n    class A:\n        if a:\n            pass", 2, 1),
    "function in a function in a function": (
        "def f():\n    def g():\n        def h():\n            return a or b",
        2,
        1,
    ),
    "methods": ("class A:\n    def f(self):\n        pass\n    def g(self):\n        pass", 1, 3),
}


@pytest.mark.parametrize(("source", "expected"), SAME_AS_RADON.values(), ids=SAME_AS_RADON)
def test_complexity_equals_that_of_radon(source, expected):
    assert (our_complexity(source), radon_complexity(source)) == (expected, expected)


@pytest.mark.parametrize(("source", "expected", "theirs"), DIFFERENT_FROM_RADON.values(), ids=DIFFERENT_FROM_RADON)
def test_complexity_counts_decisions_that_radon_leaves_out(source, expected, theirs):
    assert (our_complexity(source), radon_complexity(source)) == (expected, theirs)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* came with Python 3.11")
def test_except_star_counts_like_except():
    source = "try:\n    pass\nexcept* A:\n    pass\nexcept* B:\n    pass"

    assert (our_complexity(source), radon_complexity(source)) == (3, 1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 came with Python 3.12")
def test_type_parameters_and_aliases_are_no_decisions():
    source = (
        "type Number = int | float\ndef f[T: (int, str)](x: T) -> T:\n    return x or 1\nclass A[T]:\n    pass"
    )

    assert (our_complexity(source), radon_complexity(source)) == (2, 2)
    assert metrics_of_test("def test_x[T: (int, str)](x: T = 1):\n    assert x == 1\n").assertions == 1


def test_an_assert_is_a_decision_only_if_the_option_is_set():
    assert our_complexity("assert a", asserts=False) == 1
    assert our_complexity("assert a", asserts=True) == 2


LINES = {
    "x = 1": 1,
    "x = 1; y = 2;": 2,
    "if a: b()": 2,
    "if a:\n    b()": 2,
    "if a:  # why: because\n    b()": 2,
    "x = '#: not a comment'": 1,
    "x = {1: 2}": 2,
    "x = (1,\n\n  2)": 1,
    "x = 1 + \\\n  2": 1,
    "if (y := 2):\n    pass": 2,
    '"""Doc: string\nmore; of it\n"""': 1,
    "x = f'{a:>3}'": 1,
    "": 0,
    "# only\n\n": 0,
    "def f(a: int,\n      b: str) -> int:\n    return 1": 2,
}


@pytest.mark.parametrize(("source", "logical"), LINES.items())
def test_logical_lines(source, logical):
    assert LineCounter(source).whole_file().logical == logical


NESTED_QUOTES = {
    """x = f"{a["b"]}"; y = 1\nz = 2""": 3,
    """x = f"{a['b']:{width}}"; y = 1""": 2,
    '''x = f"""{ "it's" }"""; y = 1''': 2,
    """x = f"{f"{1}"}"; y = 1""": 2,
    """x = f"{{"; y = 1""": 2,
    """x = f"{a:'>10}{b["c"]}"; y = 1""": 2,
    """x = f"{a[":"]!r} }}"; y = 1""": 2,
}


@pytest.mark.parametrize(("source", "logical"), NESTED_QUOTES.items())
def test_an_f_string_may_contain_its_own_quotes(source, logical):
    if sys.version_info >= (3, 12):
        ast.parse(source)

    assert LineCounter(source).whole_file().logical == logical


def test_kinds_of_lines_are_counted_separately():
    text = '"""Doc.\n\nMore.\n"""\n# A comment.\nx = """a\n\nb"""  # behind\n\n"one"\n'

    counts = LineCounter(text).whole_file()

    assert counts == LineCounts(non_blank=7, source=2, logical=3, comments=2, documentation=3)
