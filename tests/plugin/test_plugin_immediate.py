"""Reruns right after the failure are complete and hidden from other plugins."""

from __future__ import annotations

import pytest
from plugin_projects import BROKEN, FLAKY, has, pytest_version

LOG = """
    def note(words):
        with open("calls.txt", "a") as file:
            file.write(words + "\\n")
"""


def test_a_flaky_test_passes_at_once(suite):
    ran = suite.write({"test_it.py": FLAKY}).run()

    assert ran.reruns("test_flaky") == ["immediate P", "immediate P same state"]
    assert "FLAKY  test_it.py::test_flaky  passed in the immediate rerun" in ran.out
    assert (ran.code, ran.outcomes) == (1, "1 failed")


def test_a_test_is_rerun_as_often_as_asked_until_it_passes(suite):
    suite.write(
        {
            "test_it.py": """
                calls = []

                def test_third_time():
                    calls.append(1)
                    assert len(calls) > 3
            """
        }
    )

    ran = suite.run("--flakehound-immediate=5")

    assert ran.reruns("test_third_time")[:4] == [
        *("immediate F", "immediate F", "immediate P"),
        "immediate P same state",
    ]


def test_without_immediate_reruns_the_postponed_ones_remain(suite):
    ran = suite.write({"test_it.py": FLAKY}).run("--flakehound-immediate=0")

    assert ran.reruns("test_flaky") == ["postponed P", "postponed P same state"]


def test_without_any_reruns_the_controller_is_still_asked(suite):
    ran = suite.write({"test_it.py": FLAKY}).run("--flakehound-immediate=0", "--flakehound-postponed=0")

    assert ran.reruns("test_flaky") == []


def test_a_rerun_sets_up_and_tears_down_what_belongs_to_the_test_and_no_more(suite):
    suite.write(
        {
            "notes.py": LOG,
            "test_it.py": """
                import pytest
                from notes import note

                @pytest.fixture(scope="session")
                def whole():
                    note("session up"); yield; note("session down")

                @pytest.fixture(scope="module")
                def room(whole):
                    note("module up"); yield; note("module down")

                @pytest.fixture(scope="class")
                def shelf(room):
                    note("class up"); yield; note("class down")

                @pytest.fixture
                def thing(shelf):
                    note("function up"); yield; note("function down")

                class TestIt:
                    def setup_method(self): note("method up")
                    def teardown_method(self): note("method down")
                    def test_first(self, thing):
                        note("first"); assert 0
                    def test_second(self, thing):
                        note("second")
            """,
        }
    )

    suite.run("--flakehound-postponed=0")

    once = ["method up", "function up", "first", "function down", "method down"]
    second = [step.replace("first", "second") for step in once]
    calls = [
        line for line in suite.lines() if "session" not in line and "module" not in line and "class" not in line
    ]
    assert calls == [*once, *once, *second]


def test_wider_fixtures_stay_up_while_the_next_test_needs_them(suite):
    suite.write(
        {
            "notes.py": LOG,
            "test_it.py": """
                import pytest
                from notes import note

                @pytest.fixture(scope="session", autouse=True)
                def whole():
                    note("session up"); yield; note("session down")

                @pytest.fixture(scope="module", autouse=True)
                def room():
                    note("module up"); yield; note("module down")

                def test_fails(): assert 0
                def test_passes(): note("passes")
            """,
        }
    )

    suite.run("--flakehound-immediate=3", "--flakehound-postponed=0")

    assert suite.lines() == ["session up", "module up", "passes", "module down", "session down"]


def test_a_method_gets_a_new_instance_in_each_rerun(suite):
    suite.write(
        {
            "test_it.py": """
                class TestIt:
                    seen = []

                    def test_it(self):
                        assert not hasattr(self, "used")
                        self.used = True
                        TestIt.seen.append(self)
                        assert len(TestIt.seen) > 1
            """
        }
    )

    assert suite.run().reruns("test_it") == ["immediate P", "immediate P same state"]


def test_fixtures_of_pytest_work_in_reruns(suite):
    suite.write(
        {
            "test_it.py": """
                import logging, os, sys, warnings
                calls = []

                def test_it(tmp_path, capsys, caplog, recwarn, monkeypatch, request, record_property):
                    calls.append(tmp_path)
                    print("to capsys"); logging.warning("to caplog"); warnings.warn("to recwarn")
                    monkeypatch.setenv("ONLY_HERE", "1")
                    record_property("attempt", len(calls))
                    assert capsys.readouterr().out == "to capsys\\n"
                    assert [r.message for r in caplog.records] == ["to caplog"]
                    assert len(recwarn) == 1
                    assert list(tmp_path.iterdir()) == []
                    (tmp_path / "file").write_text("x")
                    assert request.node.name == "test_it"
                    assert len(set(calls)) == len(calls)
                    assert len(calls) > 1, "the first time"

                def test_after(): assert "ONLY_HERE" not in os.environ
            """
        }
    )

    ran = suite.run()

    assert ran.reruns("test_it") == ["immediate P", "immediate P same state"]
    assert ran.outcomes == "1 failed, 1 passed"


def test_output_logs_and_warnings_of_a_rerun_are_not_shown(suite):
    suite.write(
        {
            "test_it.py": """
                import logging, os, sys, warnings
                calls = []

                def test_it():
                    calls.append(1)
                    if len(calls) > 1:
                        loud = "rerun".upper()
                        print(loud); print(loud, file=sys.stderr); os.write(1, loud.encode())
                        logging.getLogger("x").warning(loud); warnings.warn(loud)
                    assert 0
            """
        }
    )

    ran = suite.run("-rA", "--setup-show", "-o", "log_cli=true", "--log-file=log.txt")

    assert "RERUN" not in ran.out + ran.err
    assert "RERUN" not in (suite.folder / "log.txt").read_text()
    assert ran.out.count("test_it.py::test_it (fixtures used: request)") <= 1


def test_reports_of_other_plugins_never_see_a_rerun(suite):
    suite.write(
        {
            "test_it.py": FLAKY + BROKEN,
            "notes.py": LOG,
            "conftest.py": """
                from notes import note
                def pytest_runtest_logstart(nodeid): note("start " + nodeid.partition("::")[2])
                def pytest_runtest_logfinish(nodeid): note("finish " + nodeid.partition("::")[2])
                def pytest_runtest_logreport(report): note(report.when + " " + report.nodeid.partition("::")[2])
                def pytest_exception_interact(node): note("interact " + node.name)
            """,
        }
    )

    plain, told = suite.plain(), suite.lines()
    ran = suite.run()

    assert suite.lines() == told
    assert (ran.code, ran.outcomes) == (plain.code, plain.outcomes)


def test_maxfail_counts_no_rerun(suite):
    suite.write({"test_a.py": BROKEN, "test_b.py": BROKEN, "test_c.py": BROKEN})

    ran = suite.run("--maxfail=2", "--flakehound-immediate=3")

    assert ran.outcomes == "2 failed"
    assert ran.facts["sessions"][0]["outcomes"] == "FF"


def test_the_cache_of_failed_tests_is_that_of_a_plain_run(suite):
    suite.write({"test_it.py": FLAKY + BROKEN})

    suite.run()
    again = suite.run("--lf")

    assert "2 failed" in again.outcomes
    assert sorted(test.partition("::")[2] for test in again.facts["sessions"][0]["order"]) == [
        "test_broken",
        "test_flaky",
    ]


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
