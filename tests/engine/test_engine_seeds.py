"""Random numbers follow the plan's seed, unless the project seeds them itself."""

from __future__ import annotations

import pytest
from engine_samples import HASH_SEED, Sample

from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

DRAWS = """
    import random
    def test_draws():
        with open("drawn", "a") as file:
            file.write("%r\\n" % random.random())
    """


@pytest.fixture(scope="module")
def unseeded(open_shared_sample) -> Sample:
    return open_shared_sample({"test_it.py": DRAWS})


@pytest.fixture(scope="module")
def seeded(open_shared_sample) -> Sample:
    return open_shared_sample({"test_it.py": "import random; random.seed(0)\n" + DRAWS.replace("\n    ", "\n")})


def drawn_number(sample: Sample, run: str, **options: object) -> str:
    file = sample.root / "drawn"
    file.unlink(missing_ok=True)
    getattr(sample, run)("test_it.py::test_draws", **options)
    (number,) = file.read_text().split()
    return number


@pytest.mark.parametrize("run", ["fork", "spawn"])
def test_equal_seeds_draw_equal_numbers_and_others_draw_others(unseeded, run):
    first, again, other = (drawn_number(unseeded, run, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other


def test_a_seed_means_the_same_in_a_fork_and_in_a_new_interpreter(unseeded):
    assert drawn_number(unseeded, "fork", seed=3) == drawn_number(unseeded, "spawn", seed=3)


def test_without_a_seed_every_fork_draws_another_number(unseeded):
    numbers = {drawn_number(unseeded, "fork", seed=None) for _ in range(3)}

    assert len(numbers) == 3


def test_a_project_that_seeds_itself_keeps_its_sequence(seeded):
    options = {"seed": 5, "self_seeded": ["random"]}
    seeded.plain_process()
    plain = (seeded.root / "drawn").read_text().strip()

    assert drawn_number(seeded, "fork", **options) == plain
    assert drawn_number(seeded, "fork", **(options | {"seed": 6})) == plain
    assert drawn_number(seeded, "spawn", **options) == plain


@pytest.mark.parametrize(("name", "expected"), [("seeded", ("random",)), ("unseeded", ())])
def test_opening_a_suite_finds_out_whether_it_seeds_itself(request, name, expected):
    sample = request.getfixturevalue(name)

    suite = open_suite(sample.target, jobs=1, isolation=None, hash_seed=HASH_SEED, limits=Limits())
    suite.close()

    assert suite.pool.self_seeded == expected


def test_the_hash_seed_of_the_plan_reaches_the_interpreter(open_sample):
    sample = open_sample(
        {
            "test_it.py": """
                import os
                def test_hash(): assert os.environ["PYTHONHASHSEED"] == "7"
                """
        }
    )

    assert sample.spawn().outcomes == sample.fork(*sample.ids).outcomes
    assert not sample.spawn().failures
