"""The suite at the base is collected once and runs in forks and in new interpreters, with the base's own code."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator

import pytest
from base_samples import BAD, GOOD, TEST, OpenBase, ids, opener
from git_projects import GitProject

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation
from flakehound.engine.git.base_session import NO_TIME
from flakehound.engine.git.worktree import BaseTree, NoTree, folder_checkout
from flakehound.engine.processes.limits import Limits

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def project(own_git, tmp_path):
    """A project whose last change, not yet committed, breaks its test."""
    made = GitProject(tmp_path / "project")
    made.commit(GOOD)
    made.write(BAD)
    return made


@pytest.fixture
def open_base() -> Iterator[OpenBase]:
    with opener() as make:
        yield make


def outcomes(records) -> list[Outcome]:
    return [record.last for record in records]


# -- forks --


def test_a_test_that_the_change_breaks_passes_in_forks_of_the_base(project, open_base):
    session = open_base(project)
    problem = session.open([project.root / "test_calc.py"])

    records = session.run_in_forks((TEST,), 3, seed=5)

    assert problem == ""
    assert session.collected() == {TEST}
    assert outcomes(records) == [Outcome.PASSED] * 3
    assert [record.seed for record in records] == [5, 6, 7]
    assert {record.isolation for record in records} == {Isolation.FORK}


def test_a_failure_in_a_fork_has_the_paths_of_the_users_tree(project, open_base):
    project.commit({"test_calc.py": "def test_add(): raise ValueError(__file__)\n"})
    session = open_base(project)
    session.open([project.root / "test_calc.py"])

    (record,) = session.run_in_forks((TEST,), 1, seed=0)

    assert record.failures[0].message == f"ValueError: {project.root / 'test_calc.py'}"
    assert record.failures[0].where == f"{project.root / 'test_calc.py'}:1"


def test_a_further_run_of_a_quick_test_takes_less_than_50_ms(project, open_base):
    session = open_base(project)
    session.open([project.root / "test_calc.py"])
    session.run_in_forks((TEST,), 1, seed=0)

    durations_s = []
    for _ in range(9):
        began = time.perf_counter()
        assert session.run_in_forks((TEST,), 1, seed=0)
        durations_s.append(time.perf_counter() - began)

    assert sorted(durations_s)[4] < 0.05


def test_only_the_needed_files_are_collected(project, open_base):
    project.commit({"test_other.py": "raise SystemExit('not needed')\n"})
    session = open_base(project)

    assert session.open([project.root / "test_calc.py"]) == ""
    assert session.collected() == {TEST}


def test_a_test_runs_after_its_polluters_in_forks(project, open_base):
    project.commit(
        {"test_order.py": "seen = []\ndef test_pollutes(): seen.append(1)\ndef test_victim(): assert not seen\n"}
    )
    pollutes, victim = ids("test_order.py::test_pollutes", "test_order.py::test_victim")
    session = open_base(project)
    session.open([project.root / "test_order.py"])

    assert outcomes(session.run_in_forks((victim,), 1, seed=0)) == [Outcome.PASSED]
    assert outcomes(session.run_in_forks((pollutes, victim), 1, seed=0)) == [Outcome.FAILED]


def test_a_session_that_cannot_be_forked_runs_in_new_interpreters_only(project, open_base):
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    project.commit({"conftest.py": thread, **GOOD})
    session = open_base(project)

    assert session.open([project.root / "test_calc.py"]) == ""
    assert session.run_in_forks((TEST,), 2, seed=0) == []
    assert any("instead of a fork" in note for note in session.notes)
    assert session.run_in_new_interpreters((TEST,), 1, seed=0).outcomes == (Outcome.PASSED,)


def test_runs_leave_no_trace_in_the_users_tree(project, open_base):
    project.commit(
        {**GOOD, "test_calc.py": "def test_add(cache):\n    cache.set('a/b', 1)\n    open('left', 'w')\n"}
    )
    before, files = project.state(), sorted(project.root.rglob("*"))
    session = open_base(project)
    session.open([project.root / "test_calc.py"])

    session.run_in_forks((TEST,), 2, seed=0)
    session.run_in_new_interpreters((TEST,), 1, seed=0)

    session.close()
    changed = [path for path in {*project.root.rglob("*")} ^ {*files} if ".git" not in path.parts]
    assert changed == []
    assert project.state()[0] == before[0]


# -- what the base lacks --


def test_a_new_file_is_left_out_and_a_new_test_is_reported(project, open_base):
    new_test, new_file = ids("test_calc.py::test_new", "test_new.py::test_it")
    project.write({"test_new.py": "def test_it(): pass\n"})
    session = open_base(project)

    problem = session.open([project.root / "test_new.py", project.root / "test_calc.py"])

    assert problem == ""
    assert session.why_not_collected((TEST, new_test)) == f"{new_test} does not exist at the base"
    assert session.why_not_collected((TEST,)) == ""
    assert session.run_in_forks((new_test,), 1, seed=0) == []
    assert session.run_recorded((new_file,), seed=0).problem == f"{new_file} does not exist at the base"
    assert session.run_recorded((new_test,), seed=0).problem == f"{new_test} does not exist at the base"


def test_a_session_of_new_files_only_does_not_open(project, open_base):
    project.write({"test_new.py": "def test_it(): pass\n"})
    session = open_base(project)

    assert "does not exist at the base" in session.open([project.root / "test_new.py"])
    assert session.collected() == frozenset()


def test_a_file_that_the_base_cannot_import_does_not_hide_the_others(project, open_base):
    project.commit({**GOOD, "test_broken.py": "import no_such_dependency\ndef test_it(): pass\n"})
    broken = NodeId("test_broken.py::test_it")
    session = open_base(project)

    problem = session.open([project.root / "test_broken.py", project.root / "test_calc.py"])

    assert problem == ""
    assert "No module named 'no_such_dependency'" in session.why_not_collected((broken,))
    assert "does not exist" not in session.why_not_collected((broken,))
    assert outcomes(session.run_in_forks((TEST,), 1, seed=0)) == [Outcome.PASSED]
    assert "No module named 'no_such_dependency'" in session.run_recorded((broken,), seed=0).problem
    assert "No module named 'no_such_dependency'" in session.run_recorded((broken, TEST), seed=0).problem


@pytest.mark.parametrize("folder", [".", "service"])
def test_a_test_in_a_renamed_file_runs_under_its_old_id_and_is_reported_under_the_new_one(
    tmp_path, open_base, folder
):
    project = GitProject(tmp_path / "project")
    old, new = f"{folder}/test_old.py".removeprefix("./"), f"{folder}/tests/test_new.py".removeprefix("./")
    files = {f"{folder}/pytest.ini": "[pytest]\n", old: "def test_it(): raise ValueError(__file__)\n"}
    project.commit(files)
    (project.root / new).parent.mkdir(parents=True)
    (project.root / old).rename(project.root / new)
    test = NodeId("tests/test_new.py::test_it")
    session = open_base(project, rootdir=folder, renames={new: old})
    assert session.open([project.root / new]) == ""

    records = [*session.run_in_forks((test,), 1, seed=0), *session.run_recorded((test,), seed=0).records]

    assert session.collected() == {test}
    assert [record.order for record in records] == [(test,), (test,)]
    assert {record.failures[0].where for record in records} == {f"{project.root / new}:1"}
    assert {record.failures[0].message for record in records} == {f"ValueError: {project.root / new}"}


# -- new interpreters --


def test_each_new_interpreter_has_another_seed_and_another_hash_seed(project, open_base):
    session = open_base(project)

    runs = session.run_in_new_interpreters((TEST,), 3, seed=5)

    assert runs.outcomes == (Outcome.PASSED,) * 3
    assert [record.seed for record in runs.records] == [5, 6, 7]
    assert len({record.hash_seed for record in runs.records}) == 3


def test_a_random_state_can_be_given(project, open_base, tmp_path):
    expected = random.Random(42).random()
    project.commit({"test_random.py": f"import random\ndef test_it(): assert random.random() == {expected!r}\n"})
    version, numbers, gauss = random.Random(42).getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": None}))
    session, test = open_base(project), ids("test_random.py::test_it")

    assert session.run_in_new_interpreters(test, 1, 0).outcomes == (Outcome.FAILED,)
    assert session.run_in_new_interpreters(test, 1, 0, state).outcomes == (Outcome.PASSED,)


def test_settings_and_conftest_come_from_the_base(project, open_base):
    base = {**GOOD, "conftest.py": "WORD = 'base'\n", "pytest.ini": "[pytest]\npython_functions = check_*\n"}
    project.commit({**base, "test_calc.py": "from conftest import WORD\ndef check_it(): assert WORD == 'base'\n"})
    project.write({"conftest.py": "WORD = 'changed'\n", "pytest.ini": "[pytest]\n"})
    session, test = open_base(project, "-c", str(project.root / "pytest.ini")), ids("test_calc.py::check_it")
    assert session.open([project.root / "test_calc.py"]) == ""

    assert outcomes(session.run_in_forks(test, 1, seed=0)) == [Outcome.PASSED]
    assert session.run_recorded(test, seed=0).outcomes == (Outcome.PASSED,)


# -- time --


def test_nothing_runs_after_the_deadline(project, open_base):
    session = open_base(project, deadline_s=time.monotonic() - 1)

    assert session.open([project.root / "test_calc.py"]) == NO_TIME
    assert session.run_in_forks((TEST,), 1, seed=0) == []
    assert session.run_in_new_interpreters((TEST,), 1, seed=0).problem == NO_TIME


def test_a_run_that_the_deadline_ends_is_not_a_test_that_hangs(project, open_base):
    project.commit({"test_calc.py": "import time\ndef test_add(): time.sleep(60)\n"})
    session = open_base(project, deadline_s=time.monotonic() + 4)
    session.open([project.root / "test_calc.py"])

    began = time.monotonic()
    records = session.run_in_forks((TEST,), 3, seed=0)

    assert records == []
    assert time.monotonic() - began < 10


def test_a_test_that_hangs_at_the_base_is_one_that_timed_out(project, open_base):
    project.commit({"test_calc.py": "import time\ndef test_add(): time.sleep(60)\n"})
    limits = Limits(test_limit_s=0.5)
    session = open_base(project, limits=limits, deadline_s=time.monotonic() + 60)
    session.open([project.root / "test_calc.py"])

    assert outcomes(session.run_in_forks((TEST,), 1, seed=0)) == [Outcome.TIMED_OUT]


# -- a folder as the base --


def test_a_folder_can_be_the_base(tmp_path, open_base):
    user, base = GitProject(tmp_path / "user"), tmp_path / "base"
    user.write({**GOOD, **BAD})
    for name, text in {**GOOD, "env/pyvenv.cfg": "", "env/big": "", ".git/HEAD": ""}.items():
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_text(text)

    with folder_checkout(base, user.root) as tree:
        assert isinstance(tree, BaseTree)
        session = open_base(user, checkout=tree)
        assert session.open([user.root / "test_calc.py"]) == ""
        forked = session.run_in_forks((TEST,), 1, seed=0)
        told = session.run_recorded((TEST,), seed=0)
        copied = sorted(path.name for path in tree.top.iterdir())
        session.close()

    assert outcomes(forked) == [Outcome.PASSED]
    assert (told.problem, told.outcomes) == ("", (Outcome.PASSED,))
    assert {*copied} - {"__pycache__", ".pytest_cache"} == {*GOOD}
    assert not tree.folder.exists()
    assert sorted(path.name for path in base.iterdir()) == sorted([*GOOD, ".git", "env"])


@pytest.mark.parametrize(("base", "why"), [("missing", "is no folder"), ("user", "is the changed tree itself")])
def test_a_folder_that_cannot_be_the_base_is_reported(tmp_path, base, why):
    (tmp_path / "user").mkdir()

    with folder_checkout(tmp_path / base, tmp_path / "user") as tree:
        assert isinstance(tree, NoTree)

    assert why in tree.why
