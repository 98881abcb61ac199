"""Reruns right after the failure are complete and hidden from other plugins."""

from __future__ import annotations

from plugin_projects import BROKEN, FLAKY

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
