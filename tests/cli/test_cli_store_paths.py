"""Whatever is wrong with the path of a store: a clear word, a remedy that works, the documented exit code."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile

import pytest
from cli_projects import flakehound_in, parsed, paste, remedy_in

QUICK_HUNT = ("hunt", "--runs", "1", "--shuffles", "0", "--pairs", "none", "-q")
READERS = [["history"], ["explain", "test_one"], ["replay", "test_one"]]


# A folder


@pytest.mark.parametrize("command", [*READERS, ["hunt"]], ids=lambda command: command[0])
@pytest.mark.parametrize("folder", [".", "..", "a folder"])
def test_a_folder_is_no_store_and_is_not_to_be_moved_away(say, project, command, folder):
    (project / "a folder").mkdir()

    said = say(*command, "--store", folder)

    assert said.code == 2
    assert f"{folder!r} is a folder; a store is a file" in said.err
    assert parsed(remedy_in(said)).params["store_path"] == project.joinpath(folder, "flakehound.db").relative_to(
        project
    )


def test_a_hunt_into_a_folder_is_offered_a_file_in_it(project):
    (project / "a folder").mkdir()

    said = flakehound_in(project, *QUICK_HUNT, "--store", "a folder")

    assert paste(project, remedy_in(said)).code == 0
    assert (project / "a folder" / "flakehound.db").exists()


@pytest.mark.parametrize("command", [["history"], ["explain", "test_victim"]], ids=lambda command: command[0])
def test_the_folder_of_a_project_is_taken_for_the_store_in_it(shop, tmp_path, command):
    said = flakehound_in(tmp_path, *command, "--store", str(shop.folder))

    assert said.code == 2
    assert paste(tmp_path, remedy_in(said)).code in (0, 1)


def test_merging_a_folder_is_offered_the_store_in_it(shop, project):
    said = flakehound_in(project, "merge", str(shop.folder))

    assert said.code == 2
    assert paste(project, remedy_in(said)).out.startswith("1 hunt added")


def test_merging_a_folder_without_a_store_shows_how_to_look_for_one(say, project):
    said = say("merge", ".")

    assert said.code == 2
    assert paste(project, remedy_in(said)).code == 0


# A path that leads nowhere


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    "path", ["no folder/mine.db", "../.flakehound/flakehound.db", "/no/.flakehound/flakehound.db"]
)
def test_the_remedy_for_a_store_that_is_not_there_names_it(say, command, path):
    said = say(*command, "--store", path)

    assert said.code == 3
    assert f"there is no store at {path!r}: nothing was hunted yet" in said.err
    assert str(parsed(remedy_in(said)).params["store_path"]) == path


def test_a_hunt_makes_the_folder_of_its_store(project):
    said = flakehound_in(project, "history", "--store", "new folder/mine.db")

    assert paste(project, remedy_in(said), *QUICK_HUNT[1:]).code == 0
    assert flakehound_in(project, "history", "--store", "new folder/mine.db").code == 0


def test_an_empty_file_is_told_as_such_and_hunted_into(project):
    (project / "empty.db").touch()

    said = flakehound_in(project, "history", "--store", "empty.db")

    assert said.code == 3
    assert "'empty.db' is empty: nothing was hunted yet" in said.err
    assert paste(project, remedy_in(said), *QUICK_HUNT[1:]).code == 0


def test_a_store_without_a_hunt_says_so(say, project, shop):
    shutil.copy(shop.store, project / "mine.db")
    with sqlite3.connect(project / "mine.db") as database:
        database.execute("DELETE FROM session")

    said = say("history", "--store", "mine.db")

    assert said.code == 2
    assert "there is no hunt in 'mine.db'" in said.err
    assert str(parsed(remedy_in(said)).params["store_path"]) == "mine.db"


# A file of another sort


def test_a_text_file_with_the_name_of_a_store_can_be_moved_aside(project):
    (project / "my notes.db").write_text("no database")

    said = flakehound_in(project, *QUICK_HUNT, "--store", "my notes.db")

    assert said.code == 3
    assert "'my notes.db' is not a usable store: file is not a database" in said.err
    assert paste(project, remedy_in(said)).code == 0
    assert flakehound_in(project, *QUICK_HUNT, "--store", "my notes.db").code == 0


def test_a_file_with_another_name_is_not_to_be_moved_away(project):
    before = (project / "test_calm.py").read_text()

    said = flakehound_in(project, *QUICK_HUNT, "--jobs", "1", "--store", "test_calm.py")

    assert said.code == 3
    assert parsed(remedy_in(said)).params["jobs"] == 1
    assert paste(project, remedy_in(said)).code == 0
    assert (project / "test_calm.py").read_text() == before


@pytest.mark.parametrize("command", ["hunt", "history"])
def test_a_device_is_not_to_be_moved_away(say, command):
    said = say(command, "--store", "/dev/null")

    assert said.code == 3
    assert "not a regular file" in said.err
    assert parsed(remedy_in(said)).command.name == "hunt"


@pytest.mark.parametrize("name", ["no-such.db", "test_calm.py"])
def test_a_merge_from_what_is_no_store_makes_none_and_shows_how_to_look_for_one(say, project, name):
    said = say("merge", name)

    assert said.code == 3
    assert repr(name) in said.err
    assert paste(project, remedy_in(said)).code == 0
    assert not (project / ".flakehound").exists()


@pytest.mark.parametrize("command", [*READERS, ["hunt"], ["hunt", "--resume"]], ids=" ".join)
def test_a_store_of_a_newer_flakehound_is_told_with_both_versions(say, project, shop, command):
    shutil.copy(shop.store, project / "newer.db")
    with sqlite3.connect(project / "newer.db") as database:
        database.execute("PRAGMA user_version=999")

    said = say(*command, "--store", "newer.db")

    assert said.code == 3
    assert "has version 999, this flakehound knows up to" in said.err
    assert remedy_in(said) == "pip install --upgrade flakehound"


# A place that may not be written


def test_a_folder_that_root_cannot_write_either_sends_the_user_elsewhere(project, tmp_path):
    said = flakehound_in(project, *QUICK_HUNT, "--store", "/proc/none/mine.db", TMPDIR=str(tmp_path))

    assert said.code == 3
    assert "cannot write the store '/proc/none/mine.db'" in said.err
    assert "Traceback" not in said.err
    assert parsed(remedy_in(said)).command.name == "hunt"
    assert paste(project, remedy_in(said), *QUICK_HUNT[1:]).code == 0


@pytest.fixture
def read_only(monkeypatch, tmp_path):
    """Make a folder look as if it lay on a read-only disk, which binds root too."""
    allowed = os.access
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def forbid(folder):
        def access(path, mode):
            return allowed(path, mode) and not (mode & os.W_OK and os.path.samefile(path, folder))

        monkeypatch.setattr(os, "access", access)

    return forbid


def test_a_read_only_folder_sends_a_hunt_elsewhere_with_all_its_options(say, project, tmp_path, read_only):
    read_only(tmp_path)

    said = say("hunt", "--jobs", "1", "--store", "../mine.db", "--", "-k", "one two")

    assert said.code == 3
    assert "the folder may not be written" in said.err
    offered = parsed(remedy_in(said)).params
    assert (offered["jobs"], offered["pytest_args"]) == (1, ("-k", "one two"))
    assert offered["store_path"].parent != tmp_path
    assert not (tmp_path / "mine.db").exists()


@pytest.mark.parametrize("command", [["history"], ["explain", "test_victim"]], ids=lambda command: command[0])
def test_a_store_that_may_not_be_written_can_be_read_as_a_copy(say, shop, tmp_path, read_only, command):
    there = tmp_path / "from CI"
    there.mkdir()
    shutil.copy(shop.store, there / "their store.db")
    read_only(there)

    said = say(*command, "--store", str(there / "their store.db"))

    assert said.code == 3
    assert paste(tmp_path, remedy_in(said)).out


def test_a_store_that_may_not_be_written_can_be_merged_as_a_copy(say, shop, project, tmp_path, read_only):
    there = tmp_path / "from CI"
    there.mkdir()
    shutil.copy(shop.store, there / "their store.db")
    read_only(there)

    said = say("merge", str(there / "their store.db"))

    assert said.code == 3
    assert paste(project, remedy_in(said)).out.startswith("1 hunt added")
