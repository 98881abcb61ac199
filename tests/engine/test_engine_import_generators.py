"""Random generators that the suite creates at import draw other numbers in each run, and the same for one seed."""

from __future__ import annotations

import pytest
from engine_samples import HASH_SEED, Sample

from flakehound.core.plans import Isolation
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

SHOP = """
    import random
    import numpy

    class Client:
        def __init__(self):
            self.jitter = random.Random()

    class Model:
        noise = random.Random()

    module_level = random.Random()
    by_numpy = numpy.random.default_rng()
    by_legacy_numpy = numpy.random.RandomState()
    client = Client()
    draw = random.Random().random
    clients = {"eu": [Client()]}
    deep = [[[[[[[[random.Random(), random.Random(43)]]]]]]]]
    constant = random.Random(42)
    numpys_constant = numpy.random.default_rng(42)

    def by_default(generator=random.Random()):
        return generator.random()
    """
DRAWS = """
    import shop
    def test_draws():
        numbers = [
            shop.module_level.random(), shop.by_numpy.random(), shop.by_legacy_numpy.random_sample(),
            shop.client.jitter.random(), shop.Model.noise.random(), shop.draw(), shop.by_default(),
            shop.clients["eu"][0].jitter.random(), shop.by_numpy.bit_generator.seed_seq.generate_state(1)[0],
            shop.deep[0][0][0][0][0][0][0][0].random(),
        ]
        constants = [
            shop.constant.random(), shop.numpys_constant.random(), shop.deep[0][0][0][0][0][0][0][1].random()
        ]
        with open("drawn", "a") as file:
            file.write(" ".join("%r" % float(number) for number in numbers + constants) + "\\n")
    """
KINDS = 10  # of which none is seeded by the project
pytest.importorskip("numpy", reason="the sample draws from numpy's generators")


@pytest.fixture(scope="module")
def sample(open_shared_sample) -> Sample:
    return open_shared_sample({"shop.py": SHOP, "test_it.py": DRAWS, "conftest.py": ""})


@pytest.fixture(scope="module")
def self_seeded(sample) -> tuple[str, ...]:
    suite = open_suite(sample.target, jobs=1, isolation=None, hash_seed=HASH_SEED, limits=Limits())
    suite.close()
    assert suite.isolation is Isolation.FORK
    return suite.pool.self_seeded


def test_the_generators_of_a_suite_that_cannot_be_forked_are_compared_too(open_sample):
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    sample = open_sample({"shop.py": SHOP, "test_it.py": DRAWS, "conftest.py": thread})

    suite = open_suite(sample.target, jobs=1, isolation=None, hash_seed=HASH_SEED, limits=Limits())
    suite.close()

    assert suite.isolation is Isolation.SPAWN
    assert {"compared", "shop:constant"} <= set(suite.pool.self_seeded)
    assert "shop:module_level" not in suite.pool.self_seeded


def drawn_numbers(sample: Sample, run: str, **options: object) -> list[str]:
    file = sample.root / "drawn"
    file.unlink(missing_ok=True)
    getattr(sample, run)("test_it.py::test_draws", **options)
    (line,) = file.read_text().splitlines()
    return line.split()


def test_only_generators_with_a_constant_seed_are_taken_for_seeded_by_the_project(self_seeded):
    named = {name for name in self_seeded if not name.startswith("unnamed ")}

    assert named == {"compared", "shop:constant", "shop:numpys_constant"}
    assert len(self_seeded) == len(named) + 1  # the one with a constant seed that is too deep for a name


@pytest.mark.parametrize("seed", [7, None])
def test_every_fork_draws_other_numbers(sample, self_seeded, seed):
    seeds = [None] * 3 if seed is None else [seed, seed + 1, seed + 2]

    runs = [drawn_numbers(sample, "fork", seed=one, self_seeded=self_seeded) for one in seeds]

    for numbers in list(zip(*runs, strict=True))[:KINDS]:
        assert len(set(numbers)) == 3, numbers


def test_a_seed_means_the_same_in_every_fork_and_in_a_new_interpreter(sample, self_seeded):
    options = {"seed": 5, "self_seeded": self_seeded}

    first, again = (drawn_numbers(sample, "fork", **options) for _ in range(2))
    spawned = drawn_numbers(sample, "spawn", **options)

    assert first == again == spawned
    assert len(set(first)) == len(first)  # no generator draws the numbers of another one


@pytest.mark.parametrize("run", ["fork", "spawn"])
def test_generators_with_a_constant_seed_draw_the_numbers_of_plain_pytest(sample, self_seeded, run):
    (sample.root / "drawn").unlink(missing_ok=True)
    sample.plain_process()
    plain = (sample.root / "drawn").read_text().split()

    numbers = drawn_numbers(sample, run, seed=5, self_seeded=self_seeded)

    assert numbers[KINDS:] == plain[KINDS:]


def test_without_a_second_collection_to_compare_all_generators_stay_as_they_are(sample):
    first, other = (drawn_numbers(sample, "fork", seed=seed, self_seeded=()) for seed in (1, 2))

    assert first == other


def test_a_copy_of_a_process_continues_the_sequences_of_the_tests_before_it(sample, self_seeded):
    (sample.root / "drawn").unlink(missing_ok=True)
    test = "test_it.py::test_draws"
    sample.fork(test, test, seed=3, self_seeded=self_seeded)
    sample.fork_tree([test], [[test]], seed=3, self_seeded=self_seeded)

    lines = (sample.root / "drawn").read_text().splitlines()

    assert len(lines) == 4
    assert lines[:2] == lines[2:]
    assert lines[0] != lines[1]
