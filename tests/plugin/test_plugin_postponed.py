"""Reruns after the last test, in the same process."""

from __future__ import annotations

import pytest
from plugin_projects import BROKEN, FLAKY, STEADY

# Fails while `door` is shut, which the last test opens.
BURST = """
    import state

    def test_burst():
        assert state.open
"""
OPENER = """
    import state

    def test_opens():
        state.open = True
"""


def test_a_failure_that_passes_once_the_others_have_run_is_found_at_the_end(suite):
    suite.write({"state.py": "open = False\n", "test_a.py": BURST, "test_b.py": OPENER})

    ran = suite.run("--flakehound-immediate=2")

    assert ran.reruns("test_burst") == ["immediate F", "immediate F", "postponed P", "postponed P same state"]


def test_a_test_seen_passing_is_not_rerun_again(suite):
    ran = suite.write({"test_it.py": FLAKY}).run("--flakehound-postponed=5")

    assert ran.reruns("test_flaky") == ["immediate P", "immediate P same state"]


def test_a_failed_test_gets_as_many_postponed_reruns_as_asked_for(suite):
    ran = suite.write({"test_it.py": BROKEN}).run("--flakehound-postponed=3")

    assert ran.reruns("test_broken") == ["immediate F", *["postponed F"] * 3]


@pytest.mark.parametrize("option", ["-x", "--maxfail=1", "--stepwise"])
def test_postponed_reruns_also_happen_if_the_run_stops_at_the_first_failure(suite, option):
    suite.write({"test_a.py": FLAKY, "test_b.py": STEADY})

    ran = suite.run(option, "--flakehound-immediate=0")

    assert ran.reruns("test_flaky") == ["postponed P", "postponed P same state"]
    assert ran.facts["sessions"][0]["outcomes"] == "F"
    assert "1 failed" in ran.outcomes
    assert ran.code == suite.plain(option).code


def test_every_fixture_is_torn_down_as_often_as_it_is_set_up(suite):
    suite.write(
        {
            "conftest.py": """
                import atexit, collections, pytest
                up, down = collections.Counter(), collections.Counter()

                def fixture(scope):
                    @pytest.fixture(scope=scope, autouse=True, name="of_" + scope)
                    def thing():
                        up[scope] += 1
                        yield
                        down[scope] += 1
                    return thing

                of_session, of_package, of_module, of_class, of_function = map(
                    fixture, ("session", "package", "module", "class", "function")
                )

                @atexit.register
                def tell():
                    with open("calls.txt", "w") as file:
                        print(up == down, up["function"], file=file)
            """,
            "test_a.py": BROKEN + STEADY,
            "test_b.py": """
                class TestOne:
                    def test_one(self): assert 0
                    def test_two(self): assert 0
                class TestTwo:
                    def test_three(self): assert 0
            """,
        }
    )

    ran = suite.run("--flakehound-immediate=2", "--flakehound-postponed=2")

    assert ran.outcomes == "4 failed, 1 passed"
    assert suite.lines() == ["True 21"]


def test_neighbours_share_what_their_module_sets_up(suite):
    suite.write(
        {
            "test_a.py": """
                import pytest
                calls = []

                @pytest.fixture(scope="module", autouse=True)
                def room():
                    calls.append("up")
                    with open("calls.txt", "a") as file: file.write("up\\n")

                def test_one(): assert 0
                def test_two(): assert 0
            """
        }
    )

    suite.run("--flakehound-immediate=0", "--flakehound-postponed=2")

    assert suite.lines() == ["up", "up"]


def test_an_interrupt_ends_the_reruns_and_keeps_what_is_known(suite):
    suite.write(
        {
            "test_a.py": FLAKY,
            "test_b.py": """
                calls = []

                def test_waits():
                    calls.append(1)
                    if len(calls) > 2: raise KeyboardInterrupt
                    assert 0
            """,
        }
    )

    ran = suite.run()

    assert (ran.code, ran.facts) == (1, None)
    assert ran.outcomes == "2 failed"
    assert "interrupted; known so far:" in ran.out
    assert "test_a.py::test_flaky: failed, then passed in the immediate rerun" in ran.out
    assert "test_b.py::test_waits: failed, then failed in the immediate rerun" in ran.out


def test_an_interrupt_of_an_immediate_rerun_is_one_of_the_run(suite):
    suite.write(
        {
            "test_a.py": """
                calls = []

                def test_waits():
                    calls.append(1)
                    if len(calls) > 1: raise KeyboardInterrupt
                    assert 0
            """,
            "test_b.py": STEADY,
        }
    )

    ran = suite.run()

    assert (ran.code, ran.facts) == (2, None)
    assert ran.outcomes == "1 failed"


def failing(count: int) -> str:
    return f"""
        import pytest

        @pytest.mark.parametrize("number", range({count}))
        def test_many(number):
            assert 0
    """


def test_up_to_ten_failures_are_always_rerun(suite):
    ran = suite.write({"test_it.py": failing(10)}).run("--flakehound-threshold=0")

    assert ran.facts["not_rerun"] is None
    assert {len(failure["reruns"]) for failure in ran.facts["failures"]} == {2}


def test_beyond_ten_failures_and_the_share_nothing_more_is_rerun_and_a_note_says_so(suite):
    ran = suite.write({"test_it.py": failing(12)}).run()

    words = "more than 10 of 12 tests failed (the limit is 1% of the tests, at least 10): nothing more was rerun"
    assert ran.facts["not_rerun"] == words
    assert words in ran.out
    assert [len(failure["reruns"]) for failure in ran.facts["failures"]] == [1] * 10 + [0] * 2


def test_a_larger_share_allows_more(suite):
    ran = suite.write({"test_it.py": failing(12)}).run("--flakehound-threshold=100%", "--flakehound-postponed=0")

    assert ran.facts["not_rerun"] is None
    assert {len(failure["reruns"]) for failure in ran.facts["failures"]} == {1}
