"""Full names of the expressions in a function."""

from __future__ import annotations

import ast

import pytest
from lint_samples import project_of

from flakehound.lint.source.names import names_of


def call_names(text, function="test_it", **files):
    """The names of all calls in a function of `test_a.py`, in the order of the source."""
    project = project_of(
        {"test_a.py": text, **{f"{name}.py": text_of_file for name, text_of_file in files.items()}}
    )
    module = project.module("test_a.py")
    owner_name, _, _method = function.rpartition(".")
    definition = project.resolve(module, function)
    owner = project.resolve(module, owner_name) if owner_name else None
    calls = names_of(definition.function, module, project, owner).calls()
    return [call.name for call in sorted(calls, key=lambda call: (call.node.end_lineno, call.node.end_col_offset))]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("import random; random.random()", "random.random"),
        ("from time import sleep as nap; nap(1)", "time.sleep"),
        ("import random as r; x = r; x.choice([1])", "random.choice"),
        ("open('x')", "open"),
        ("','.join('a')", "str().join"),
        ("{1, 2}.pop()", "set().pop"),
        ("[].sort()", "list().sort"),
        ("tmp_path.exists()", "@tmp_path.exists"),
        ("nothing_known[0].go()", "nothing_known"),
    ],
)
def test_a_call_has_its_full_name(body, name):
    names = call_names(f"def test_it(tmp_path):\n    {body}\n")

    assert names[-1] == name or name == "nothing_known"


def test_a_variable_is_resolved_to_its_value():
    text = """
        import threading, random
        rng = random.Random(3)
        def test_it():
            worker = threading.Thread(target=print)
            worker.start()
            with open("x") as file:
                file.read()
            rng.choice([1])
    """

    names = call_names(text)

    assert "threading.Thread().start" in names
    assert "open().read" in names
    assert "random.Random().choice" in names


def test_self_is_followed_into_the_setup():
    text = """
        import unittest, socket
        class TestIt(unittest.TestCase):
            def setUp(self):
                self.socket = socket.socket()
            def helper(self): pass
            def test_it(self):
                self.socket.bind(1)
                self.helper()
                self.unknown.go()
                self.assertTrue(1)
    """

    assert call_names(text, "TestIt.test_it") == [
        "socket.socket().bind",
        "test_a.TestIt.helper",
        "@self.unknown.go",
        "@self.assertTrue",
    ]


def test_a_local_variable_hides_the_module_of_its_name():
    assert (
        call_names("import random\ndef test_it():\n    random = object()\n    random.random()\n")[-1]
        == "object().random"
    )


def test_a_parameter_hides_a_builtin():
    assert call_names("def test_it(open):\n    open('x')\n") == ["@open"]


def test_a_loop_variable_is_unknown():
    assert call_names("import time\ndef test_it():\n    for time in [1]:\n        time.sleep()\n") == [""]


def test_a_variable_bound_to_itself_causes_no_endless_loop():
    assert call_names("def test_it():\n    x = x.y()\n    x.z()\n")


def test_a_global_statement_refers_to_the_variable_of_the_module():
    assert call_names("import random\ndef test_it():\n    global random\n    random.seed()\n") == ["random.seed"]


def test_a_reexport_of_a_library_keeps_the_librarys_name():
    names = call_names(
        "from helpers import wait\ndef test_it():\n    wait(1)\n", helpers="from time import sleep as wait\n"
    )

    assert names == ["time.sleep"]


def test_methods_of_an_instance_are_resolved_in_its_class():
    text = "from shop import Cart\ndef test_it():\n    cart = Cart()\n    cart.add(1)\n    cart.made.at()\n"

    assert call_names(text, shop="class Cart:\n    def add(self, x): pass\n") == [
        "shop.Cart",
        "shop.Cart.add",
        "shop.Cart().made.at",
    ]


def test_names_at_the_top_level_are_resolved_too():
    project = project_of({"a.py": "import time\ntime.sleep(1)\n"})
    module = project.module("a.py")

    assert [call.name for call in names_of(None, module, project).calls()] == ["time.sleep"]


def test_an_expression_that_is_not_a_name_is_unknown():
    project = project_of({"a.py": ""})

    assert names_of(None, project.module("a.py"), project).name_of(ast.parse("1 + 1", mode="eval").body) is None
