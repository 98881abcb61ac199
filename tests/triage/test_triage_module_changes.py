"""Changes outside of function bodies: the module's own code, new syntax, warnings, files."""

from __future__ import annotations

import sys
import warnings

import pytest
from triage_samples import added, changed, deleted, modified, told

from flakehound.triage.changes import EntityKind, FileChange, FileStatus, Reach
from flakehound.triage.entities import changed_entities


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
