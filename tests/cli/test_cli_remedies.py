"""Every remedy works when pasted, and keeps whatever else the user said."""

from __future__ import annotations

import shutil
import sys
import time

import pytest
from cli_projects import QUICK, commands_in, flakehound_in, parsed, paste, remedy_in, write_project

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Suite
from flakehound.store import SessionInfo, SessionSettings, Store

# Every sort of option: with a value, repeated, a flag, a path with a space, and arguments that start with a dash.
HUNT_WISHES = ("--store", "my store.db", "--jobs", "2", "--keep-plugin", "cov", "--keep-plugin", "xdist", "-q")
POLLUTER_WISHES = ("--jobs", "2", "--seed", "7", "--isolation", "spawn", "--keep-plugin", "cov")
TEST = "test_calm.py::test_one"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--budget", "banana"),
        ("--test-timeout", "ages"),
        ("--memory-limit", "much"),
        ("--python", "no-such-python"),
        ("--json", "missing/report.json"),
    ],
)
def test_a_hunt_with_one_wrong_value_is_offered_with_only_that_value_changed(say, option, value):
    given = parsed("flakehound hunt " + " ".join(f"'{word}'" for word in (*HUNT_WISHES, "--", "-k", "a b"))).params

    said = say("hunt", option, value, *HUNT_WISHES, "--", "-k", "a b")

    assert said.code == 2
    offered = parsed(remedy_in(said)).params
    (changed,) = [name for name in given if given[name] != offered[name]]
    assert changed in option.replace("-", "_") + "_file"
    assert str(offered[changed]) != value


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--test-timeout", "ages"),
        ("--memory-limit", "much"),
        ("--python", "no-such-python"),
        ("--json", "missing/answer.json"),
    ],
)
def test_a_search_with_one_wrong_value_is_offered_with_only_that_value_changed(say, option, value):
    given = parsed(" ".join(["flakehound polluter", *POLLUTER_WISHES, "--", TEST, "-k", "one"])).params

    said = say("polluter", option, value, *POLLUTER_WISHES, "--", TEST, "-k", "one")

    assert said.code == 2
    offered = parsed(remedy_in(said)).params
    assert len([name for name in given if given[name] != offered[name]]) == 1
    assert option in remedy_in(said)


def test_a_hunt_that_cannot_be_resumed_is_offered_anew_with_everything_else_the_same(say):
    said = say("hunt", "--resume", "--python", sys.executable, *HUNT_WISHES, "--", "-k", "a b")

    offered = parsed(remedy_in(said)).params
    assert offered["resume"] is False
    assert str(offered["store_path"]) == "my store.db"
    assert offered["python"] == sys.executable
    assert offered["keep_plugins"] == ("cov", "xdist")
    assert offered["pytest_args"] == ("-k", "a b")


def test_a_changed_suite_is_offered_a_new_hunt_into_the_same_store(project):
    wishes = ("--store", "my store.db", "-q", "test_calm.py")
    flakehound_in(project, "hunt", "--runs", "1", "--shuffles", "0", *wishes)
    (project / "test_calm.py").write_text("def test_three():\n    pass\n")

    said = flakehound_in(project, "hunt", "--resume", "--budget", "5s", *wishes)

    assert said.code == 2
    assert paste(project, remedy_in(said)).code == 0
    assert len(flakehound_in(project, "history", "--store", "my store.db").out.splitlines()) == 2


def test_a_json_file_that_fails_at_the_last_moment_costs_no_report_and_can_be_had_by_going_on(project):
    said = flakehound_in(project, "hunt", *QUICK, "-q", "--json", "/dev/full")

    assert said.code == 2
    assert "2 tests" in said.out
    assert parsed(remedy_in(said)).params["resume"] is True
    assert paste(project, remedy_in(said)).code == 0
    assert (project / "flakehound.json").exists()


def test_a_json_file_is_not_left_empty_by_a_hunt_that_never_began(tmp_path):
    folder = write_project(tmp_path / "empty", {})

    flakehound_in(folder, "hunt", "--json", "report.json")

    assert not (folder / "report.json").exists()


@pytest.fixture
def elsewhere(shop, tmp_path):
    """The shop's store in a folder of its own, and a user who stands somewhere else."""
    store = tmp_path / "my store.db"
    shutil.copy(shop.store, store)
    user = tmp_path / "user's folder"
    user.mkdir()
    return store, user


@pytest.mark.parametrize("command", [["explain"], ["replay", "--times", "2"]], ids=["explain", "replay"])
def test_the_remedy_for_an_unknown_name_keeps_the_other_options(elsewhere, command):
    store, user = elsewhere

    said = flakehound_in(user, *command, "--store", str(store), "test_victmi")

    offered = parsed(remedy_in(said)).params
    assert offered["store_path"] == store
    assert offered.get("times") in (None, 2)
    assert paste(user, remedy_in(said)).code in (0, 1)


def test_a_test_never_seen_failing_is_offered_a_hunt_of_its_own_suite_into_the_same_store(elsewhere, shop):
    store, user = elsewhere

    said = flakehound_in(user, "replay", "--store", str(store), "test_steady")

    assert said.code == 2
    offered = remedy_in(said)
    assert offered.startswith(f"cd {shop.folder} && flakehound hunt ")
    assert parsed(offered).params["store_path"] == store
    assert paste(user, offered.replace("--budget 10m", "--budget 5s")).code in (0, 1)


def test_a_search_for_an_unknown_test_keeps_interpreter_and_arguments(shop):
    words = ("--python", sys.executable, "--", "test_shop.py::test_victmi", "-k", "not wrong")

    said = flakehound_in(shop.folder, "polluter", *words)

    offered = parsed(remedy_in(said)).params
    assert offered["test"] == "test_shop.py::test_victim"
    assert offered["python"] == sys.executable
    assert offered["pytest_args"] == ("-k", "not wrong")
    assert paste(shop.folder, remedy_in(said)).code == 1


def test_a_search_for_a_test_like_no_other_is_offered_the_list_of_tests(shop):
    said = flakehound_in(shop.folder, "polluter", "12345")

    assert said.code == 2
    assert "test_shop.py::test_victim" in paste(shop.folder, remedy_in(said)).out


# Hunts that were not finished


def begun(store_path, folder, started_s):
    """A hunt that was killed right after it began."""
    suite = Suite(tests=(CollectedTest(id=NodeId(TEST), module="test_calm.py", parent="test_calm.py"),))
    info = SessionInfo(
        rootdir=str(folder), python="3.11", pytest="9", base_seed=1, started_s=started_s,
        settings=SessionSettings(python=sys.executable),
    )  # fmt: skip
    with Store.open(store_path) as store:
        store.begin(info, suite)


def test_history_offers_to_go_on_in_the_folder_and_the_store_of_the_hunt(say, project, tmp_path):
    begun(tmp_path / "my store.db", tmp_path / "other folder", time.time())
    begun(tmp_path / "my store.db", project, time.time())

    said = say("history", "--store", "../my store.db")

    there, here = said.out.splitlines()
    assert here.endswith("not finished: flakehound hunt --resume --store '../my store.db'")
    assert f"not finished: cd '{tmp_path}/other folder' && flakehound hunt" in there
    assert parsed(commands_in(there)[0]).params["store_path"].is_absolute()


def test_history_offers_to_go_on_only_with_the_newest_hunt_of_a_folder(say, project):
    begun(project / ".flakehound" / "flakehound.db", project, 1000.0)
    begun(project / ".flakehound" / "flakehound.db", project, 2000.0)

    said = say("history")

    older, newer = said.out.splitlines()
    assert older.endswith("not finished")
    assert newer.endswith("not finished: flakehound hunt --resume")


def make_interpreter(path, first=":"):
    # Not a link: beside a link Python finds no pyvenv.cfg, and so none of our packages.
    path.write_text(f'#!/bin/sh\n{first}\nexec "{sys.executable}" "$@"\n')
    path.chmod(0o755)


def test_a_resumed_hunt_uses_the_interpreter_of_the_first(project, tmp_path):
    python, log = tmp_path / "my python", tmp_path / "log"
    make_interpreter(python, first=f'echo started >>"{log}"')
    assert flakehound_in(project, "hunt", *QUICK, "-q", "--python", str(python)).code == 0
    log.unlink()

    said = flakehound_in(project, "hunt", "--resume", *QUICK, "-q")

    assert said.code == 0, said.err
    assert log.exists()


def test_a_hunt_whose_interpreter_is_gone_is_resumed_with_another_one(project, tmp_path):
    python = tmp_path / "python"
    make_interpreter(python)
    assert flakehound_in(project, "hunt", *QUICK, "-q", "--python", str(python)).code == 0
    python.unlink()

    said = flakehound_in(project, "hunt", "--resume", *QUICK, "-q")

    assert said.code == 2
    assert str(python) in said.err
    assert paste(project, remedy_in(said)).code == 0


ONCE = "seen = []\n\n\ndef test_once():\n    assert not seen\n    seen.append(1)\n"


@pytest.mark.parametrize("gone", ["folder", "python"])
def test_a_failure_whose_suite_or_interpreter_is_gone_cannot_be_replayed(tmp_path, gone):
    folder, python = write_project(tmp_path / "project", {"test_once.py": ONCE}), tmp_path / "python"
    make_interpreter(python)
    store = ("--store", str(tmp_path / "s.db"))
    assert flakehound_in(folder, "hunt", *QUICK, "-q", "--python", str(python), *store).code == 1
    shutil.rmtree(folder) if gone == "folder" else python.unlink()

    said = flakehound_in(tmp_path, "replay", *store, "test_once")

    assert said.code == 2
    assert f"{gone if gone == 'folder' else 'interpreter'} of that hunt is gone" in said.err
    assert parsed(remedy_in(said)).params["store_path"] == tmp_path / "s.db"
