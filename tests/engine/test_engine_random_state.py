"""The last test of an order starts from the random numbers with which it failed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap

import pytest
from dependency_samples import plan_for
from engine_samples import BARE

from flakehound.core.outcomes import Outcome
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import Spawner


def test_the_last_test_of_an_order_starts_from_a_given_random_state(open_sample, tmp_path):
    generator = random.Random(42)
    expected = random.Random(42).random()
    version, numbers, gauss = generator.getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": None}))
    sample = open_sample(
        {
            "test_it.py": textwrap.dedent(
                f"""
                import pytest, random

                @pytest.fixture(autouse=True)
                def drawn():
                    return random.random()

                def test_before(drawn): assert drawn != {expected!r}
                def test_it(drawn): assert drawn == {expected!r}
                """
            )
        }
    )
    target = Target(python=sys.executable, cwd=sample.root, random_state=state, env=BARE)

    records, _suite = Spawner(target, tmp_path / "more" / "n").run_single(plan_for(), Limits(), ())

    assert records[0].outcomes == (Outcome.PASSED, Outcome.PASSED)


def test_a_test_that_pytest_randomly_seeds_draws_the_same_numbers_again(open_sample, tmp_path):
    pytest.importorskip("pytest_randomly")
    version, numbers, gauss = random.getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": 7}))
    sample = open_sample(
        {
            "test_it.py": """
                import os, pytest, random

                def draw():
                    with open(os.environ["DRAWN"], "a") as file:
                        print(random.random(), file=file)

                @pytest.fixture
                def drawing():
                    draw()
                    yield
                    draw()

                def test_it(drawing): draw()
                """
        }
    )
    env = {"DRAWN": str(tmp_path / "again")}
    target = Target(
        python=sys.executable,
        cwd=sample.root,
        random_state=state,
        pytest_args=("-p", "randomly"),
        env={**BARE, **env},
    )

    Spawner(target, tmp_path / "more" / "n").run_single(plan_for(), Limits(), ())
    command = [sys.executable, "-m", "pytest", "-p", "randomly", "-p", "no:cacheprovider", "--randomly-seed=7"]
    first = {**os.environ, **BARE, "DRAWN": str(tmp_path / "first")}
    subprocess.run(command, cwd=sample.root, env=first, check=True)

    assert (tmp_path / "again").read_text() == (tmp_path / "first").read_text()
