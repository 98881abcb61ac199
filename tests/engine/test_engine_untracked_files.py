"""What a checkout of the base lacks is named if a run there would have used it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from base_samples import OpenBase, opener
from git_projects import GitProject

from flakehound.core.outcomes import NodeId

pytestmark = pytest.mark.usefixtures("own_git")
TEST = NodeId("test_it.py::test_it")
READS = "def test_it():\n    try: open({!r}).close()\n    except OSError: pass\n"


@pytest.fixture
def open_base() -> Iterator[OpenBase]:
    with opener() as make:
        yield make


def missing(open_base: OpenBase, project: GitProject) -> tuple[str, ...]:
    return open_base(project).run_recorded((TEST,), seed=0).validity.missing


def test_a_folder_beside_the_repository_is_missing(project, open_base):
    beside = project.root.parent / "beside"
    beside.mkdir()
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": READS.format("../beside/data.txt")})

    assert missing(open_base, project) == ("../beside",)


def test_an_untracked_file_is_missing(project, open_base):
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": READS.format("local/data.txt")})
    project.write({"local/other.txt": ""})

    assert missing(open_base, project) == ("local",)


def test_a_file_that_the_change_has_added_is_not(project, open_base):
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": READS.format("local/data.txt")})
    project.write({"local/data.txt": ""})
    project.git("add", "local")

    assert missing(open_base, project) == ()


def test_a_submodule_is_missing(project, open_base, tmp_path):
    other = GitProject(tmp_path / "other")
    other.commit({"data.txt": ""})
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "vendor")
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": READS.format("vendor/data.txt")})

    assert missing(open_base, project) == ("vendor (a submodule)",)


def test_a_module_of_a_nested_repository_is_missing(project, open_base):
    test = "def test_it():\n    try: import nested.extra\n    except ImportError: pass\n"
    project.commit({"pytest.ini": "[pytest]\n", ".gitignore": "nested/\n", "test_it.py": test})
    project.write({"nested/extra.py": ""})
    subprocess.run(["git", "init", "-q"], cwd=project.root / "nested", check=True)

    assert "nested/extra.py" in missing(open_base, project)


def test_files_of_git_differ_in_a_checkout(project, open_base):
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": READS.format(".git/HEAD")})

    assert missing(open_base, project) == (".git",)


def test_a_checkout_has_the_name_of_the_project(project, open_base):
    test = f"import os\n\ndef test_it(): assert os.path.basename(os.getcwd()) == {project.root.name!r}\n"
    project.commit({"pytest.ini": "[pytest]\n", "test_it.py": test})

    (record,) = open_base(project).run_recorded((TEST,), seed=0).records
    assert record.last.is_pass


def test_older_commits_count_as_long_as_the_files_of_the_change_are_the_same(project):
    commits = [project.commit({"a.py": "1"}), project.commit({"a.py": "2"}), project.commit({"b.py": "1"})]

    found = project.repository.ancestors_with_same_files(commits[-1], ("a.py",))

    assert found == frozenset(commits[1:])
    assert project.repository.ancestors_with_same_files(commits[-1], ("new.py",)) == frozenset(commits)
    assert os.path.exists(project.root / "a.py")
