"""The same test twice in one process: everything of its own is fresh, everything shared stays."""

from __future__ import annotations

import pytest
from engine_samples import Sample

from flakehound.core.outcomes import Outcome

PASSED = Outcome.PASSED

REPEATED = {
    "test_repeated.py": """
        import unittest
        import pytest

        state = []
        def say(words):
            with open("log", "a") as log:
                log.write(words + "\\n")
        @pytest.fixture(scope="module")
        def lasting():
            say("+lasting")
            yield
            say("-lasting")
        @pytest.fixture
        def passing():
            say("+passing")
            yield
            say("-passing")
        def test_with_fixtures(lasting, passing): say("runs")

        class TestGroup:
            @classmethod
            def setup_class(cls): say("setup_class")
            def test_instance(self):
                assert not hasattr(self, "used")
                self.used = True
        class TestCase(unittest.TestCase):
            @classmethod
            def setUpClass(cls): say("setUpClass")
            def setUp(self): say("setUp")
            def test_case(self):
                assert not hasattr(self, "used")
                self.used = True
        def documented():
            '''
            >>> later = documented()
            >>> later
            1
            '''
            return 1
        def test_not_idempotent():
            state.append(1)
            assert len(state) == 1
        def test_marks_itself(request):
            assert "flagged" not in request.node.keywords
            assert request.node.get_closest_marker("flagged") is None
            request.node.add_marker(pytest.mark.flagged)
        def test_adds_properties(record_property, request):
            assert request.node.user_properties == []
            record_property("a", 1)
        def test_keeps_things(request):
            assert "seen" not in request.node.__dict__
            request.node.seen = True
        key = pytest.StashKey()
        def test_stashes(request):
            assert key not in request.node.stash
            request.node.stash[key] = 1
        def test_prints_and_fails():
            print("once only")
            assert False
        @pytest.mark.parametrize("n", [1, 2])
        def test_with_tmp(n, tmp_path, monkeypatch):
            monkeypatch.setenv("FOO", "1")
            assert not list(tmp_path.iterdir())
            (tmp_path / "file").write_text("")
        """,
    "conftest.py": """
        import pytest
        def pytest_configure(config):
            config.addinivalue_line("markers", "flagged: by a test")
        def pytest_collection_modifyitems(items):
            parent = next(item.parent for item in items if item.name == "test_with_fixtures")
            items.append(pytest.Function.from_parent(parent, name="test_added", callobj=lambda: None))
        def pytest_collect_file(file_path, parent):
            if file_path.suffix == ".yml":
                return Sheet.from_parent(parent, path=file_path)
        class Sheet(pytest.File):
            def collect(self):
                yield Row.from_parent(self, name="row")
        class Row(pytest.Item):
            def runtest(self): pass
        """,
    "sheet.yml": "",
}


@pytest.fixture(scope="module")
def repeated(open_shared_sample) -> Sample:
    return open_shared_sample(REPEATED, pytest_args=["--doctest-modules"])


def twice(sample: Sample, name: str):
    test = f"test_repeated.py::{name}"
    (sample.root / "log").unlink(missing_ok=True)
    return sample.fork(test, test)


def log_of(sample: Sample) -> list[str]:
    return (sample.root / "log").read_text().split()


def test_own_fixtures_are_set_up_twice_and_shared_ones_once(repeated):
    record = twice(repeated, "test_with_fixtures")

    assert record.outcomes == (PASSED, PASSED)
    assert log_of(repeated) == [
        "+lasting", "+passing", "runs", "-passing", "+passing", "runs", "-passing", "-lasting",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "TestGroup::test_instance",
        "TestCase::test_case",
        "test_repeated.documented",
        "test_marks_itself",
        "test_adds_properties",
        "test_keeps_things",
        "test_stashes",
        "test_with_tmp[1]",
        "test_added",
    ],
)
def test_a_second_execution_finds_nothing_of_the_first(repeated, name):
    record = twice(repeated, name)

    assert record.outcomes == (PASSED, PASSED), record.failures


def test_a_class_is_set_up_once_for_two_executions(repeated):
    twice(repeated, "TestGroup::test_instance")
    group = log_of(repeated)
    twice(repeated, "TestCase::test_case")
    case = log_of(repeated)

    assert group == ["setup_class"]
    assert case == ["setUpClass", "setUp", "setUp"]


def test_state_of_the_module_makes_the_second_execution_fail(repeated):
    record = twice(repeated, "test_not_idempotent")

    assert record.outcomes == (PASSED, Outcome.FAILED)
    assert "assert 2 == 1" in record.failures[1].text


def test_the_output_of_the_first_execution_is_not_shown_again(repeated):
    record = twice(repeated, "test_prints_and_fails")

    assert record.outcomes == (Outcome.FAILED, Outcome.FAILED)
    assert record.failures[1].text.count("once only\n") == 1


def test_items_of_unknown_types_are_told_apart(repeated):
    unknown = [test.id for test in repeated.handshake.suite.tests if not test.repeatable]

    assert unknown == ["sheet.yml::row"]


def test_three_executions_among_others_are_all_kept(repeated):
    plain, other = "test_repeated.py::test_with_fixtures", "test_repeated.py::TestCase::test_case"

    record = repeated.fork(plain, other, plain, other, plain)

    assert record.order == (plain, other, plain, other, plain)
    assert record.outcomes == (PASSED,) * 5
