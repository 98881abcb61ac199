"""The suite's interpreter is another one, where flakehound is not installed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from engine_samples import HANGING_S, Sample, outcomes_of
from environments import python_with
from fidelity_sources import FIXTURES

import flakehound
from flakehound.core.outcomes import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.network]

PASSED, FAILED, CRASHED, TIMED_OUT = Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT
VERSIONS = [("3.8", "pytest==6.2.5"), ("3.10", "pytest==7.4.4"), ("3.12", "pytest==8.0.0"), ("3.13", "pytest")]

FILES = {
    **FIXTURES,
    "test_extra.py": """
        import json, os, random, sys, time, unittest
        import pytest
        state = []
        def test_sees():
            with open("seen.json", "w") as file:
                json.dump({"path": sys.path, "environ": dict(os.environ), "flags": str(sys.flags)}, file)
            assert "flakehound" not in sys.modules
        class TestGroup:
            def test_fresh(self):
                assert not hasattr(self, "used")
                self.used = True
        class TestCase(unittest.TestCase):
            def test_fresh(self):
                assert not hasattr(self, "used")
                self.used = True
        def documented():
            '''
            >>> documented()
            1
            '''
            return 1
        def test_with_tmp(tmp_path, tmpdir, capsys, monkeypatch, caplog, recwarn):
            (tmp_path / "x").write_text("x")
            assert not tmpdir.listdir() or True
        def test_marks_itself(request):
            request.node.add_marker(pytest.mark.xfail)
            assert False
        def test_fails(): assert 1 == 2
        def test_pollutes(): state.append(1)
        def test_victim(): assert not state
        def test_dies(): os._exit(3)
        def test_hangs(): time.sleep(600)
        """,
}
CALM = [
    "test_extra.py::test_sees",
    "test_extra.py::TestGroup::test_fresh",
    "test_extra.py::TestCase::test_fresh",
    "test_extra.py::test_extra.documented",
    "test_extra.py::test_with_tmp",
]


@pytest.fixture(scope="module", params=VERSIONS, ids=" ".join)
def sample(request, open_shared_sample) -> Sample:
    version, wanted = request.param
    return open_shared_sample(
        FILES, python=python_with(wanted, version=version), pytest_args=["--doctest-modules"]
    )


def test_another_python_and_another_pytest_are_what_the_session_says(sample):
    told = sample.handshake
    asked = subprocess.run(
        [
            sample.target.python,
            "-c",
            "import platform, pytest; print(platform.python_version(), pytest.__version__)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    assert [told.python, told.pytest] == asked.stdout.split()
    assert told.against_forking == ()


def test_another_python_gives_the_outcomes_of_its_plain_pytest(sample):
    plain_ids = [test for test in sample.ids if not test.endswith(("test_dies", "test_hangs"))]

    plain = sample.plain(*plain_ids)

    assert len(plain) > 15
    assert {test: plain[test] for test in plain_ids} == outcomes_of(sample.fork(*plain_ids))
    assert plain == outcomes_of(sample.spawn(*plain_ids))


def test_another_python_runs_tests_twice_and_copies_processes(sample):
    twice = sample.fork(*CALM, *CALM)
    pollutes, victim = "test_extra.py::test_pollutes", "test_extra.py::test_victim"
    polluted, alone = sample.fork_tree([pollutes], [[victim], [CALM[0]]])

    assert set(twice.outcomes) == {PASSED}, twice.failures
    assert polluted.outcomes == (PASSED, FAILED)
    assert alone.last is PASSED


def test_another_python_survives_dying_and_hanging_tests(sample):
    calm = CALM[1]

    dies = sample.fork(calm, "test_extra.py::test_dies")
    hangs = sample.fork(calm, "test_extra.py::test_hangs", test_limit_s=HANGING_S)
    spawned = sample.spawn(calm, "test_extra.py::test_dies")

    assert dies.outcomes == (PASSED, CRASHED)
    assert dies.ended == "exited with code 3"
    assert hangs.outcomes == (PASSED, TIMED_OUT)
    assert "test_hangs" in hangs.failures[1].text
    assert spawned.outcomes == (PASSED, CRASHED)


def test_a_test_sees_the_path_and_the_environment_that_plain_pytest_gives_it(sample):
    seen = sample.root / "seen.json"
    ours = {"TMPDIR", "PYTHONHASHSEED", "HYPOTHESIS_STORAGE_DIRECTORY"}

    def look(run):
        run()
        told = json.loads(seen.read_text())
        told["environ"] = {name: value for name, value in told["environ"].items() if name not in ours}
        return told

    plain = look(lambda: sample.plain_process("test_extra.py::test_sees"))
    forked = look(lambda: sample.fork("test_extra.py::test_sees"))
    spawned = look(lambda: sample.spawn("test_extra.py::test_sees"))

    home = str(Path(flakehound.__file__).parents[1])
    assert not [entry for entry in plain["path"] if entry.startswith(home)]
    assert forked == plain
    assert spawned == plain
