from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest
from store_samples import a_run, a_session, a_suite

from flakehound.core.errors import FlakehoundError
from flakehound.store import Store, StoreBroken, StoreFull, StoreMissing, StoreUnwritable


def paste(remedy: str | None) -> None:
    assert remedy is not None
    subprocess.run(remedy, shell=True, check=True, capture_output=True)


def test_the_folder_made_for_a_store_is_hidden_from_git(path):
    Store.open(path).close()

    assert (path.parent / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_there_gets_no_gitignore(tmp_path):
    Store.open(tmp_path / "mine.db").close()

    assert not (tmp_path / ".gitignore").exists()


def test_a_closed_store_is_a_single_file(path):
    with Store.open(path) as store:
        store.begin(a_session(), a_suite())

    assert sorted(file.name for file in path.parent.iterdir()) == [".gitignore", "flakehound.db"]


def test_a_missing_store_is_not_created_by_a_reader_and_the_error_suggests_a_hunt(path):
    with pytest.raises(StoreMissing, match="nothing was hunted yet") as told:
        Store.open(path, create=False)

    assert told.value.remedy == "flakehound hunt"
    assert not path.parent.exists()


def test_the_remedy_for_a_missing_store_elsewhere_names_it(tmp_path):
    with pytest.raises(StoreMissing) as told:
        Store.open(tmp_path / "my store.db", create=False)

    command = shlex.split(told.value.remedy)
    assert command == ["flakehound", "hunt", "--store", str(tmp_path / "my store.db")]


def test_an_empty_file_left_by_a_killed_creation_counts_as_missing(tmp_path):
    path = tmp_path / "flakehound.db"
    path.touch()
    with pytest.raises(StoreMissing):
        Store.open(path, create=False)

    with Store.open(path) as store:
        assert store.sessions() == []


@pytest.mark.parametrize("content", [b"x", b"not a database " * 1000], ids=["tiny", "long"])
def test_a_file_that_is_no_database_is_kept_and_can_be_moved_aside(tmp_path, content):
    path = tmp_path / "it's mine.db"
    path.write_bytes(content)
    (tmp_path / "it's mine.db.broken").write_text("an earlier one")

    with pytest.raises(StoreBroken, match="not a usable store") as told:
        Store.open(path)

    assert path.read_bytes() == content
    paste(told.value.remedy)
    Store.open(path).close()
    assert (tmp_path / "it's mine.db.broken").read_text() == "an earlier one"
    assert (tmp_path / "it's mine.db.broken-2").read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(StoreBroken, match="another program") as told:
        Store.open(path)

    assert path.read_bytes() == before
    assert told.value.remedy == f"mv -- {path} {path}.broken"


def test_a_folder_in_place_of_the_file_can_be_moved_aside(tmp_path):
    path = tmp_path / "flakehound.db"
    path.mkdir()

    with pytest.raises(StoreBroken, match="not a regular file") as told:
        Store.open(path)

    paste(told.value.remedy)
    Store.open(path).close()


def test_a_damaged_store_is_an_error_and_is_not_touched(path):
    suite = a_suite(2000)
    with Store.open(path) as store:
        session_id = store.begin(a_session(), suite).id
        store.append(session_id, [a_run(suite.order[i : i + 2], why=f"run {i}") for i in range(1500)])
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xab" * (len(content) - 8192)
    path.write_bytes(content)

    with pytest.raises(StoreBroken), Store.open(path) as store:
        list(store.records(session_id))

    assert path.read_bytes() == content


def test_a_damaged_page_inside_a_compressed_column_is_an_error_with_a_remedy(store):
    session_id = store.begin(a_session(), a_suite()).id
    store._connection.execute("UPDATE suite SET tests = x'00'")

    with pytest.raises(StoreBroken) as told:
        store.suite(session_id)

    assert told.value.remedy.startswith("mv -- ")


@pytest.mark.parametrize("below", ["", "deeper/still"])
def test_a_file_in_place_of_the_folder_can_be_moved_aside(tmp_path, below):
    (tmp_path / ".flakehound").write_text("a file")
    path = tmp_path / ".flakehound" / below / "flakehound.db"

    with pytest.raises(StoreUnwritable, match="cannot write the store") as told:
        Store.open(path)

    paste(told.value.remedy)
    Store.open(path).close()
    assert (tmp_path / ".flakehound.broken").read_text() == "a file"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
@pytest.mark.parametrize("forbidden", ["folder", "file", "parent"])
def test_a_path_that_may_not_be_written_is_an_error_that_chmod_fixes(path, forbidden):
    place = {"folder": path.parent, "file": path, "parent": path.parent.parent}[forbidden]
    if forbidden == "parent":
        place.chmod(0o500)
    else:
        Store.open(path).close()
        place.chmod(0o400 if forbidden == "file" else 0o500)

    with pytest.raises(StoreUnwritable) as told:
        Store.open(path)

    paste(told.value.remedy)
    Store.open(path).close()


def test_a_path_that_chmod_cannot_fix_makes_the_error_suggest_another_path(path, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    path.parent.mkdir()

    told = StoreUnwritable(path, blocked=path.parent, reason="Read-only file system")

    command = shlex.split(told.remedy)
    assert command[:3] == ["flakehound", "hunt", "--store"]
    Store.open(Path(command[3])).close()


def test_a_full_disk_is_an_error_that_loses_no_earlier_run(store, path):
    suite = a_suite(3)
    session_id = store.begin(a_session(), suite).id
    store.append(session_id, [a_run(suite.order, why="before")])
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count={pages}")

    with pytest.raises(StoreFull, match="every run stored before is safe") as told:
        store.append(session_id, [a_run(suite.order, why="x" * 100_000)])

    assert [run.why for run in store.records(session_id)] == ["before"]
    paste(told.value.remedy)


def test_a_store_can_be_appended_to_once_the_disk_has_space_again(store):
    suite = a_suite(3)
    session_id = store.begin(a_session(), suite).id
    store._connection.execute("PRAGMA max_page_count=1")
    with pytest.raises(StoreFull):
        store.append(session_id, [a_run(suite.order, why="x" * 100_000)])
    store._connection.execute("PRAGMA max_page_count=1000000")

    store.append(session_id, [a_run(suite.order, why="after")])

    assert [run.why for run in store.records(session_id)] == ["after"]


def test_every_error_of_the_store_is_one_the_command_line_catches():
    assert issubclass(StoreBroken, FlakehoundError)
