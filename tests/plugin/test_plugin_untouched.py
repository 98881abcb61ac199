"""All other tests run in the same state as without flakehound."""

from __future__ import annotations

import pytest
from plugin_projects import Suite, has

from flakehound_inside.plugin import _GREEN_RUN_MODULES

# Writes one line per event; what failing tests do more often in reruns is told apart by their names.
TRACE = """
    import pytest

    def note(*words):
        with open("calls.txt", "a") as file:
            print(*words, file=file)

    @pytest.fixture(scope="session")
    def whole():
        note("session"); yield object(); note("session down")

    @pytest.fixture(scope="module", params=["red", "blue"])
    def colour(request, whole):
        note("colour", request.param); yield request.param; note("colour down", request.param)

    @pytest.fixture
    def thing(request, whole):
        note("thing for", request.node.name); yield; note("thing down for", request.node.name)
"""
SUITE = {
    "conftest.py": TRACE,
    "test_a.py": """
        import random
        from conftest import note

        def test_green_1(thing): note("green 1", random.random())
        def test_bad_1(thing): note("bad 1", random.random()); assert 0
        def test_green_2(thing): note("green 2", random.random())
        def test_bad_2(missing): pass
        def test_green_3(colour, thing): note("green 3", colour, random.random())
        def test_bad_3(colour): note("bad 3"); assert colour == "green"
        def test_green_4(colour): note("green 4", colour, random.gauss(0, 1))
    """,
    "test_b.py": """
        import random, unittest
        from conftest import note

        class TestCase(unittest.TestCase):
            @classmethod
            def setUpClass(cls): note("setUpClass")
            @classmethod
            def tearDownClass(cls): note("tearDownClass")
            def setUp(self): note("setUp", self.id())
            def tearDown(self): note("tearDown", self.id())
            def test_1(self): note("case 1", random.random())
            def test_2_bad(self): self.fail("always")
            def test_3(self): note("case 3", random.random())

        def test_green_5(whole): note("green 5", random.random())
        def test_bad_4(whole): random.seed(5); assert 0
        def test_green_6(whole): note("green 6", random.random())
    """,
}
SEEDED = {"conftest.py": TRACE + "\n    def pytest_collection_finish():\n        import random; random.seed(3)\n"}


def without_own_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if "bad" not in line]


@pytest.mark.parametrize("arguments", [(), ("-x",), ("-k", "green or bad_1"), ("--maxfail=3",)])
def test_other_tests_see_the_same_calls_values_and_random_numbers(suite, arguments):
    suite.write({**SUITE, **SEEDED})

    plain, expected = suite.plain(*arguments), without_own_lines(suite.lines())
    ran, lines = suite.run(*arguments, "--flakehound-postponed=0"), without_own_lines(suite.lines())

    assert (ran.code, ran.outcomes) == (plain.code, plain.outcomes)
    greens = [line for line in expected if line.startswith(("green", "case"))]
    assert greens
    assert [line for line in lines if line.startswith(("green", "case"))] == greens
    if not arguments:  # elsewhere a failing test is the last of its module, which is set up again for its reruns
        assert lines == expected


@pytest.mark.parametrize("arguments", [(), ("-n2",), ("-n0",)])
def test_outcomes_are_those_of_a_plain_run(suite, arguments):
    if arguments and not has("xdist"):
        pytest.skip("needs pytest-xdist")
    suite.write(SUITE)

    plain = suite.plain("-rA", "--tb=no", *arguments)
    ran = suite.run("-rA", "--tb=no", *arguments)

    assert outcome_lines(ran.out) == outcome_lines(plain.out)
    assert ran.code == plain.code


def outcome_lines(out: str) -> list[str]:
    words = ("PASSED", "FAILED", "ERROR")
    return sorted(line for line in out.partition("short test summary")[2].splitlines() if line.startswith(words))


def test_a_test_that_leaves_numpy_behind_leaves_it_as_in_a_plain_run(suite):
    if not has("numpy"):
        pytest.skip("needs numpy")
    suite.write(
        {
            "test_it.py": """
                import numpy
                calls = []

                def test_seeds(): numpy.random.seed(11)
                def test_draws_one(): numpy.random.standard_normal()
                def test_fails():
                    calls.append(numpy.random.random())
                    assert 0
                def test_after():
                    with open("calls.txt", "w") as file:
                        print(numpy.random.standard_normal(), numpy.random.random(), file=file)
            """
        }
    )

    suite.plain()
    expected = suite.lines()
    ran = suite.run()

    assert suite.lines() == expected
    name, numbers, *_rest = ran.failure("test_fails")["random_state"]["numpy"]
    assert (name, len(numbers)) == ("MT19937", 624)


def test_wrappers_of_other_plugins_are_entered_and_left_in_pairs(suite):
    suite.write(
        {
            "conftest.py": """
                import pytest

                class Late:
                    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
                    def pytest_runtest_protocol(self, item):
                        self.note("in " + item.name)
                        yield
                        self.note("out " + item.name)

                    def note(self, words):
                        with open("calls.txt", "a") as file: print(words, file=file)

                def pytest_collection_finish(session):
                    session.config.pluginmanager.register(Late())
            """,
            "test_it.py": "def test_it(): assert 0\n",
        }
    )

    suite.run("--flakehound-postponed=0")

    assert suite.lines() == ["in test_it", "out test_it"] * 2


def test_a_plain_run_imports_and_registers_nothing_of_ours(suite: Suite):
    suite.write(
        {
            "test_it.py": """
                import sys

                def test_it(pytestconfig):
                    names = [name for name, _plugin in pytestconfig.pluginmanager.list_name_plugin()]
                    assert [name for name in names if "flakehound-" in name] == []
                    assert [name for name in sys.modules if name.startswith("flakehound_inside.triage")] == []
            """
        }
    )

    assert suite.plain().code == 0


def test_a_green_triage_imports_the_listed_modules_in_their_order_past_pytests_rewriting_and_no_other(
    suite: Suite,
):
    suite.write(
        {
            "conftest.py": """
                import sys

                def pytest_unconfigure():
                    with open("calls.txt", "w") as file:
                        for name, module in list(sys.modules.items()):
                            if name.startswith("flakehound"):
                                print(name, type(module.__spec__.loader).__name__, file=file)
            """,
            "test_it.py": "def test_it(): pass",
        }
    )

    assert suite.run().code == 0

    seen = dict(line.split() for line in suite.lines())
    ours = ["flakehound_inside." + name for name in _GREEN_RUN_MODULES]
    assert list(seen) == ["flakehound_inside", "flakehound_inside.plugin", *ours]
    assert "AssertionRewritingHook" not in {seen[name] for name in ours}
