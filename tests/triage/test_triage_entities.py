"""What changed between two versions of a module."""

from __future__ import annotations

import sys
import warnings

import pytest
from triage_samples import added, changed, deleted, modified, told

from flakehound.triage.changes import EntityKind, FileChange, FileStatus, Reach
from flakehound.triage.entities import changed_entities


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


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ("def g():\n    return 1\n", "g"),
        ("class G:\n    def f(self):\n        return 1\n", "G"),
        ("async def g():\n    return 1\n", "g"),
    ],
)
def test_added_and_removed_definitions_are_the_modules_own_code(extra, name):
    without, with_it = "x = 1\n", "x = 1\n" + extra

    assert told(changed(without, with_it)) == {(name, "added", "import")}
    assert told(changed(with_it, without)) == {(name, "removed", "import")}


def test_an_added_method_is_the_modules_own_code():
    found = changed("class A:\n    x = 1\n", "class A:\n    x = 1\n    def f(self):\n        return 1\n")

    assert told(found) == {("A.f", "added", "import")}


def test_a_function_that_becomes_a_class_is_the_modules_own_code():
    found = changed("def f():\n    return 1\n", "class f:\n    pass\n")

    assert told(found) == {("f", "changed", "import")}


def test_the_order_of_definitions_is_the_modules_own_code():
    one, two = "def f():\n    return 1\n", "def g():\n    return 2\n"

    assert told(changed(one + two, two + one)) == {("<module>", "changed", "import")}


def test_definitions_that_rebind_one_name_are_told_apart_by_their_order():
    one, two = "def f():\n    return 1\n", "def f():\n    return 2\n"

    found = changed(one + two, two + one)

    assert {entity.name for entity in found} == {"f"}


def test_of_a_property_and_its_setter_only_the_changed_one_counts():
    source = """
        class A:
            @property
            def x(self):
                return self._x

            @x.setter
            def x(self, value):
                self._x = {}
        """

    (found,) = changed(source.format("value"), source.format("0"))

    assert told([found]) == {("A.x", "changed", "body")}
    assert found.body_lines == (range(8, 9),)


def test_overloads_are_told_apart():
    source = """
        @overload
        def f(a: int) -> int: ...
        @overload
        def f(a: str) -> {}: ...
        def f(a):
            return {}
        """

    assert told(changed(source.format("str", "a"), source.format("str", "b"))) == {("f", "changed", "body")}
    assert told(changed(source.format("str", "a"), source.format("int", "a"))) == {("f", "changed", "import")}


@pytest.mark.parametrize(
    "block",
    [
        "if sys.platform == 'win32':\n    def f():\n        return {}\nelse:\n    def f():\n        return 5\n",
        "try:\n    import a\nexcept ImportError:\n    def f():\n        return {}\nfinally:\n    x = 1\n",
        "with a:\n    def f():\n        return {}\n",
        "for a in b:\n    def f():\n        return {}\n",
        "match a:\n    case 1:\n        def f():\n            return {}\n",
        "if a:\n    pass\nelif b:\n    def f():\n        return {}\n",
        "try:\n    import a\nexcept A:\n    pass\nelse:\n    def f():\n        return {}\n",
    ],
)
def test_a_conditional_definition_is_a_function_like_any_other(block):
    (found,) = changed(block.format(1), block.format(2))

    assert told([found]) == {("f", "changed", "body")}


def test_a_definition_that_becomes_conditional_is_the_modules_own_code():
    found = changed("def f():\n    return 1\n", "if x:\n    def f():\n        return 1\n")

    assert all(one.reach is Reach.IMPORT for one in found)
    assert ("<module>", "changed", "import") in told(found)


def test_a_changed_body_is_named_beside_a_changed_module():
    found = changed("x = 1\ndef f():\n    return 1\n", "x = 2\ndef f():\n    return 2\n")

    assert told(found) == {("<module>", "changed", "import"), ("f", "changed", "body")}


def test_new_syntax_inside_a_body_is_a_body():
    found = changed(
        "def f(x):\n    match x:\n        case [1, *rest]:\n            return (y := rest)\n",
        "def f(x):\n    match x:\n        case [2, *rest]:\n            return (y := rest)\n",
    )

    assert told(found) == {("f", "changed", "body")}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in 3.12")
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("def f[T](a: T):\n    return 1\n", "def f[T](a: T):\n    return 2\n", ("f", "changed", "body")),
        ("def f[T](a):\n    return 1\n", "def f[T: int](a):\n    return 1\n", ("f", "changed", "import")),
        ("class A[T]: pass\n", "class A[S]: pass\n", ("A", "changed", "import")),
        ("type A = int\n", "type A = str\n", ("<module>", "changed", "import")),
    ],
)
def test_type_parameters_are_executed_by_the_import(before, after, expected):
    assert told(changed(before, after)) == {expected}


@pytest.mark.parametrize(
    "broken",
    ["def f(:\n", "x = 1\nreturn 2\n", "def f():\n    nonlocal x\n", "x = '\0'\n", "# coding: martian\n"],
)
def test_a_version_that_does_not_compile_is_the_whole_file(broken):
    source = "def f():\n    return 1\n"

    for found in (changed(source, broken), changed(broken, source)):
        assert [(one.name, one.kind, one.reach) for one in found] == [
            ("shop/cart.py", EntityKind.FILE, Reach.IMPORT)
        ]
        assert str(found[0]) == "shop/cart.py"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 0x1" + "0" * 9000, "x = 0x2" + "0" * 9000),
        ("x = " + "+".join(["1"] * 5000), "x = " + "+".join(["1"] * 5001)),
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
    ],
)
def test_values_that_are_hard_to_compare_are_compared(before, after):
    found = changed(before + "\n", after + "\n")

    assert [one.reach for one in found] == [Reach.IMPORT]


def test_a_new_warning_of_the_compiler_is_a_change_because_projects_turn_warnings_into_errors():
    found = changed("def f():\n    return '\\\\d'\n", "def f():\n    return '\\d'\n")

    assert told(found) == {("<module>", "changed", "import")}


def test_a_warning_of_something_else_meanwhile_is_none_of_the_compiler(monkeypatch):
    """The garbage collector runs when it likes, and warns of what others left open."""
    warned = []

    def compile_beside_the_collector(*words, **options):
        warned.append(1)
        warnings.warn(f"left open: {len(warned)}", ResourceWarning, stacklevel=1)
        return compile(*words, **options)

    monkeypatch.setattr("flakehound.triage.python_source.compile", compile_beside_the_collector, raising=False)

    assert changed("x = 1\n", "x = 1  # why\n") == ()
    assert len(warned) == 2


def test_a_new_warning_of_the_compiler_is_seen_beside_a_changed_body():
    found = changed("def f():\n    return 1\n", "def f():\n    return '\\d'\n")

    assert told(found) == {("<module>", "changed", "import"), ("f", "changed", "body")}


def test_a_source_is_read_in_the_encoding_it_names():
    before = "# coding: latin-1\nx = 'é'\n".encode("latin-1")
    after = "# coding: cp1251\nx = 'é'\n".encode("latin-1")

    found = changed_entities(FileChange(path="a.py", status=FileStatus.MODIFIED, before=before, after=after))

    assert told(found) == {("<module>", "changed", "import")}


@pytest.mark.parametrize("use", ["from numba import njit\n", "import cython\n", "from .fast import jit\n"])
def test_a_function_that_may_be_compiled_leaves_no_lines_and_counts_as_executed_by_the_import(use):
    body = "def f():\n    return {}\n"

    assert told(changed(use + body.format(1), use + body.format(2))) == {("f", "changed", "import")}


def test_an_added_module_is_reached_by_its_import_and_a_deleted_one_by_its_name():
    assert [(str(one), one.reach) for one in changed_entities(added("a/b.py"))] == [("a/b.py", Reach.IMPORT)]
    assert [(str(one), one.reach) for one in changed_entities(deleted("a/b.py"))] == [("a/b.py", Reach.NAME)]


def test_a_renamed_module_is_a_deleted_one_and_an_added_one_even_if_nothing_in_it_changed():
    file = FileChange(
        path="new.py", old_path="old.py", status=FileStatus.RENAMED, before=b"x = 1\n", after=b"x = 1\n"
    )

    assert told(changed_entities(file)) == {("old.py", "removed", "name"), ("new.py", "added", "import")}


def test_a_modified_file_that_cannot_be_read_is_the_whole_file():
    found = changed_entities(FileChange(path="a.py", status=FileStatus.MODIFIED, after=b"x = 1\n"))

    assert [one.kind for one in found] == [EntityKind.FILE]


def test_equal_contents_are_no_change():
    assert changed_entities(modified("def f(:\n", "def f(:\n")) == ()
