"""Suites whose tests create files and remove them again: what is said about these, and what stays of them."""

from __future__ import annotations

import json
import os
import tempfile

from file_samples import listing, opened, run

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.engine.suite.lasting_files import FileGuard


def with_note(tmp_path, tree, *lines):
    """A guard of the folder that has read these notes."""
    guard = FileGuard(tree, tmp_path / "kept")
    notes = tmp_path / "writes"
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    guard.read_notes(notes)
    return guard


TEMPORARY = {
    "test_it.py": """
        import os, pathlib, random, shutil
        def test_makes_and_removes_a_folder():
            os.mkdir("scratch")
            pathlib.Path("scratch", "file%d" % random.getrandbits(60)).write_text("x")
            os.makedirs("scratch/deep/er")
            shutil.rmtree("scratch")
        """
}


def test_a_folder_that_the_suite_removes_itself_is_not_lasting_but_shared(open_sample):
    with opened(open_sample(TEMPORARY)) as suite:
        guard = suite.guard

    assert guard.written == []
    assert [os.path.basename(path) for path in guard.shared_temporary] == ["scratch"]
    assert guard.is_active  # two runs at once would create the same folder
    assert not any("lasting files" in note or "when imported" in note for note in suite.notes)
    assert any("scratch" in note and "one at a time" in note for note in suite.notes)


def test_a_run_that_is_ended_in_the_middle_leaves_nothing_in_the_project(open_sample):
    sample = open_sample(TEMPORARY)
    before = listing(sample.root)

    with opened(sample) as suite:
        # As a run leaves it that is killed at its time limit; the name of the file was never seen before.
        (sample.root / "scratch" / "deep").mkdir(parents=True)
        (sample.root / "scratch" / "file1").write_text("x")
        (sample.root / "scratch" / "deep" / "file2").write_text("x")
        record = run(suite, *suite.suite.order)
        (sample.root / "scratch").mkdir()
        (sample.root / "scratch" / "file3").write_text("x")

    assert set(record.outcomes) == {Outcome.PASSED}
    assert listing(sample.root) == before


def test_temporary_paths_that_differ_between_runs_are_not_shared(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import os, pathlib, tempfile, uuid
                def test_own_paths():
                    with tempfile.TemporaryDirectory(dir=".") as folder:
                        pathlib.Path(folder, "file").write_text("x")
                    for name in ("of-%d" % os.getpid(), str(uuid.uuid4()), uuid.uuid4().hex):
                        pathlib.Path(name).write_text("x")
                        os.remove(name)
                """
        }
    )

    with opened(sample) as suite:
        guard = suite.guard

    assert (guard.written, guard.shared_temporary) == ([], [])
    assert not guard.is_active


def test_a_folder_that_existed_keeps_what_the_user_adds(tmp_path):
    tree = tmp_path / "tree"
    (tree / "scratch").mkdir(parents=True)

    guard = with_note(tmp_path, tree, ["tests", "", str(tree / "scratch" / "file"), False, False])
    (tree / "scratch" / "mine").write_text("")
    guard.restore_for_spawn()

    assert guard.shared_temporary == [str(tree / "scratch" / "file")]
    assert (tree / "scratch" / "mine").exists()


def test_a_temporary_folder_outside_the_project_keeps_what_no_run_was_seen_to_write(tmp_path):
    tree, other = tmp_path / "tree", tmp_path / "other"
    tree.mkdir()

    guard = with_note(
        tmp_path, tree, ["tests", "", str(other), True, False], ["tests", "", str(other / "a"), False, False]
    )
    other.mkdir()
    for name in "ab":
        (other / name).write_text("")
    guard.restore_for_spawn()

    assert [path.name for path in other.iterdir()] == ["b"]


def test_new_files_that_nobody_was_seen_to_make_stay_and_are_named(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()

    guard = with_note(tmp_path, tree, ["tests", "", str(tree / "scratch"), True, False])
    (tree / "scratch").mkdir()
    (tree / "scratch" / "file").write_text("")
    (tree / "new").mkdir()
    (tree / "new" / "file").write_text("")
    left = guard.left_behind()
    guard.restore_for_spawn()

    assert left == ["new"]
    assert [path.name for path in tree.iterdir()] == ["new"]


SOCKET = """
    import socket, tempfile
    def test_listens():
        # As long as the names that multiprocessing chooses.
        socket.socket(socket.AF_UNIX).bind(tempfile.mkdtemp(prefix="pymp-") + "/listener-xxxxxxxx")
    """


def test_the_path_of_a_socket_in_the_temporary_folder_of_a_run_is_not_too_long(open_sample, monkeypatch, tmp_path):
    long = tmp_path / ("t" * max(1, 72 - len(str(tmp_path))))  # in which a socket would have 105 characters
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    test = NodeId("test_it.py::test_listens")
    with opened(open_sample({"test_it.py": SOCKET})) as suite:
        record = run(suite, test)

    assert record.outcomes == (Outcome.PASSED,)
