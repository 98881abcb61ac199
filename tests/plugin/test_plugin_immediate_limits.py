"""Immediate reruns of failed fixtures, exits, doctests, debuggers and time limits."""

from __future__ import annotations

import pytest
from plugin_projects import BROKEN, FLAKY, has, pytest_version


def test_a_fixture_of_a_module_that_failed_is_really_set_up_again(suite):
    suite.write(
        {
            "test_it.py": """
                import pytest
                calls = []

                @pytest.fixture(scope="module")
                def room():
                    calls.append(1)
                    assert len(calls) > 1, "the door is shut"
                    yield "open"
                    calls.append("down")

                def test_first(room): assert room == "open"
                def test_second(room): assert room == "open"
                def test_third(): assert calls.count("down") == calls.count(1) - 1
            """
        }
    )

    ran = suite.run("--flakehound-postponed=0")

    # In the failing run of the first test the fixture may have drawn numbers; that state cannot be repeated.
    assert ran.reruns("test_first") == ["immediate P"]
    assert ran.reruns("test_second") == ["immediate P", "immediate P same state"]
    # pytest raises the one exception for both tests, whatever became of the reruns between them.
    assert ran.outcomes == "1 passed, 2 errors"


@pytest.mark.parametrize("scope", ["class", "session"])
def test_a_failed_fixture_of_every_scope_is_set_up_again(suite, scope):
    suite.write(
        {
            "test_it.py": f"""
                import pytest
                calls = []

                @pytest.fixture(scope="{scope}", autouse=True)
                def room():
                    calls.append(1)
                    assert len(calls) > 1, "the door is shut"

                class TestIt:
                    def test_first(self): pass
                    def test_second(self): pass
            """
        }
    )

    ran = suite.run("--flakehound-postponed=0")

    assert (ran.reruns("test_first")[0], ran.reruns("test_second")[0]) == ("immediate P", "immediate P")
    assert ran.outcomes == "2 errors"


@pytest.mark.parametrize("body", ["pass", "assert len(calls) > 1"])
@pytest.mark.parametrize("scope", ["function", "class", "module", "session"])
def test_a_fixture_that_can_never_be_torn_down_is_not_overlooked_in_reruns(suite, scope, body):
    suite.write(
        {
            "test_it.py": f"""
                import pytest
                calls = []

                @pytest.fixture(scope="{scope}", autouse=True)
                def room():
                    yield
                    raise OSError("the door is stuck")

                class TestIt:
                    def test_it(self):
                        calls.append(1)
                        {body}
            """
        }
    )

    ran = suite.run()

    assert ran.reruns("test_it") == ["immediate E", "postponed E"]


def test_a_fixture_of_a_module_that_is_torn_down_the_second_time_is_flaky(suite):
    suite.write(
        {
            "test_it.py": """
                import pytest
                calls = []

                @pytest.fixture(scope="module", autouse=True)
                def room():
                    yield
                    calls.append(1)
                    assert len(calls) > 1

                def test_it(): pass
            """,
            "test_later.py": "def test_later(): pass\n",
        }
    )

    ran = suite.run()

    assert ran.reruns("test_it") == ["immediate P"]
    assert ran.outcomes == "2 passed, 1 error"


def test_an_exit_in_a_rerun_ends_the_rerun_only(suite):
    suite.write(
        {
            "test_it.py": """
                import pytest
                calls = []

                @pytest.fixture
                def thing():
                    yield
                    calls.append("down")

                def test_it(thing):
                    calls.append("it")
                    if calls.count("it") > 1: pytest.exit("enough")
                    assert 0

                def test_after(): assert calls == ["it", "down", "it", "down"]
            """
        }
    )

    ran = suite.run("--flakehound-postponed=0")

    assert ran.outcomes == "1 failed, 1 passed"
    assert ran.failure("test_it")["reruns"][0]["message"] == "pytest.exit: enough"


def test_a_rerun_that_skips_has_not_passed(suite):
    suite.write(
        {
            "test_it.py": """
                import pytest
                calls = []

                def test_it():
                    calls.append(1)
                    if len(calls) > 1: pytest.skip("not now")
                    assert 0
            """
        }
    )

    assert suite.run().reruns("test_it") == ["immediate S", "postponed S"]


def test_an_assertion_is_explained_in_a_rerun_too(suite):
    ran = suite.write({"test_it.py": BROKEN}).run()

    assert "assert 1 == 2" in ran.failure("test_broken")["reruns"][0]["message"]


def test_a_doctest_is_rerun_with_the_names_it_had(suite):
    suite.write(
        {
            "shop.py": '''
                """
                >>> next(prices) > 1
                True
                """
                prices = iter([1, 2, 3, 4])
            '''
        }
    )

    ran = suite.run("--doctest-modules", "shop.py")

    assert ran.reruns("shop.py::shop") == ["immediate P", "immediate P same state"]


def test_an_item_that_cannot_be_run_twice_is_named(suite):
    suite.write(
        {
            "test_it.odd": "x",
            "conftest.py": """
                import pytest

                def pytest_collect_file(parent, file_path):
                    if file_path.suffix == ".odd":
                        return OddFile.from_parent(parent, path=file_path)

                class OddFile(pytest.File):
                    def collect(self): yield OddItem.from_parent(self, name="odd")

                class OddItem(pytest.Item):
                    def runtest(self): assert 0
            """,
        }
    )

    ran = suite.run()

    assert ran.reruns("odd") == []
    assert "test_it.odd::odd was not rerun in its own process: pytest cannot run a OddItem twice" in ran.out


def test_under_a_debugger_nothing_is_rerun(suite):
    suite.write(
        {
            "test_it.py": BROKEN,
            "conftest.py": """
                import pdb

                class Quiet(pdb.Pdb):
                    quitting = False
                    def interaction(self, *arguments, **named): pass
            """,
        }
    )

    ran = suite.run("--pdb", "--pdbcls=conftest:Quiet")

    assert ran.reruns("test_broken") == []
    assert "a debugger is in use" in ran.out


@pytest.mark.skipif(not has("pytest_timeout"), reason="needs pytest-timeout")
def test_a_rerun_that_hangs_is_stopped_by_pytest_timeout(suite):
    suite.write(
        {
            "test_it.py": """
                import time
                calls = []

                def test_it():
                    calls.append(1)
                    if len(calls) == 2: time.sleep(60)
                    assert len(calls) > 2
            """
        }
    )

    ran = suite.run("--timeout=4", "--timeout-method=signal")

    assert ran.reruns("test_it") == ["immediate F", "postponed P", "postponed P same state"]
    assert "Timeout" in ran.failure("test_it")["reruns"][0]["message"]


@pytest.mark.skipif(not has("pytest_timeout"), reason="needs pytest-timeout")
def test_where_a_timeout_would_end_the_process_nothing_is_rerun_in_it(suite):
    ran = suite.write({"test_it.py": FLAKY}).run("--timeout=60", "--timeout-method=thread")

    assert ran.reruns("test_flaky") == []
    assert "with its method thread, would end the whole run" in ran.out


@pytest.mark.skipif(pytest_version() < (9, 0) and not has("pytest_subtests"), reason="needs subtests")
def test_a_failed_subtest_makes_its_test_a_failure(suite):
    suite.write(
        {
            "test_it.py": """
                calls = []

                def test_it(subtests):
                    calls.append(1)
                    for number in range(3):
                        with subtests.test(number=number):
                            assert number != 1 or len(calls) > 1

                def test_never(subtests):
                    with subtests.test("part"):
                        assert 0
            """
        }
    )

    loaded = () if pytest_version() >= (9, 0) else ("-p", "subtests")
    plain, ran = suite.plain(*loaded), suite.run(*loaded)

    assert ran.reruns("test_it") == ["immediate P", "immediate P same state"]
    assert ran.reruns("test_never") == ["immediate F", "postponed F"]
    assert ran.failure("test_it")["message"].startswith("assert (1 != 1")
    assert (ran.code, ran.outcomes) == (plain.code, plain.outcomes)
