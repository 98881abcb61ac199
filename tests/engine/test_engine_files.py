"""Suites that write lasting files: every run finds the same ones, and the project is left as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_samples import sample_at
from file_samples import listing, opened, run

from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation
from flakehound.engine.suite.lasting_files import FileGuard

WRITING = {
    "counter": "0\n",
    "kept/notes": "kept\n",
    "removed/data": "data\n",
    "test_tree.py": """
        import os, pathlib, shutil
        home = pathlib.Path.home()
        def test_counts():
            count = int(pathlib.Path("counter").read_text())
            assert count == 0
            pathlib.Path("counter").write_text(str(count + 1))
        def test_makes():
            os.mkdir("made")
            pathlib.Path("made/file").write_text("")
        def test_removes():
            os.remove("kept/notes")
            shutil.rmtree("removed")
        def test_writes_at_home():
            assert (home / "settings").read_text() == "mine"
            (home / "settings").write_text("theirs")
            (home / "new").mkdir()
            (home / "new" / "file").write_text("")
        def test_replaces_at_home():
            assert (home / "replaced").read_text() == "mine"
            (home / "replaced.part").write_text("theirs")
            os.replace(home / "replaced.part", home / "replaced")
        def test_links_at_home():
            assert not os.path.lexists(home / "link")
            os.symlink("settings", home / "link")
            os.link(home / "settings", home / "hard")
        """,
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "settings").write_text("mine")
    (folder / "replaced").write_text("mine")
    return folder


def test_every_run_finds_the_files_as_they_were_and_so_does_the_user(open_sample, home):
    sample = open_sample(WRITING, env={"HOME": str(home)})
    before = listing(sample.root, home)

    with opened(sample) as suite:
        order = suite.suite.order
        records = [
            run(suite, *order),
            run(suite, *reversed(order)),
            *(run(suite, test) for test in order),
            run(suite, *order, isolation=Isolation.SPAWN),
            run(suite, *order),
        ]

    assert suite.isolation is Isolation.FORK
    assert suite.guard is not None
    assert suite.guard.is_active
    assert any("lasting files" in note for note in suite.notes)
    assert [
        (record.order, record.failures) for record in records if set(record.outcomes) != {Outcome.PASSED}
    ] == []
    assert listing(sample.root, home) == before


def test_a_project_below_a_folder_of_caches_is_restored_like_any_other(tmp_path, home):
    sample = sample_at(tmp_path / ".cache" / "project", WRITING, env={"HOME": str(home)})
    before = listing(sample.root, home)

    with opened(sample) as suite:
        record = run(suite, *suite.suite.order)
        assert suite.guard is not None
        assert suite.guard.is_active

    assert set(record.outcomes) == {Outcome.PASSED}
    assert listing(sample.root, home) == before
    sample.close()


def test_files_written_while_modules_are_imported_are_there_for_every_run_and_gone_in_the_end(open_sample):
    sample = open_sample(
        {
            "log": "",
            "test_it.py": """
                import pathlib
                with open("log", "a") as log:
                    log.write("x")
                pathlib.Path("generated").write_text("g")
                def test_reads():
                    assert pathlib.Path("log").read_text() == "x"
                    assert pathlib.Path("generated").read_text() == "g"
                def test_spoils():
                    pathlib.Path("log").write_text("spoiled")
                    pathlib.Path("generated").unlink()
                """,
        }
    )
    before = listing(sample.root)

    with opened(sample) as suite:
        reads, spoils = suite.suite.order
        records = [
            run(suite, reads),
            run(suite, reads, spoils),
            run(suite, spoils),
            run(suite, reads),
            run(suite, reads, isolation=Isolation.SPAWN),
            run(suite, reads),
        ]

    assert [record.outcomes[0] for record in records] == [Outcome.PASSED] * 6
    assert listing(sample.root) == before


def test_a_file_that_could_not_be_written_at_first_is_seen_when_it_is(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import contextlib, os
                def test_late():
                    with contextlib.suppress(FileNotFoundError):
                        open("late/file", "w")
                    os.makedirs("late", exist_ok=True)
                    with open("late/file", "w") as file:
                        file.write("x")
            """
        }
    )

    with opened(sample) as suite:
        written = suite.guard.written

    assert suite.guard.is_active
    assert any(str(one).endswith("late/file") for one in written)


def test_a_suite_that_writes_temporary_files_only_is_not_slowed_down(open_sample, home):
    sample = open_sample(
        {
            "data": "some",
            "folder/file": "",
            "test_it.py": """
                import contextlib, os, pathlib, shutil, sqlite3, tempfile
                def test_temporary(tmp_path):
                    with tempfile.TemporaryDirectory() as folder:
                        os.makedirs(folder + "/a/b")
                        pathlib.Path(folder, "a", "b", "file").write_text("")
                        os.rename(folder + "/a/b/file", folder + "/a/file")
                    deep = tmp_path / "a" / "b"
                    deep.mkdir(parents=True)
                    (deep / "file").write_text("")
                    shutil.rmtree(tmp_path / "a")
                    with tempfile.NamedTemporaryFile("w") as file:
                        file.write("x")
                def test_memory():
                    sqlite3.connect(":memory:").execute("create table a (b)")
                    sqlite3.connect("file:shared?mode=memory", uri=True).execute("create table a (b)")
                def test_existing():
                    (pathlib.Path.home() / "known").mkdir(exist_ok=True)
                    os.makedirs("folder", exist_ok=True)
                    with open("data", "r+") as file:
                        assert file.read() == "some"
                    with contextlib.suppress(FileNotFoundError):
                        os.remove("never there")
                    with contextlib.suppress(FileNotFoundError):
                        open("missing/file", "w")
                def test_nothing():
                    with open(os.devnull, "w") as file:
                        file.write("x")
                    with open("data") as file:
                        assert file.read() == "some"
                """,
        },
        env={"HOME": str(home)},
    )
    (home / "known").mkdir()

    with opened(sample) as suite:
        written = suite.guard.written

    assert written == []
    assert not suite.guard.is_active


def test_pipes_and_sockets_are_left_alone(open_sample, home):
    os.mkfifo(home / "pipe")
    (home / "dangling").symlink_to("nowhere")
    sample = open_sample(
        {
            "test_it.py": """
                import os, pathlib
                home = pathlib.Path.home()
                def test_opens_a_pipe():
                    os.close(os.open(home / "pipe", os.O_RDWR | os.O_NONBLOCK))
                def test_opens_a_dangling_link():
                    with open(home / "dangling", "w") as file: file.write("x")
                """
        },
        env={"HOME": str(home)},
    )

    with opened(sample) as suite:
        run(suite, *suite.suite.order)

    assert (home / "pipe").is_fifo()
    assert os.readlink(home / "dangling") == "nowhere"


def test_files_behind_links_and_in_environments_are_restored_and_not_removed(open_sample, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("mine")
    sample = open_sample(
        {
            "environment/pyvenv.cfg": "",
            "environment/installed": "mine",
            "target": "mine",
            "test_it.py": """
                import os, pathlib
                def test_writes():
                    for name in ("linked/file", "environment/installed", "link"):
                        pathlib.Path(name).write_text("theirs")
                def test_replaces_the_link():
                    os.remove("link")
                    pathlib.Path("link").write_text("no link")
                """,
        }
    )
    (sample.root / "linked").symlink_to(tmp_path / "elsewhere")
    (sample.root / "link").symlink_to("target")
    before = listing(sample.root, tmp_path / "elsewhere")

    with opened(sample) as suite:
        run(suite, *suite.suite.order)

    assert listing(sample.root, tmp_path / "elsewhere") == before
    assert os.readlink(sample.root / "link") == "target"


def test_a_file_that_another_process_creates_meanwhile_is_never_touched(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "mine").write_text("old")
    guard = FileGuard(tree, tmp_path / "kept")
    (tree / "mine").write_text("edited while the suite ran")
    (tree / "new").write_text("saved while the suite ran")

    guard.read_notes(tmp_path / "no-notes")
    guard.restore_for_fork()
    guard.restore_for_spawn()

    assert guard.is_active
    assert (tree / "mine").read_text() == "edited while the suite ran"
    assert (tree / "new").read_text() == "saved while the suite ran"
