"""The folder `.flakehound` is ignored by git, whichever command makes it."""

from __future__ import annotations

from flakehound.store import Store
from flakehound.store.folder import create_folder


def test_a_folder_below_ours_makes_git_ignore_ours(tmp_path):
    create_folder(tmp_path / ".flakehound" / "lint")

    assert (tmp_path / ".flakehound" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / ".flakehound" / "lint" / ".gitignore").exists()


def test_a_folder_elsewhere_gets_no_file(tmp_path):
    create_folder(tmp_path / "stores" / "lint")

    assert list((tmp_path / "stores" / "lint").iterdir()) == []


def test_a_store_in_our_folder_of_an_earlier_version_makes_git_ignore_it(tmp_path):
    (tmp_path / ".flakehound").mkdir()

    with Store.open(tmp_path / ".flakehound" / "flakehound.db"):
        pass

    assert (tmp_path / ".flakehound" / ".gitignore").read_text() == "*\n"


def test_what_the_user_wrote_stays(tmp_path):
    (tmp_path / ".flakehound").mkdir()
    (tmp_path / ".flakehound" / ".gitignore").write_text("flakehound.db\n")

    create_folder(tmp_path / ".flakehound")

    assert (tmp_path / ".flakehound" / ".gitignore").read_text() == "flakehound.db\n"
