"""`flakehound study triage` on tiny real projects."""

from __future__ import annotations

import csv
import io
import json
import shlex
import signal
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import click
import pytest
from cli_projects import Said, environment, flakehound_in, flakehound_with, remedy_in, write_project

from flakehound.app.studies.releases import with_version
from flakehound.cli.main import main

SHOP = """
    LIMIT = 3


    def total(prices):
        return sum(prices)


    def names(items):
        return sorted(items)
"""
TESTS = """
    import shop


    def test_total():
        assert shop.total([1, 2]) == 3


    def test_names():
        assert shop.names("ba") == ["a", "b"]
"""
ALONE = "def test_alone():\n    assert True\n"
LONGER_TOTAL = SHOP.replace("return sum(prices)", "result = sum(prices)\n        return result")
# Revision by revision, the oldest first. Who is disjoint from the change that led to it is told beside.
REVISIONS = (
    SHOP,
    LONGER_TOTAL,  # names, alone
    LONGER_TOTAL.replace("sorted(items)", "list(sorted(items))"),  # total, alone
    LONGER_TOTAL.replace("sorted(items)", "list(sorted(items))  # a copy"),  # all
)
SHARES = {"test_shop.py::test_total": 2, "test_shop.py::test_names": 2, "test_alone.py::test_alone": 3}
STUDY = ("study", "triage", "--seed", "1", "--jobs", "1")


def git(folder, *words):
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder, shop, message):
    (folder / "shop.py").write_text(dedent(shop))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


def new_repository(folder):
    write_project(folder, {"test_shop.py": TESTS, "test_alone.py": ALONE})
    git(folder, "init", "-q", "-b", "main")
    for number, shop in enumerate(REVISIONS):
        commit(folder, shop, f"revision {number}")
    return folder


@pytest.fixture
def repository(tmp_path):
    return new_repository(tmp_path / "repository")


def studied(folder, *arguments):
    said = flakehound_in(folder, *STUDY, "--json", "study.json", *arguments)
    assert said.code == 0, said.err + said.out
    return said, json.loads((folder / "study.json").read_text())


def state_of(folder):
    return git(folder, "status", "--porcelain", "--branch"), git(folder, "worktree", "list")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudiedRepository:
    """A repository of whose history every change was studied, while the user was at work in it."""

    folder: Path
    said: Said
    study: dict[str, Any]
    before: tuple[str, str]  # the state of the user's tree and worktrees
    after: tuple[str, str]


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """One more revision cannot be collected; the user's tree is unfinished; a plot is asked for."""
    folder = new_repository(tmp_path_factory.mktemp("history") / "repository")
    commit(folder, "broken = (\n", "broken")
    commit(folder, REVISIONS[-1], "mended")
    (folder / "shop.py").write_text("unfinished = (\n")
    (folder / ".git" / "info" / "exclude").write_text("study.json\nshares.png\n")
    before = state_of(folder)
    said, study = studied(folder, "--only", "revisions", "--plot", "shares.png")
    return StudiedRepository(folder=folder, said=said, study=study, before=before, after=state_of(folder))


def shares(study):
    return {test["id"]: (test["disjoint"], test["compared"]) for test in study["revisions"]["tests"]}


def test_each_test_gets_the_share_of_changes_that_it_is_disjoint_from(history):
    # From the mended revision to the one before the broken one nothing changed: all are disjoint once more.
    assert shares(history.study) == {test: (disjoint + 1, 4) for test, disjoint in SHARES.items()}
    assert history.study["revisions"]["summary"]["median"] == pytest.approx(100 * 3 / 4)
    assert "4 changes" in history.said.out
    assert "4 recordings" in history.said.out
    assert "not disjoint 2 times of 2: it executes a changed function" in history.said.out


def test_the_users_tree_branches_and_worktrees_stay_as_they_are(history):
    assert history.after == history.before


def test_a_revision_that_cannot_be_collected_is_skipped_and_counted(history):
    (skipped,) = history.study["revisions"]["skipped"]
    assert "could not collect" in skipped["why"]
    assert "4 changes, 1 revision skipped" in history.said.out


def test_a_plot_is_drawn_where_the_extra_is_installed(history):
    assert (history.folder / "shares.png").read_bytes().startswith(b"\x89PNG")


def test_the_range_can_be_named_and_the_tests_be_drawn(repository):
    _said, study = studied(repository, "--only", "revisions", "--since", "HEAD~1", "--tests", "1")

    assert list(shares(study).values()) == [(1, 1)]


def test_a_range_that_begins_nowhere_is_an_error_with_a_remedy(repository):
    said = flakehound_in(repository, *STUDY, "--only", "revisions", "--since", "no-such-tag")

    assert said.code in (2, 3)
    assert "no-such-tag" in said.err
    assert remedy_in(said)


def test_reruns_are_timed_at_once_at_the_end_and_in_new_processes(repository):
    said, study = studied(
        repository,
        *("--only", "postponed", "--only", "processes", "--tests", "1", "--repeats", "1", "--reruns", "40,1"),
        *("--csv", "study.csv"),
    )

    (postponed,), (process,) = study["postponed"]["tests"], study["processes"]["tests"]
    assert postponed["reruns"] in (100, 10)  # fewer where the machine is busy
    assert postponed["immediate_s"] > 0
    assert postponed["postponed_s"] > 0
    assert list(process["reruns_s"]) == ["1", "40"]
    assert min(process["fork_s"], process["base_s"]) > 0
    assert process["recorded_s"] > 0
    assert "N_fork" in said.out
    figures = {row["figure"] for row in csv.DictReader(io.StringIO((repository / "study.csv").read_text()))}
    assert {"immediate_s", "base_s", "reruns_s.40"} <= figures


@pytest.fixture(scope="module")
def without_history(tmp_path_factory):
    """A study of a project that no repository holds; its test passes once."""
    once = "seen = []\n\n\ndef test_once():\n    assert not seen\n    seen.append(1)\n"
    folder = write_project(tmp_path_factory.mktemp("once"), {"test_once.py": once})
    return studied(folder, "--repeats", "1", "--reruns", "1")


def test_a_test_that_does_not_pass_a_second_time_is_told_apart(without_history):
    said, study = without_history

    assert study["postponed"]["tests"][0]["problem"] == "did not pass every time"
    assert study["processes"]["tests"][0]["problem"] == "does not pass when run again"
    assert "n/a" in said.out


def test_without_a_history_the_costs_are_told_and_what_is_missing_is_said(without_history):
    said, study = without_history

    assert study["postponed"]
    assert "revisions" not in study
    assert "note: no history to study" in said.out


def test_without_a_history_a_study_of_revisions_is_an_error(tmp_path):
    folder = write_project(tmp_path / "plain", {"test_alone.py": ALONE})

    said = flakehound_in(folder, *STUDY, "--only", "revisions")

    assert said.code == 3
    assert "no history to study" in said.err
    assert "--releases" in understood(remedy_in(said))


def release(folder, version, shop, *, packed):
    place = write_project(
        folder / f"shop-{version}",
        {
            "test_shop.py": TESTS,
            "shop.py": f'    __version__ = "{version}"\n{shop}',
            "setup.py": f'from setuptools import setup\nsetup(name="shop", version="{version}")\n',
            "PKG-INFO": f"Version: {version}\n",
        },
    )
    if packed:
        with tarfile.open(folder / f"shop-{version}.tar.gz", "w:gz") as archive:
            archive.add(place, arcname=place.name)
        for file in place.iterdir():
            file.unlink()
        place.rmdir()


def test_successive_releases_serve_as_history_and_their_numbers_are_no_change(tmp_path):
    releases = tmp_path / "releases"
    for number, shop in enumerate(REVISIONS):
        release(releases, f"1.{number + 8}.0", shop, packed=number % 2 == 0)

    _said, study = studied(tmp_path, "--only", "revisions", "--releases", "releases")

    assert [step["newer"] for step in study["revisions"]["steps"]] == ["shop-1.11.0", "shop-1.10.0", "shop-1.9.0"]
    assert shares(study) == {test: (SHARES[test], 3) for test in SHARES if "alone" not in test}


def test_only_lines_about_a_version_take_the_number_of_another_release():
    content = b"__version__ = '1.2.0'\nversion_info = (1, 2, 0)\nrate = '1.2.0'\nold_version = '1.2.0.1'\n"

    told = with_version(content, "1.2.0", "1.3.0")

    assert told == b"__version__ = '1.3.0'\nversion_info = (1, 3, 0)\nrate = '1.2.0'\nold_version = '1.2.0.1'\n"


def test_a_folder_without_two_releases_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "empty").mkdir()

    said = flakehound_in(tmp_path, *STUDY, "--releases", "empty")

    assert said.code == 2
    assert "no release" in said.err
    understood(remedy_in(said))


def test_a_plot_without_its_extra_is_an_error_that_names_the_command(repository):
    said = flakehound_with(
        "import sys; sys.modules['matplotlib'] = None", repository, *STUDY, "--plot", "shares.png"
    )

    assert said.code == 2
    assert remedy_in(said) == "python -m pip install 'flakehound[study]'"
    assert not (repository / "shares.png").exists()


def test_numbers_of_reruns_that_are_none_are_an_error_with_a_remedy(repository):
    said = flakehound_in(repository, *STUDY, "--reruns", "1,many")

    assert said.code == 2
    assert "'1,many'" in said.err
    assert "--reruns" in understood(remedy_in(said))


def test_an_interrupt_tells_what_is_known_by_then(repository):
    process = subprocess.Popen(
        [sys.executable, "-m", "flakehound", *STUDY, "--only", "revisions"],
        cwd=repository,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("revision 2"):
            break
    process.send_signal(signal.SIGINT)
    out, _err = process.communicate(timeout=300)

    assert process.returncode == 130
    assert "1 change" in out
    assert "note: interrupted" in out
    assert git(repository, "worktree", "list").count("\n") == 1


def understood(command):
    """The words of a study's command, fed back through our own parser."""
    program, name, study, *arguments = shlex.split(command)
    assert (program, name) == ("flakehound", "study")
    with click.Context(main, info_name="flakehound") as context:
        group = main.get_command(context, name)
        found = group.get_command(context, study)
        found.make_context(study, list(arguments), parent=context)
    return arguments
