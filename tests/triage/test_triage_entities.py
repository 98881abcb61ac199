"""What changed between two versions of a module."""

from __future__ import annotations

import pytest
from triage_samples import changed, told

from flakehound.triage.changes import EntityKind, Reach


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1\n", "x = 1  # why\n"),
        ("def f():\n    return 'a'\n", '\n\ndef f():\n\n    return "a"\n'),
        ("x = [1, 2]\n", "x = [\n    1,\n    2,\n]\n"),
        ("x = 'ab'\n", "x = 'a' 'b'\n"),
        ("x = u'a'\n", "x = 'a'\n"),
        ("x = (1)\n", "x = 1\n"),
        ("x = 0x10\n", "x = 16\n"),
        ("def f(): return 1\n", "def f():\n\treturn 1\n"),
        ("x = 1; y = 2\n", "x = 1\ny = 2\n"),
    ],
)
def test_comments_and_layout_are_no_change(before, after):
    assert changed(before, after) == ()


def test_a_changed_body_is_the_function_alone():
    (found,) = changed(
        """
        RATE = 2

        def net(price):
            return price

        def total(price):
            tax = price * RATE
            return price + tax
        """,
        """
        RATE = 2

        def net(price):
            return price

        def total(price):
            tax = price * RATE
            return price - tax
        """,
    )

    assert (found.name, found.kind, found.reach) == ("total", EntityKind.FUNCTION, Reach.BODY)
    assert found.body_lines == (range(7, 9),)
    assert str(found) == "shop/cart.py: total"


def test_a_method_is_an_entity_of_its_own():
    found = changed(
        "class Cart:\n    def total(self):\n        return 1\n    def empty(self):\n        return 2\n",
        "class Cart:\n    def total(self):\n        return 3\n    def empty(self):\n        return 2\n",
    )

    assert told(found) == {("Cart.total", "changed", "body")}


def test_methods_of_nested_classes_carry_the_whole_name():
    found = changed(
        "class A:\n    class B:\n        def f(self):\n            return 1\n",
        "class A:\n    class B:\n        def f(self):\n            return 2\n",
    )

    assert told(found) == {("A.B.f", "changed", "body")}


@pytest.mark.parametrize(
    "inner",
    ["def inner(a={}):\n        return 1", "inner = lambda: {}", "class Inner:\n        x = {}"],
)
def test_what_is_defined_inside_a_function_belongs_to_it(inner):
    source = "def outer():\n    %s\n    return 5\n"

    (found,) = changed(source % inner.replace("{}", "1"), source % inner.replace("{}", "2"))

    assert told([found]) == {("outer", "changed", "body")}
    assert found.body_lines[0].start == 2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a):\n    return 1\n", "def f(a=1):\n    return 1\n"),
        ("def f(a):\n    return 1\n", "def f(b):\n    return 1\n"),
        ("def f(a):\n    return 1\n", "def f(a: int):\n    return 1\n"),
        ("def f(a):\n    return 1\n", "def f(a) -> int:\n    return 1\n"),
        ("def f(a):\n    return 1\n", "@cache\ndef f(a):\n    return 1\n"),
        ("def f(a):\n    return 1\n", "async def f(a):\n    return 1\n"),
        ("def f(a):\n    return 1\n", "def f(a):\n    'Says.'\n    return 1\n"),
        ("def f(a):\n    'Says.'\n    return 1\n", "def f(a):\n    'Told.'\n    return 1\n"),
        ("def f(a, b):\n    return 1\n", "def f(a, *, b):\n    return 1\n"),
    ],
)
def test_a_changed_definition_is_executed_by_the_import(before, after):
    assert told(changed(before, after)) == {("f", "changed", "import")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    return 1\n", "def f():\n    yield 1\n"),
        ("def f():\n    yield 1\n", "def f():\n    return 1\n"),
        ("def f():\n    x = 1\n    return x\n", "def f():\n    x = yield\n    return x\n"),
        ("def f():\n    def g(): pass\n", "def f():\n    def g(x=(yield)): pass\n"),
        ("async def f():\n    return 1\n", "async def f():\n    yield 1\n"),
    ],
)
def test_becoming_a_generator_is_a_change_of_definition_because_a_call_then_runs_no_line(before, after):
    assert told(changed(before, after)) == {("f", "changed", "import")}


def test_a_generator_inside_the_function_does_not_make_it_one():
    found = changed(
        "def f():\n    def g():\n        return 1\n    return g\n",
        "def f():\n    def g():\n        yield 1\n    return g\n",
    )

    assert told(found) == {("f", "changed", "body")}


def test_a_first_use_of_super_changes_what_the_metaclass_is_given():
    found = changed(
        "class A(B):\n    def f(self):\n        return 1\n",
        "class A(B):\n    def f(self):\n        return super().f()\n",
    )

    assert told(found) == {("A.f", "changed", "import")}


@pytest.mark.parametrize(
    "body",
    ["return {}", "return [\n        {},\n    ]"],
)
def test_a_body_that_starts_on_the_line_of_its_def_is_executed_for_all_we_can_see_by_the_import(body):
    source = "def f(): " + body + "\n"

    assert told(changed(source.format(1), source.format(2))) == {("f", "changed", "import")}


def test_a_body_on_the_line_of_the_last_default_cannot_be_told_from_the_default():
    found = changed("def f(\n    a=1): return 1\n", "def f(\n    a=1): return 2\n")

    assert told(found) == {("f", "changed", "import")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f():\n    return 1\n", "def f():\n    pass\n"),
        ("def f():\n    return 1\n", "def f():\n    ...\n"),
        ("def f():\n    pass\n", "def f():\n    global x\n"),
        ("def f():\n    pass\n", "def f():\n    x: int\n"),
        ("def f():\n    pass\n", "def f():\n    if 0:\n        g()\n"),
        ("def f():\n    pass\n", "def f():\n    if __debug__:\n        g()\n"),
        ("def f():\n    pass\n", "def f():\n    assert 1\n"),
    ],
)
def test_a_body_without_a_line_that_is_sure_to_be_seen_counts_as_executed_by_the_import(before, after):
    assert told(changed(before, after)) == {("f", "changed", "import")}


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("x = 1\n", "x = 2\n", "<module>"),
        ("x = 1\n", "x: int = 1\n", "<module>"),
        ("import a\n", "import b\n", "<module>"),
        ("from a import *\n", "from b import *\n", "<module>"),
        ("__all__ = ['a']\n", "__all__ = ['a', 'b']\n", "<module>"),
        ("f = lambda: 1\n", "f = lambda: 2\n", "<module>"),
        ("x = [i for i in y]\n", "x = [i + 1 for i in y]\n", "<module>"),
        ("x = (y := 1)\n", "x = (y := 2)\n", "<module>"),
        ("'Doc.'\n", "'Docs.'\n", "<module>"),
        ("if x:\n    y = 1\n", "if x:\n    y = 2\n", "<module>"),
        ("match x:\n    case 1:\n        y = 1\n", "match x:\n    case 2:\n        y = 1\n", "<module>"),
        ("class A:\n    x = 1\n", "class A:\n    x = 2\n", "A"),
        ("class A:\n    x: int\n", "class A:\n    x: str\n", "A"),
        ("class A:\n    'Doc.'\n", "class A:\n    'Docs.'\n", "A"),
        ("class A: pass\n", "class A(B): pass\n", "A"),
        ("class A: pass\n", "class A(metaclass=M): pass\n", "A"),
        ("class A:\n    x: int = 1\n", "@dataclass\nclass A:\n    x: int = 1\n", "A"),
        ("class A:\n    class B:\n        x = 1\n", "class A:\n    class B:\n        x = 2\n", "A.B"),
        ("class A:\n    if x:\n        y = 1\n", "class A:\n    if x:\n        y = 2\n", "A"),
    ],
)
def test_what_stands_outside_every_function_is_executed_by_the_import(before, after, name):
    assert told(changed(before, after)) == {(name, "changed", "import")}
