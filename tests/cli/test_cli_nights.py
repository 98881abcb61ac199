"""Several hunts of one suite, as on several nights: what they know together, and which runs do not count."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter

from cli_projects import LIMIT_S, SHOP, SHOP_KINDS, SRC, environment, flakehound_in, write_project

from flakehound.core.plans import Setting
from flakehound.store import Store

SHORT = ("--budget", "5s", "--json", "report.json")
MAX_NIGHTS = 12  # a few are enough; a busy machine makes fewer runs in each
VICTIM = {
    "test_v.py": """
        seen = []

        def test_v():
            assert not seen

        def test_p():
            seen.append(1)
    """
}


def hunt(folder, *options):
    said = flakehound_in(folder, "hunt", *SHORT, *options)
    assert said.code in (0, 1), said.err
    return said


def report_of(folder):
    return json.loads((folder / "report.json").read_text())


def kinds_in(folder):
    return {test["id"].partition("::")[2]: test["kind"] for test in report_of(folder)["tests"]}


def hunt_until(folder, kinds):
    """Hunt on several nights until these kinds are known; returns the last hunt and the number of nights."""
    nights, said = 1, hunt(folder)
    while kinds_in(folder) != kinds and nights < MAX_NIGHTS:
        nights, said = nights + 1, hunt(folder)
    return said, nights


def original_runs_of(folder, name):
    (test,) = [test for test in report_of(folder)["tests"] if test["id"].endswith(name)]
    return test["runs"]["original"]


def store_of(folder):
    return folder / ".flakehound" / "flakehound.db"


def runs_by_session(folder):
    with Store.open(store_of(folder), create=False) as store:
        return [list(store.records(session.id)) for session in store.sessions()]


def change_store(folder, statement):
    with sqlite3.connect(store_of(folder)) as connection:
        connection.execute(statement)
    connection.close()


def test_short_hunts_of_the_same_code_together_find_what_a_long_one_finds(tmp_path):
    folder = write_project(tmp_path / "shop", SHOP)
    said, nights = hunt_until(folder, SHOP_KINDS)

    hunts = f"{nights - 1} earlier hunt"
    assert kinds_in(folder) == SHOP_KINDS
    assert nights == 1 or f"goes on from {hunts}" in said.err
    assert nights == 1 or f"goes on from {hunts}" in said.out


def test_a_second_hunt_repeats_no_order_and_counts_the_runs_of_the_first(tmp_path):
    folder = write_project(tmp_path / "shop", SHOP)
    hunt(folder)
    first_report = report_of(folder)
    first_tally = original_runs_of(folder, "test_steady")
    hunt(folder)

    first, second = runs_by_session(folder)
    orders = Counter(run.order for run in (*first, *second) if run.setting is Setting.SHUFFLED)
    assert max(orders.values()) == 1
    assert not {(run.order, run.seed) for run in first if run.seed} & {
        (run.order, run.seed) for run in second if run.setting in (Setting.ORIGINAL, Setting.ALONE) and run.seed
    }
    assert original_runs_of(folder, "test_steady")["n"] > first_tally["n"]
    assert report_of(folder)["seed"] == first_report["seed"]
    assert report_of(folder)["spent"]["processes"] <= len(second)


def test_a_test_that_failed_before_its_fix_and_passes_after_it_is_not_flaky(tmp_path):
    wrong = "def test_total():\n    assert 1 + 1 == 3\n\n\ndef test_other():\n    pass\n"
    folder = write_project(tmp_path / "fix", {"test_fix.py": wrong})
    hunt(folder)
    before = kinds_in(folder)
    (folder / "test_fix.py").write_text(wrong.replace("3", "2"))
    said = hunt(folder)

    assert before == {"test_total": "failing", "test_other": "steady"}
    assert kinds_in(folder) == {"test_total": "steady", "test_other": "steady"}
    assert said.code == 0
    assert "the code has changed since the last hunt: its runs do not count" in said.err


def test_a_flaky_test_that_was_fixed_runs_first_and_is_steady_afterwards(tmp_path):
    flaky = "import random\n\n\ndef test_luck():\n    assert random.random() > 0.5\n"
    folder = write_project(tmp_path / "luck", {"test_luck.py": flaky})
    _said, nights = hunt_until(folder, {"test_luck": "nod"})
    before = kinds_in(folder)
    (folder / "test_luck.py").write_text(flaky.replace("0.5", "-1"))
    said = hunt(folder)

    assert before == {"test_luck": "nod"}
    assert kinds_in(folder) == {"test_luck": "steady"}
    assert "the code has changed since the last hunt: one test that was flaky" in said.err
    assert any("as in an earlier hunt?" in run.why for run in runs_by_session(folder)[nights])


def test_a_changed_file_of_the_checkout_is_counted(tmp_path):
    folder = write_project(tmp_path / "checkout", VICTIM)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
        subprocess.run([*git, *words], cwd=folder, check=True)
    hunt(folder)
    again = hunt(folder)
    (folder / "test_v.py").write_text((folder / "test_v.py").read_text() + "# a comment\n")
    changed = hunt(folder)

    assert "goes on from 1 earlier hunt of the same code" in again.err
    assert "the code has changed since the last hunt (1 file): one test that was flaky" in changed.err


def test_a_fresh_hunt_starts_from_nothing(tmp_path):
    folder = write_project(tmp_path / "fresh", VICTIM)
    hunt(folder)
    said = hunt(folder, "--fresh")

    _first, second = runs_by_session(folder)
    runs = sum(run.setting is Setting.ORIGINAL for run in second)
    assert "earlier hunt" not in said.err + said.out
    assert original_runs_of(folder, "test_v")["n"] <= runs


def test_fresh_and_resume_contradict_each_other(tmp_path):
    folder = write_project(tmp_path / "fresh", VICTIM)
    hunt(folder)
    said = flakehound_in(folder, "hunt", "--fresh", "--resume")

    assert said.code == 2
    assert "either --resume or --fresh" in said.err


def test_counted_runs_are_all_made_again(tmp_path):
    folder = write_project(tmp_path / "counted", VICTIM)
    for _night in range(2):
        said = hunt(folder, "--runs", "3", "--shuffles", "1")

    assert "earlier hunt" not in said.err
    for runs in runs_by_session(folder):
        assert sum(run.setting is Setting.ORIGINAL for run in runs) >= 3


def test_explain_and_replay_know_the_runs_of_earlier_hunts(tmp_path):
    folder = write_project(tmp_path / "victim", VICTIM)
    hunt(folder)
    hunt(folder)
    runs = original_runs_of(folder, "test_v")["n"]
    explained = flakehound_in(folder, "explain", "test_v.py::test_v")
    replayed = flakehound_in(folder, "replay", "test_v.py::test_v")
    listed = flakehound_in(folder, "history")

    assert explained.out.startswith("VICTIM")
    assert f"original order {runs:>15}       0" in explained.out
    assert "AssertionError" in explained.out
    assert replayed.code == 1, replayed.err
    assert listed.out.count("1 victim") == 2


def test_a_killed_hunt_counts_and_one_of_an_older_version_does_not(tmp_path):
    folder = write_project(tmp_path / "killed", VICTIM)
    hunt(folder)
    change_store(folder, "DELETE FROM ending")
    change_store(folder, "DELETE FROM verdicts")
    after_kill = hunt(folder)
    change_store(folder, "UPDATE session SET options = '{}'")
    after_upgrade = hunt(folder)

    assert "goes on from 1 earlier hunt of the same code" in after_kill.err
    assert "it is not known whether the code is that of the last hunt: one test that was" in after_upgrade.err


def test_a_hunt_that_was_resumed_with_other_code_is_no_evidence_any_more(tmp_path):
    folder = write_project(tmp_path / "resumed", VICTIM)
    source = (folder / "test_v.py").read_text()
    hunt(folder)
    (folder / "test_v.py").write_text(source.replace("assert not seen", "assert seen"))
    hunt(folder, "--resume")
    (folder / "test_v.py").write_text(source)
    said = hunt(folder)

    assert "goes on from" not in said.err


def test_another_seed_has_another_hash_seed_and_so_no_common_evidence(tmp_path):
    folder = write_project(tmp_path / "seeds", VICTIM)
    free = {"PYTHONHASHSEED": "", "PYTHONDONTWRITEBYTECODE": "1"}
    env = {name: value for name, value in environment(**free).items() if name != "PYTHONHASHSEED"}
    said = [
        subprocess.run(
            [sys.executable, "-m", "flakehound", "hunt", "--budget", "5s", *seed],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        ).stderr
        for seed in ([], [], ["--seed", "5"])
    ]

    assert "goes on from 1 earlier hunt" in said[1]
    assert "the last hunt had another seed" in said[2]


def test_two_hunts_at_once_share_a_store_and_a_later_one_goes_on_from_both(tmp_path):
    folder = write_project(tmp_path / "both", VICTIM)
    command = [sys.executable, "-m", "flakehound", "hunt", "--budget", "6s", "--seed", "4"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, cwd=folder, env=environment(), **pipes) for _hunt in range(2)]
    errors = [process.communicate(timeout=LIMIT_S)[1] for process in both]
    said = hunt(folder)

    assert [process.returncode in (0, 1) for process in both] == [True, True], errors
    assert not any("Traceback" in error for error in errors)
    assert "goes on from 2 earlier hunts of the same code" in said.err


def test_a_changed_installed_package_whose_own_tests_are_hunted_is_other_code(tmp_path):
    site = tmp_path / "site-packages"
    package = write_project(
        site / "shoppkg", {"__init__.py": "", "cart.py": "price = 3\n", "tests/__init__.py": ""}
    )
    (package / "tests" / "test_price.py").write_text(
        "from shoppkg.cart import price\n\n\ndef test_price():\n    assert price == 2\n"
    )
    folder = write_project(tmp_path / "elsewhere", {})
    options = (*SHORT, "--", "--pyargs", "shoppkg")
    said = []
    for content in ("price = 3\n", "price = 3\n", "price = 2  # fixed\n"):
        (package / "cart.py").write_text(content)
        said.append(flakehound_in(folder, "hunt", *options, PYTHONPATH=f"{SRC}{os.pathsep}{site}"))

    assert "goes on from 1 earlier hunt of the same code" in said[1].err
    assert "installed packages have changed since the last hunt: its runs do not count" in said[2].err
    assert kinds_in(folder) == {"test_price": "steady"}
