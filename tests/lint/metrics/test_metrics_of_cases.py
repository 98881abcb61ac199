"""Metrics of tests compared with values counted by hand."""

from __future__ import annotations

from math import log2

import pytest
from metric_samples import metrics_of_test

IN_PYTEST = """
import numpy as np
import pytest
from shop import Cart


@pytest.mark.parametrize("price", [1, 2])
def test_total(price):
    # Two of each.
    cart = Cart("me")
    cart.add(price, count=2)

    assert cart.total() == price * 2
    assert np.isclose(cart.total(), 2 * price), "rounding"
    with pytest.raises(ValueError):
        cart.add(-1)
"""
IN_UNITTEST = '''
import time
import unittest
from threading import Thread


class TestTill(unittest.TestCase):
    def test_open(self):
        """Opens."""
        worker = Thread(target=till.open)
        worker.start()
        time.sleep(0.1)
        for key in ("a", "b"):
            if key in till.keys:
                self.assertEqual(str(till.key), key)
        self.assertTrue(till.is_open, "closed")
        self.assertEqual(repr(till), "Till")
        self.assertIsNone(till.error)
'''
WITH_RESOURCES = """
import asyncio
import json
import os
import requests


async def test_download(tmp_path):
    from shop import client
    asyncio.create_task(client.poll())
    await asyncio.sleep(0)
    expected = json.load(open("tests/answer.json"))
    (tmp_path / "copy.json").write_text("{}")
    with open("out.txt", "w") as out:  # kept
        out.write(requests.get(client.url).text if client.url else "")
    assert expected
    assert client.seen == [x for x in expected if x], "seen"
    assert os.path.exists("out.txt") and client.done
"""
COUNTED_BY_HAND = {
    "pytest": (
        metrics_of_test(IN_PYTEST, methods=frozenset({"add", "total"})),
        {
            "mccabe": 1,
            "tloc": 9,
            "assertion_density": 3 / 9,
            "assertion_roulette": 0,  # one assertion without a message is no roulette
            "conditional_test_logic": 0,
            "eager_test": 2,
            "fire_and_forget": 0,
            "mystery_guest": 0,
            "resource_optimism": 0,
            "sensitive_equality": 0,
            "ast_depth": 2,
            "assertions": 3,
            "external_modules": 1,  # numpy
            "halstead_volume": 33.0,  # 11 over a vocabulary of 8
            "cyclomatic_complexity": 3,
            "test_lines_of_code": 6,
            "maintainability": 71.989,
        },
    ),
    "unittest": (
        metrics_of_test(IN_UNITTEST, methods=frozenset({"open", "close"})),
        {
            "mccabe": 3,
            "tloc": 11,
            "assertion_density": 4 / 11,
            "assertion_roulette": 3,
            "conditional_test_logic": 2,
            "eager_test": 0,
            "fire_and_forget": 2,  # the sleep, and the thread
            "mystery_guest": 0,
            "resource_optimism": 0,
            "sensitive_equality": 2,
            "ast_depth": 3,
            "assertions": 4,
            "external_modules": 0,
            "halstead_volume": 3 * log2(3),
            "cyclomatic_complexity": 3,
            "test_lines_of_code": 10,
            "maintainability": 73.0412,
        },
    ),
    "resources": (
        metrics_of_test(WITH_RESOURCES),
        {
            "mccabe": 5,
            "tloc": 11,
            "assertion_density": 3 / 11,
            "assertion_roulette": 2,
            "conditional_test_logic": 2,
            "eager_test": None,
            "fire_and_forget": 1,  # the task; sleep(0) waits for nothing
            "mystery_guest": 3,  # two files and a server; not what lies under tmp_path
            "resource_optimism": 0,  # one file must be there, one is checked
            "sensitive_equality": 0,
            "ast_depth": 2,
            "assertions": 3,
            "external_modules": 1,  # requests; shop is the project's own
            "halstead_volume": 9 * log2(9),
            "cyclomatic_complexity": 8,
            "test_lines_of_code": 10,
            "maintainability": 84.7375,
        },
    ),
}


@pytest.mark.parametrize(
    ("metrics", "name", "expected"),
    [
        pytest.param(metrics, name, expected, id=f"{name} of {program}")
        for program, (metrics, expected_values) in COUNTED_BY_HAND.items()
        for name, expected in expected_values.items()
    ],
)
def test_a_metric_has_the_value_counted_by_hand(metrics, name, expected):
    assert getattr(metrics, name) == (expected if expected is None else pytest.approx(expected, abs=1e-3))


def body(*lines: str, arguments: str = "") -> str:
    return f"def test_x({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        "assert x",
        "self.assertEqual(a, b)",
        "self.assertRaises(A, f)",
        "self.fail('no')",
        "self.failUnless(a)",
        "pytest.fail('no')",
        "pytest.raises(A, f)",
        "with pytest.warns(A): f()",
        "with raises(A): f()",
        "mock.assert_called_once_with(1)",
        "np.testing.assert_allclose(a, b)",
        "assert_frame_equal(a, b)",
        "assert a == pytest.approx(b)",
    ],
)
def test_every_style_of_assertion_counts_once(line):
    assert metrics_of_test(body(line)).assertions == 1


@pytest.mark.parametrize("line", ["x.fail()", "raise AssertionError('no')", "approx(1)", "job.raises(1)", "f()"])
def test_calls_that_only_look_like_an_assertion_do_not_count(line):
    assert metrics_of_test(body(line)).assertions == 0


@pytest.mark.parametrize(
    ("line", "has_message"),
    [
        ("assert x, 'why'", True),
        ("assert x", False),
        ("self.assertEqual(a, b, 'why')", True),
        ("self.assertEqual(a, b, msg='why')", True),
        ("self.assertEqual(a, b)", False),
        ("self.assertTrue(a, 'why')", True),
        ("self.assertTrue(a)", False),
        ("self.assertAlmostEqual(a, b, 3)", False),
        ("self.assertAlmostEqual(a, b, 3, 'why')", True),
        ("np.testing.assert_equal(a, b, err_msg='why')", True),
        ("mock.assert_called_with(1, 2, 3)", False),
        ("self.assertRaises(A, f)", True),
        ("self.fail()", False),
    ],
)
def test_an_assertion_with_a_message_is_no_roulette(line, has_message):
    assert metrics_of_test(body(line, line)).assertion_roulette == (0 if has_message else 2)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("time.sleep(1)", "asyncio.sleep(x)"), 2),
        (("sleep(0)",), 0),
        (("t = Thread()", "t.start()", "t.join()"), 0),
        (("Thread(target=f).start()", "Process(target=f).start()"), 2),
        (("Thread(target=f)",), 0),
        (("task = asyncio.create_task(f())", "await task"), 0),
        (("asyncio.ensure_future(f())",), 1),
        (("subprocess.Popen(['x'])",), 1),
        (("subprocess.Popen(['x']).wait()",), 0),
        (("with Popen(['x']):", "    pass"), 0),
    ],
)
def test_work_that_is_never_waited_for_is_fire_and_forget(lines, count):
    source = "async " + body(*lines)

    assert metrics_of_test(source).fire_and_forget == count


@pytest.mark.parametrize(
    ("lines", "guests", "optimism"),
    [
        (("open('a')",), 1, 1),
        (("open('a', 'w')",), 1, 0),
        (("open('a', mode='a')",), 1, 0),
        (("Path('a').read_text()",), 1, 1),
        (("Path('a').write_text('b')",), 1, 0),
        (("if Path('a').exists():", "    Path('a').read_text()"), 1, 0),
        (("open('a')", "open('b')", "os.path.isfile('a')"), 2, 1),
        (("os.makedirs('a')",), 1, 0),
        (("sqlite3.connect('a.db')",), 1, 0),
        (("sqlite3.connect(':memory:')",), 0, 0),
        (("requests.post('http://x')",), 1, 0),
        (("session.get('http://x')",), 0, 0),
        (("open(tmp_path / 'a')",), 0, 0),
        (("p = tmp_path / 'a'", "q = p / 'b'", "q.read_text()"), 0, 0),
        (("with tempfile.TemporaryDirectory() as folder:", "    open(folder + '/a')"), 0, 0),
        (("open(self.tmpdir)",), 0, 0),
        (("open(template)",), 1, 1),
        (("Image.open(x)",), 0, 0),
    ],
)
def test_resources_that_are_not_temporary_are_mystery_guests(lines, guests, optimism):
    metrics = metrics_of_test(body(*lines, arguments="tmp_path"))

    assert (metrics.mystery_guest, metrics.resource_optimism) == (guests, optimism)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("assert str(a) == 'b'", 1),
        ("assert 'b' in repr(a)", 1),
        ("self.assertEqual(a.__str__(), 'b')", 1),
        ("assert a == b, str(a)", 0),
        ("assert str(1) == b", 0),
        ("assert '{}'.format(a)", 0),
        ("x = str(a)", 0),
    ],
)
def test_comparing_the_text_of_an_object_is_sensitive_equality(line, count):
    assert metrics_of_test(body(line)).sensitive_equality == count


def test_the_depth_of_the_example_in_the_paper_is_five():
    lines = (
        "for a, b in cases:",
        "    with self.subTest(a):",
        "        f(b)",
        "    for c in d:",
        "        with self.subTest(c):",
        "            with self.assertRaises(SyntaxError):",
        "                f(c)",
    )

    assert metrics_of_test(body("x = 1", *lines)).ast_depth == 5


@pytest.mark.parametrize(
    ("lines", "depth"),
    [
        (("try:", "    a()", "except A:", "    if b:", "        c()"), 3),
        (("match a:", "    case 1:", "        b()"), 2),
        (("def inner():", "    return 1"), 2),
    ],
)
def test_handlers_cases_and_inner_functions_are_as_deep_as_other_blocks(lines, depth):
    assert metrics_of_test(body(*lines)).ast_depth == depth


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import numpy as np\n" + body("np.a"), 1),
        ("from numpy.linalg import norm\nimport numpy\n" + body("norm(numpy.a)"), 1),
        ("import numpy, pandas\n" + body("numpy.a"), 1),
        ("import numpy\n" + body("numpy.a", arguments="numpy"), 0),
        ("import hypothesis\n@hypothesis.given()\n" + body("pass"), 1),
        ("try:\n    import yaml\nexcept ImportError:\n    yaml = None\n" + body("yaml.load(a)"), 1),
        ("import os, pytest, shop\nfrom . import helper\n" + body("os.a", "shop.b", "helper.c"), 0),
        (body("import attr", "from six.moves import urllib"), 2),
    ],
)
def test_external_modules_are_third_party_packages_that_the_test_uses(source, count):
    assert metrics_of_test(source).external_modules == count


def test_a_test_on_one_line_has_lines_too():
    metrics = metrics_of_test("def test_x(\n    a): assert a == 1\n")

    assert (metrics.tloc, metrics.test_lines_of_code, metrics.assertion_density) == (2, 2, 0.5)
