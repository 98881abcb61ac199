"""What runs at the base used beside it: ignored files, other files, services; and copies of ignored files."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator

import pytest
from base_samples import OpenBase, ids, opener
from git_projects import GitProject

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.engine.git import ignored_files
from flakehound.engine.git.ignored_files import CopiedFiles, base_tree_with_ignored_files
from flakehound.engine.git.worktree import BaseTree, temporary_checkout

pytestmark = pytest.mark.usefixtures("own_git")
TEST = NodeId("test_it.py::test_it")
LONG_AGO = time.time() - 3600


@pytest.fixture
def open_base() -> Iterator[OpenBase]:
    with opener() as make:
        yield make


def project_with(project: GitProject, test: str, *, ignored: dict[str, str], **files: str) -> GitProject:
    """A project with one test, and files that git ignores."""
    patterns = "".join(f"/{name}\n" for name in ignored)
    project.commit({"pytest.ini": "[pytest]\n", ".gitignore": patterns, "test_it.py": test, **files})
    project.write(ignored)
    return project


def copies(project: GitProject, *, since_s: float | None = None, changed=()) -> CopiedFiles:
    with temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        since_s = time.time() + 60 if since_s is None else since_s
        return base_tree_with_ignored_files(tree, project.repository, since_s=since_s, changed=changed)


# -- what a run used --


def test_a_run_of_the_base_alone_is_valid(project, open_base):
    project_with(project, "def test_it(tmp_path): (tmp_path / 'a').write_text('')\n", ignored={"secret.env": ""})

    validity = open_base(project).run_recorded((TEST,), seed=0).validity

    assert (validity.problem, validity.ignored_files, validity.outside_files) == ("", (), ())
    assert (validity.services, validity.doubts) == ((), ())


@pytest.mark.parametrize(
    ("test", "used"),
    [
        ("def test_it():\n    try: open('local.ini').close()\n    except OSError: pass\n", "local.ini"),
        ("import os\ndef test_it(): os.listdir('.')\n", "local.ini"),
        ("import os\ndef test_it(): os.listdir('.')\n", "out/deep/data"),
        ("try: import _version\nexcept ImportError: pass\ndef test_it(): pass\n", "_version.py"),
        ("try: import sub._fast\nexcept ImportError: pass\ndef test_it(): pass\n", "sub/_fast.cpython-311.so"),
    ],
)
def test_an_ignored_file_that_the_run_would_use_is_named_although_the_base_lacks_it(
    project, open_base, test, used
):
    project_with(
        project, test, ignored={used: "", "other.txt": "", "build/json.py": ""}, **{"sub/__init__.py": ""}
    )

    told = open_base(project).run_recorded((TEST,), seed=0)

    assert told.outcomes == (Outcome.PASSED,)
    assert {*told.validity.ignored_files} - {"other.txt"} == {used}


def test_files_elsewhere_that_the_run_reads_are_named(project, open_base, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (state / "counter.txt").write_text("1")
    test = f"import os\ndef test_it():\n    open('{state}/counter.txt').close()\n    os.listdir('{state}')\n"
    project_with(project, test, ignored={})

    validity = open_base(project).run_recorded((TEST,), seed=0).validity

    assert validity.outside_files == (f"{state}/", f"{state}/counter.txt")


def test_files_elsewhere_that_do_not_exist_and_those_of_the_system_are_not_named(project, open_base, tmp_path):
    test = (
        "import json, pytest\n"
        "def test_it():\n"
        "    for name in ('/etc/passwd', '/proc/self/stat', json.__file__, pytest.__file__):\n"
        "        open(name).close()\n"
        f"    with pytest.raises(OSError): open('{tmp_path}/missing')\n"
    )
    project_with(project, test, ignored={})

    told = open_base(project).run_recorded((TEST,), seed=0)

    assert told.outcomes == (Outcome.PASSED,)
    assert told.validity.outside_files == ()


def test_services_of_this_machine_are_named(project, open_base):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        test = f"import socket\ndef test_it(): socket.create_connection(('127.0.0.1', {port})).close()\n"
        project_with(project, test, ignored={})

        validity = open_base(project).run_recorded((TEST,), seed=0).validity

    assert validity.services == (f"127.0.0.1:{port}",)
    assert validity.doubts == ()


def test_listing_the_changed_tree_proves_nothing(project, open_base):
    project_with(project, f"import os\ndef test_it(): os.listdir({str(project.root)!r})\n", ignored={})

    assert "lists a folder of the changed tree" in open_base(project).run_recorded((TEST,), seed=0).problem


def test_the_validity_of_several_runs_is_joined(project, open_base, tmp_path):
    (tmp_path / "a").touch()
    project_with(project, f"def test_it(): open('{tmp_path}/a').close()\n", ignored={})

    told = open_base(project).run_in_new_interpreters(ids(TEST), 2, seed=0)

    assert told.validity.outside_files == (f"{tmp_path}/a",)


# -- copies --


def test_a_session_runs_without_the_ignored_files_and_then_with_copies(project, open_base):
    test = "import os\ndef test_it(): assert open('local.ini').read() == 'x'\n"
    project_with(project, test, ignored={"local.ini": "x"})
    session = open_base(project)
    session.open([project.root / "test_it.py"])
    without = session.run_in_forks((TEST,), 1, seed=0)

    copied = session.add_ignored_files(since_s=time.time() + 60, changed=())
    session.open([project.root / "test_it.py"])
    with_copies = session.run_in_forks((TEST,), 1, seed=0)

    assert (without[0].last, with_copies[0].last) == (Outcome.FAILED, Outcome.PASSED)
    assert copied == CopiedFiles(files=("local.ini",))
    assert session.run_recorded((TEST,), seed=0).validity.ignored_files == ("local.ini",)


def test_files_of_tools_and_untracked_files_are_not_copied(project):
    tools = [
        *(
            "__pycache__/a.pyc",
            ".pytest_cache/v",
            ".mypy_cache/x",
            ".ruff_cache/x",
            ".tox/a",
            ".nox/a",
            ".coverage",
        ),
        *("node_modules/a.js", "build/a", "dist/a.whl", "a.egg-info/PKG-INFO", ".flakehound/a", "env/pyvenv.cfg"),
        *("env/lib/a.py", ".coverage.host.1", "sub/__pycache__/b.pyc"),
    ]
    project_with(project, "", ignored={**dict.fromkeys(tools, ""), "sub/data.bin": "x"})
    project.write({"untracked.txt": ""})

    assert copies(project) == CopiedFiles(files=("sub/data.bin",))


def test_what_was_modified_since_the_failing_run_began_is_not_copied_and_said(project):
    project_with(project, "", ignored={"a.db": "x", "b.db": "x"})

    told = copies(project, since_s=LONG_AGO)

    assert told.files == ()
    assert told.left_out == ("a.db", "b.db")
    assert told.notes == (
        "ignored by git, and not copied to the base (modified since the failing run began): a.db, b.db",
    )


@pytest.mark.parametrize(
    ("changed", "left_out"),
    [
        ((), ()),
        (("docs/a.md", "other.py"), ("pkg/abc__mypyc.so",)),
        (("pkg/fast.py",), ("pkg/abc__mypyc.so", "pkg/fast.cpython-311-x86_64-linux-gnu.so")),
        (("ext/fast.pyx",), ("pkg/abc__mypyc.so", "pkg/fast.cpython-311-x86_64-linux-gnu.so")),
        (("setup.py",), ("pkg/abc__mypyc.so", "pkg/fast.cpython-311-x86_64-linux-gnu.so")),
        (("rust/Cargo.toml",), ("pkg/abc__mypyc.so", "pkg/fast.cpython-311-x86_64-linux-gnu.so")),
    ],
)
def test_extension_modules_that_may_be_built_from_the_change_are_not_copied(project, changed, left_out):
    project_with(project, "", ignored={"pkg/fast.cpython-311-x86_64-linux-gnu.so": "", "pkg/abc__mypyc.so": ""})

    assert copies(project, changed=changed).left_out == left_out


def test_the_copies_are_limited_and_small_files_go_first(project, monkeypatch):
    project_with(project, "", ignored={"a": "x" * 50, "b": "x" * 10, "c": "x", "d": "xx"})
    monkeypatch.setattr(ignored_files, "MAX_BYTES", 20)
    by_size = copies(project)
    monkeypatch.setattr(ignored_files, "MAX_FILES", 2)

    by_number = copies(project)

    assert (by_size.files, by_size.left_out) == (("b", "c", "d"), ("a",))
    assert (by_number.files, by_number.left_out) == (("c", "d"), ("a", "b"))
    assert "2 files" in by_number.notes[0]


def test_links_are_copied_as_links_that_lead_to_the_base(project):
    project_with(project, "", ignored={"absolute": "", "relative": ""}, **{"data.txt": ""})
    for name, goal in {"absolute": project.root / "data.txt", "relative": "data.txt"}.items():
        (project.root / name).unlink()
        (project.root / name).symlink_to(goal)

    with temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        base_tree_with_ignored_files(tree, project.repository, since_s=time.time() + 60, changed=())
        places = {os.path.realpath(tree.top / name) for name in ("absolute", "relative")}

    assert places == {str(tree.top / "data.txt")}


def test_a_nested_repository_and_a_name_that_the_base_has_are_not_copied(project):
    project_with(project, "", ignored={"nested": "", "kept": "x"})
    project.git("add", "--force", "kept")
    project.commit()
    project.git("rm", "--quiet", "--cached", "kept")
    (project.root / "nested").unlink()
    GitProject(project.root / "nested").commit({"a": ""})

    told = copies(project)

    assert told.files == ()
    assert told.left_out == ("kept", "nested/")
