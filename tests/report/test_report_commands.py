from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Replay, Verdict
from flakehound.report.commands import (
    explain_command,
    plain_pytest,
    plain_pytest_command,
    replay_command,
    resume_command,
)
from flakehound.report.pytest_arguments import options_only

from . import samples

node_ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(
    lambda name: NodeId(f"tests/test_a.py::test[{name}]")
)


@pytest.mark.parametrize("verdict", samples.a_hunt().verdicts, ids=lambda verdict: verdict.id)
def test_the_replay_command_names_the_test_verbatim(verdict: Verdict) -> None:
    command = replay_command(samples.a_hunt(), verdict)

    assert (command is None) == (verdict.replay is None)
    assert command is None or shlex.split(command) == ["flakehound", "replay", verdict.id]


def test_a_store_in_another_place_is_named_in_every_command() -> None:
    hunted = samples.a_hunt(store="my runs/store.db")
    verdict = samples.victim()

    place = ["--store", "my runs/store.db"]
    assert shlex.split(replay_command(hunted, verdict) or "") == ["flakehound", "replay", *place, verdict.id]
    assert shlex.split(explain_command(hunted, verdict)) == ["flakehound", "explain", *place, verdict.id]
    assert shlex.split(resume_command(hunted)) == ["flakehound", "hunt", "--resume", *place]


@given(order=st.lists(node_ids, min_size=1, max_size=4, unique=True), python=st.text("ab /'$", min_size=1))
def test_a_plain_command_survives_the_shell(order: list[NodeId], python: str) -> None:
    command = plain_pytest(Replay(order=tuple(order)), python, ["-q"])

    assert shlex.split(command or "") == [python, "-m", "pytest", "-q", *order]


@given(
    seed=st.none() | st.integers(0, 9),
    failed=st.integers(0, 3),
    more=st.integers(0, 3),
    order=st.lists(node_ids, max_size=3),
)
def test_a_plain_command_exists_where_the_order_alone_decides(
    seed: int | None, failed: int, more: int, order: list[NodeId]
) -> None:
    replay = Replay(order=tuple(order), seed=seed, failed=failed, runs=failed + more)

    command = plain_pytest(replay, "python", ())

    always = failed > 0 and more == 0
    repeatable = len(order) > 0 and len(set(order)) == len(order)
    assert (command is not None) == (repeatable and (seed is None or always))


def test_the_hash_seed_comes_before_the_plain_command() -> None:
    replay = Replay(order=(samples.TOTAL,), hash_seed=2)

    assert plain_pytest(replay, "python", ()) == f"PYTHONHASHSEED=2 python -m pytest {samples.TOTAL}"


def test_a_test_that_our_seed_makes_fail_has_no_plain_command() -> None:
    hunted = samples.a_hunt()

    assert plain_pytest_command(hunted, samples.nod_by_seed()) is None
    assert plain_pytest_command(hunted, samples.nod_by_hash_seed()) is not None
    assert plain_pytest_command(hunted, samples.non_idempotent()) is None
    assert plain_pytest_command(hunted, samples.unexplained()) is None


def test_the_plain_command_names_tests_as_seen_from_where_the_user_stands(tmp_path: Path) -> None:
    here = tmp_path / "tests"
    replay = Replay(order=(NodeId("tests/test_a.py::test_x"), NodeId("more/test_b.py::T::test_y")))

    command = plain_pytest(replay, "python", (), cwd=str(here), rootdir=str(tmp_path))

    assert command == "python -m pytest test_a.py::test_x ../more/test_b.py::T::test_y"


def test_paths_and_node_ids_of_the_user_are_left_out_and_options_stay(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").touch()
    given_args = [
        "-q",
        "tests",
        "-k",
        "tests",
        "--tb=short",
        "a.py::b",
        "-c",
        "pytest.ini",
        "--deselect",
        "a::c",
    ]

    kept = options_only([*given_args, "-p", "no:randomly", str(tmp_path)], str(tmp_path))

    expected = [
        "-q",
        "-k",
        "tests",
        "--tb=short",
        "-c",
        "pytest.ini",
        "--deselect",
        "a::c",
        "-p",
        "no:randomly",
    ]
    assert kept == expected


@pytest.mark.parametrize("folder", [".", "tests"])
def test_a_pasted_plain_command_makes_the_victim_fail(tmp_path: Path, folder: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_pair.py").write_text(
        "import pytest\nseen = []\n"
        "@pytest.mark.parametrize('x', ['$a \\'b'])\ndef test_victim(x): assert not seen\n"
        "def test_polluter(): seen.append(1)\n"
    )
    module = "tests/test_pair.py"
    victim = replace(
        samples.victim(),
        replay=Replay(order=(NodeId(f"{module}::test_polluter"), NodeId(f"{module}::test_victim[$a 'b]"))),
    )
    hunted = samples.a_hunt(
        cwd=str(tmp_path / folder),
        python_path=sys.executable,
        pytest_args=("-q", "-p", "no:randomly", "-p", "no:cacheprovider", str(tmp_path / "tests")),
    )
    hunted = replace(hunted, suite=replace(hunted.suite, rootdir=str(tmp_path)))

    command = plain_pytest_command(hunted, victim)
    done = subprocess.run(
        command or "exit 9", shell=True, cwd=hunted.cwd, capture_output=True, text=True, check=False
    )

    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
