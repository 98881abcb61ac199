"""Compatibility with unittest, async tests, and plugins that rerun tests themselves."""

from __future__ import annotations

import pytest
from plugin_projects import has, pytest_version

ONCE = """
    calls = []

    def test_it():
        calls.append(1)
        assert len(calls) > 1
"""


def test_a_case_of_unittest_is_rerun_with_setup_and_teardown(suite):
    suite.write(
        {
            "test_it.py": """
                import unittest
                calls = []

                class Case(unittest.TestCase):
                    @classmethod
                    def setUpClass(cls): calls.append("class up")
                    @classmethod
                    def tearDownClass(cls): calls.append("class down")
                    def setUp(self):
                        calls.append("up")
                        self.addCleanup(calls.append, "clean")
                    def tearDown(self): calls.append("down")
                    def test_1(self):
                        calls.append("1")
                        self.assertGreater(calls.count("1"), 1)
                    def test_2(self):
                        once = ["up", "1", "down", "clean"]
                        self.assertEqual(calls, ["class up", *once, *once, "up"])
            """
        }
    )

    ran = suite.run("--flakehound-postponed=0")

    assert ran.reruns("test_1") == ["immediate P"]
    assert ran.outcomes == "1 failed, 1 passed"


def test_a_case_that_fails_twice_in_one_run_is_rerun_without_the_rest(suite):
    suite.write(
        {
            "test_it.py": """
                import unittest
                calls = []

                class Case(unittest.TestCase):
                    def tearDown(self): assert len(calls) > 1
                    def test_it(self):
                        calls.append(1)
                        assert len(calls) > 1
            """
        }
    )

    assert suite.run().reruns("test_it") == ["immediate P", "immediate P same state"]


def test_a_class_that_could_not_be_set_up_is_set_up_again(suite):
    suite.write(
        {
            "test_it.py": """
                import unittest
                calls = []

                class Case(unittest.TestCase):
                    @classmethod
                    def setUpClass(cls):
                        calls.append(1)
                        assert len(calls) > 1
                    def test_it(self): pass
            """
        }
    )

    assert suite.run().reruns("test_it") == ["immediate P"]


@pytest.mark.skipif(pytest_version() < (9, 0), reason="pytest 9 is the first to know them without a plugin")
def test_a_subtest_of_unittest_makes_its_test_a_failure(suite):
    suite.write(
        {
            "test_it.py": """
                import unittest
                calls = []

                class Case(unittest.TestCase):
                    def test_it(self):
                        calls.append(1)
                        for number in range(3):
                            with self.subTest(number=number):
                                self.assertTrue(number != 1 or len(calls) > 1)
            """
        }
    )

    plain, ran = suite.plain(), suite.run()

    assert ran.reruns("test_it") == ["immediate P", "immediate P same state"]
    assert (ran.code, ran.outcomes) == (plain.code, plain.outcomes)


def test_a_parametrised_test_is_rerun_with_its_own_value(suite):
    suite.write(
        {
            "test_it.py": """
                import pytest
                calls = []

                @pytest.fixture(params=["a", "b"])
                def letter(request): return request.param

                @pytest.mark.parametrize("number", [1, 2])
                def test_it(number, letter):
                    calls.append((number, letter))
                    assert (number, letter) != (2, "a") or calls.count((2, "a")) > 1
            """
        }
    )

    ran = suite.run()

    [failure] = ran.facts["failures"]
    assert [rerun["outcome"] for rerun in failure["reruns"]] == ["P", "P"]
    assert "2" in failure["id"]


def test_a_test_that_waits_for_asyncio_itself_is_rerun(suite):
    suite.write(
        {
            "test_it.py": """
                import unittest
                calls = []

                class Case(unittest.IsolatedAsyncioTestCase):
                    async def test_it(self):
                        calls.append(1)
                        assert len(calls) > 1
            """
        }
    )

    assert suite.run().reruns("test_it") == ["immediate P", "immediate P same state"]


@pytest.mark.skipif(not has("pytest_asyncio"), reason="needs pytest-asyncio")
def test_tests_of_pytest_asyncio_are_rerun(suite):
    suite.write(
        {
            "pytest.ini": "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n",
            "test_it.py": """
                import asyncio, pytest
                calls = []

                @pytest.fixture
                async def thing():
                    await asyncio.sleep(0)
                    yield "thing"
                    await asyncio.sleep(0)

                async def test_function(thing):
                    await asyncio.sleep(0)
                    calls.append("function")
                    assert calls.count("function") > 1

                class TestIt:
                    async def test_method(self, thing):
                        await asyncio.sleep(0)
                        calls.append("method")
                        assert calls.count("method") > 2

                async def test_later(thing): await asyncio.sleep(0)
            """,
        }
    )

    ran = suite.run("-p", "asyncio")

    assert ran.reruns("test_function")[0] == "immediate P"
    assert ran.reruns("test_method")[:2] == ["immediate F", "postponed P"]
    assert ran.outcomes.startswith("2 failed, 1 passed")


@pytest.mark.skipif(not has("anyio.pytest_plugin"), reason="needs anyio")
def test_tests_of_anyio_are_rerun(suite):
    suite.write(
        {
            "test_it.py": """
                import anyio, pytest
                calls = []

                @pytest.fixture
                def anyio_backend(): return "asyncio"

                @pytest.mark.anyio
                async def test_it():
                    await anyio.sleep(0)
                    calls.append(1)
                    assert len(calls) > 1
            """
        }
    )

    assert suite.run("-p", "anyio").reruns("test_it") == ["immediate P", "immediate P same state"]


@pytest.mark.skipif(not has("pytest_rerunfailures"), reason="needs pytest-rerunfailures")
class TestRerunfailures:
    def test_rerunfailures_finishes_first_and_its_success_is_no_failure(self, suite):
        suite.write({"test_it.py": ONCE, "test_b.py": "def test_broken(): assert 0\n"})

        ran = suite.run("--reruns=1")

        assert [failure["id"] for failure in ran.facts["failures"]] == ["test_b.py::test_broken"]
        assert ran.facts["rerun_by_others"] == ["test_it.py::test_it"]
        assert ran.facts["sessions"][0]["outcomes"] == "FP"

    def test_a_test_that_the_flaky_plugin_gives_up_is_rerun_by_us_without_it(self, suite):
        suite.write(
            {
                "test_it.py": """
                    calls = []

                    def test_it():
                        calls.append(1)
                        assert len(calls) > 4, len(calls)
                """
            }
        )

        ran = suite.run("--reruns=2", "--flakehound-postponed=2")

        assert ran.reruns("test_it") == ["immediate F", "postponed P", "postponed P same state"]
        assert ran.outcomes == "1 failed, 2 rerun"

    @pytest.mark.skipif(not has("xdist"), reason="needs pytest-xdist")
    def test_it_works_under_xdist(self, suite):
        suite.write({"test_it.py": ONCE, "test_b.py": "def test_broken(): assert 0\n"})

        ran = suite.run("--reruns=1", "-n2")

        assert [failure["id"] for failure in ran.facts["failures"]] == ["test_b.py::test_broken"]
        assert ran.facts["rerun_by_others"] == ["test_it.py::test_it"]


@pytest.mark.skipif(not has("flaky"), reason="needs flaky")
class TestFlaky:
    def test_rerunfailures_finishes_first_and_its_success_is_no_failure(self, suite):
        suite.write({"test_it.py": ONCE, "test_b.py": "def test_broken(): assert 0\n"})

        ran = suite.run("--force-flaky")

        assert [failure["id"] for failure in ran.facts["failures"]] == ["test_b.py::test_broken"]
        assert ran.facts["rerun_by_others"] == ["test_it.py::test_it"]

    def test_a_test_that_always_passes_was_not_rerun_by_it(self, suite):
        suite.write({"test_a.py": "def test_a(): pass\n", "test_b.py": "def test_broken(): assert 0\n"})

        ran = suite.run("--force-flaky", "--min-passes=2", "--max-runs=3")

        assert ran.facts["rerun_by_others"] == []

    def test_a_test_that_the_flaky_plugin_gives_up_is_rerun_by_us_without_it(self, suite):
        suite.write(
            {
                "test_it.py": """
                    calls = []

                    def test_it():
                        calls.append(1)
                        assert len(calls) > 3, len(calls)
                """
            }
        )

        ran = suite.run("--force-flaky")

        assert ran.reruns("test_it") == ["immediate F", "postponed P", "postponed P same state"]


@pytest.mark.skipif(not has("pytest_cov"), reason="needs pytest-cov")
def test_a_failed_measure_of_coverage_is_not_tolerated(suite):
    suite.write({"shop.py": "def never():\n    return 1\n", "test_it.py": "    import shop\n" + ONCE})

    ran = suite.run("--cov=shop", "--cov-fail-under=100", "--flakehound-tolerate")

    assert ran.code == 1
    assert "not tolerated: pytest counts 2 failures, and 1 are of tests" in ran.out
