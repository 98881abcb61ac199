"""Commands about hunts of the past: explain, replay, history, merge."""

from __future__ import annotations

import shutil

import pytest
from cli_projects import (
    QUICK,
    WITH_PLUGINS,
    commands_in,
    flakehound_in,
    parsed,
    paste,
    remedy_in,
    write_project,
)

from flakehound.store import Store

# A victim before its polluter.
TWO_TESTS = """
    seen = []

    def test_v():
        assert not seen

    def test_p():
        seen.append(1)
"""


def records_in(store_path):
    """Runs per session."""
    with Store.open(store_path, create=False) as store:
        return [sum(1 for _record in store.records(session.id)) for session in store.sessions()]


# explain


def test_explain_tells_what_is_known_about_a_flaky_test(shop):
    said = flakehound_in(shop.folder, "explain", "test_shop.py::test_victim")

    assert said.code == 1
    assert said.out.startswith("VICTIM  test_shop.py::test_victim")
    assert "test_shop.py::test_ban" in said.out
    assert "assert 'banned' not in" in said.out


def test_explain_takes_a_part_of_a_name_that_only_one_test_has(shop):
    assert flakehound_in(shop.folder, "explain", "brittle").out.startswith("BRITTLE")


def test_explain_of_a_steady_test_ends_with_code_0(shop):
    said = flakehound_in(shop.folder, "explain", "test_steady")

    assert said.code == 0
    assert said.out.startswith("STEADY")


def test_every_command_explain_prints_is_understood_by_our_own_parser(shop):
    commands = commands_in(flakehound_in(shop.folder, "explain", "test_victim").out)

    assert commands
    for command in commands:
        parsed(command)


def test_the_plain_pytest_command_of_a_victim_fails_when_pasted(shop):
    lines = flakehound_in(shop.folder, "explain", "test_victim").out.splitlines()
    plain = next(line.strip() for line in lines if " -m pytest " in line)

    said = paste(shop.folder, plain)

    assert said.code == 1
    assert "test_victim" in said.out


@pytest.mark.parametrize("command", ["explain", "replay"])
def test_a_name_that_several_tests_have_is_refused_with_some_of_them(shop, command):
    said = flakehound_in(shop.folder, command, "test_shop.py")

    assert said.code == 2
    assert "names 8 tests" in said.err
    assert paste(shop.folder, remedy_in(said)).code in (0, 1)


@pytest.mark.parametrize("command", ["explain", "replay"])
def test_a_name_that_no_test_has_is_refused_with_the_nearest(shop, command):
    said = flakehound_in(shop.folder, command, "test_shop.py::test_victmi")

    assert said.code == 2
    assert "test_victmi" in said.err
    assert "test_shop.py::test_victim" in remedy_in(said)


def test_the_remedy_for_an_unknown_name_works_with_a_store_of_another_place(shop, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    shutil.copy(shop.store, elsewhere)

    said = flakehound_in(tmp_path, "explain", "--store", str(elsewhere), "test_shop.py::test_victmi")

    assert said.code == 2
    assert paste(tmp_path, remedy_in(said)).code == 1


# replay


@pytest.mark.parametrize("name", ["victim", "again", "luck", "brittle", "wrong"])
def test_replay_makes_every_kind_of_test_fail_again(shop, name):
    said = flakehound_in(shop.folder, "replay", f"test_shop.py::test_{name}")

    assert said.code == 1, said.err
    assert said.out.startswith(f"FAILED  test_shop.py::test_{name}  failed 1 of ")
    assert "assert" in said.out


def test_replay_shows_the_order_it_ran(shop):
    lines = flakehound_in(shop.folder, "replay", "test_victim").out.splitlines()

    place = next(number for number, line in enumerate(lines) if line.startswith("order"))
    assert lines[place + 1 : place + 3] == ["    test_shop.py::test_ban", "    test_shop.py::test_victim"]


def test_replay_runs_as_often_as_it_is_told_to(shop):
    said = flakehound_in(shop.folder, "replay", "--times", "3", "test_victim")

    assert "failed 3 of 3 replays" in said.out


def test_replay_with_the_seed_of_a_random_failure_fails_every_time(shop):
    said = flakehound_in(shop.folder, "replay", "--times", "4", "test_luck")

    assert "failed 4 of 4 replays" in said.out
    assert "random seed" in said.out


def test_the_plain_pytest_command_of_replay_fails_when_pasted(shop):
    said = flakehound_in(shop.folder, "replay", "test_victim")
    plain = next(line for line in said.out.splitlines() if line.startswith("plain pytest: "))

    assert paste(shop.folder, plain.removeprefix("plain pytest: ")).code == 1


def test_the_plain_pytest_command_switches_off_what_would_shuffle_its_tests(tmp_path):
    pytest.importorskip("pytest_randomly")
    folder = write_project(tmp_path / "two", {"test_two.py": TWO_TESTS})
    assert flakehound_in(folder, "hunt", *QUICK, "-q", **WITH_PLUGINS).code == 1

    said = flakehound_in(folder, "replay", "test_v", **WITH_PLUGINS)

    plain = next(line for line in said.out.splitlines() if line.startswith("plain pytest: "))
    assert "no:randomly" in plain


def test_a_test_never_seen_failing_cannot_be_replayed(shop):
    said = flakehound_in(shop.folder, "replay", "test_steady")

    assert said.code == 2
    assert "never seen failing" in said.err
    parsed(remedy_in(said))


def test_replay_of_a_test_that_was_mended_ends_with_code_0(tmp_path):
    broken = "seen = []\n\n\ndef test_a():\n    assert not seen\n    seen.append(1)\n"
    folder = write_project(tmp_path / "mended", {"test_a.py": broken})
    assert flakehound_in(folder, "hunt", *QUICK, "-q").code == 1
    (folder / "test_a.py").write_text(broken.replace("seen.append(1)", "pass"))

    said = flakehound_in(folder, "replay", "--times", "2", "test_a")

    assert said.code == 0
    assert said.out.startswith("PASSED")


def test_replay_of_a_test_that_was_removed_is_an_error_and_not_a_traceback(tmp_path):
    once = "seen = []\n\n\ndef test_a():\n    assert not seen\n    seen.append(1)\n\n\ndef test_b():\n    pass\n"
    folder = write_project(tmp_path / "removed", {"test_a.py": once})
    assert flakehound_in(folder, "hunt", *QUICK, "-q").code == 1
    (folder / "test_a.py").write_text("def test_b():\n    pass\n")

    said = flakehound_in(folder, "replay", "test_a.py::test_a")

    assert "Traceback" not in said.err
    assert said.code in (2, 3)


# Hunted from a folder below the project's root


@pytest.fixture(scope="module")
def below(tmp_path_factory):
    folder = write_project(tmp_path_factory.mktemp("root"), {"tests/api/test_u.py": TWO_TESTS}) / "tests"
    assert flakehound_in(folder, "hunt", *QUICK, "-q", "api").code == 1
    return folder


def test_a_hunt_below_the_root_can_be_replayed_by_its_full_name(below):
    assert flakehound_in(below, "replay", "tests/api/test_u.py::test_v").code == 1


def test_the_plain_pytest_command_works_below_the_root(below):
    said = flakehound_in(below, "replay", "test_v")
    plain = next(line for line in said.out.splitlines() if line.startswith("plain pytest: "))

    assert paste(below, plain.removeprefix("plain pytest: ")).code == 1


def test_the_plain_pytest_command_of_polluter_works_below_the_root(below):
    said = flakehound_in(below, "polluter", "tests/api/test_u.py::test_v")

    assert said.code == 1, said.err
    assert paste(below, said.out.splitlines()[-1].strip()).code == 1


def test_the_plain_pytest_command_works_in_the_folder_it_was_asked_for_in(below):
    said = flakehound_in(below.parent, "replay", "--store", str(below / ".flakehound" / "flakehound.db"), "test_v")
    plain = next(line for line in said.out.splitlines() if line.startswith("plain pytest: "))

    assert paste(below.parent, plain.removeprefix("plain pytest: ")).code == 1


# history and merge


def test_history_lists_every_hunt_with_what_it_found(shop):
    said = flakehound_in(shop.folder, "history")

    assert said.code == 0
    (line,) = said.out.splitlines()
    assert str(shop.folder) in line
    assert "8 tests: 1 brittle, 1 failing, 1 nod, 1 non-idempotent, 1 victim" in line


def test_merge_copies_a_hunt_once_and_leaves_the_other_store_as_it_is(shop, project):
    before = shop.store.read_bytes()

    first = flakehound_in(project, "merge", str(shop.store))
    second = flakehound_in(project, "merge", str(shop.store))

    assert (first.code, second.code) == (0, 0)
    assert first.out.startswith("1 hunt added")
    assert second.out.startswith("0 hunts added")
    assert shop.store.read_bytes() == before
    assert records_in(project / ".flakehound" / "flakehound.db") == records_in(shop.store)


def test_a_merged_hunt_can_be_explained(shop, project):
    flakehound_in(project, "merge", str(shop.store))

    assert flakehound_in(project, "explain", "test_victim").out.startswith("VICTIM")


def test_merging_a_store_that_is_not_there_is_an_error(project):
    said = flakehound_in(project, "merge", "no-such.db")

    assert said.code == 3
    assert "no-such.db" in said.err
    assert "Traceback" not in said.err


def test_merging_a_file_that_is_no_store_is_an_error(project):
    said = flakehound_in(project, "merge", "test_calm.py")

    assert said.code == 3
    assert "test_calm.py" in said.err
    assert (project / "test_calm.py").exists()


# Another store, another session


def test_a_store_of_another_place_is_named_in_every_command(project, tmp_path):
    store = tmp_path / "my store.db"
    (project / "test_calm.py").write_text(
        "seen = []\n\n\ndef test_a():\n    assert not seen\n    seen.append(1)\n"
    )

    said = flakehound_in(project, "hunt", *QUICK, "-q", "--store", str(store))

    commands = commands_in(said.out)
    assert commands
    assert all(parsed(command).params["store_path"] == store for command in commands)
    assert paste(tmp_path, commands[0]).code == 1
    assert not (project / ".flakehound").exists()


def test_a_resumed_hunt_goes_on_in_the_same_session(project):
    assert flakehound_in(project, "hunt", *QUICK, "-q").code == 0
    store = project / ".flakehound" / "flakehound.db"
    (before,) = records_in(store)

    said = flakehound_in(project, "hunt", "--resume", "--runs", "6", "--shuffles", "2", "-q")

    assert said.code == 0, said.err
    (after,) = records_in(store)
    assert after > before


def test_a_second_hunt_is_a_session_of_its_own(project):
    for _hunt in range(2):
        flakehound_in(project, "hunt", "--runs", "1", "--shuffles", "0", "--pairs", "none", "-q")

    assert len(records_in(project / ".flakehound" / "flakehound.db")) == 2


def test_a_hunt_cannot_be_resumed_after_the_tests_have_changed(project):
    flakehound_in(project, "hunt", *QUICK, "-q")
    (project / "test_new.py").write_text("def test_new():\n    pass\n")

    said = flakehound_in(project, "hunt", "--resume")

    assert said.code == 2
    assert "tests" in said.err
    parsed(remedy_in(said))
