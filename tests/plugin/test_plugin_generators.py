"""Random states and seeds: new ones for reruns, the failing one repeated, the user's restored."""

from __future__ import annotations

import ctypes
import random
import sys
from types import SimpleNamespace

import pytest
from plugin_projects import has

from flakehound_inside.triage.random_generators import NumpyTwister, RandomGenerators, python_twister

NOTES = """
    import random
    calls = []

    def note(value):
        with open("calls.txt", "a") as file:
            print(value, file=file)
"""


def test_each_rerun_has_its_own_seed_counted_from_the_one_that_was_given(suite):
    suite.write({"test_it.py": NOTES + "\n    def test_it():\n        note(random.random()); assert 0\n"})

    ran = suite.run("--flakehound-seed=41", "--flakehound-immediate=2")

    drawn = [float(line) for line in suite.lines()]
    seeds = [rerun["seed"] for rerun in ran.failure("test_it")["reruns"]]
    assert seeds == [42, 43, 44]
    assert drawn[1:] == [random.Random(seed).random() for seed in seeds]


def test_without_a_given_seed_one_is_chosen_and_reported(suite):
    suite.write({"test_it.py": "def test_it(): assert 0\n"})

    ran = suite.run()

    seed = ran.facts["options"]["seed"]
    assert ran.failure("test_it")["reruns"][0]["seed"] == (seed + 1) % 2**32


def test_after_a_rerun_that_passed_the_failing_state_is_repeated(suite):
    suite.write(
        {
            "test_it.py": NOTES
            + """
    def test_before(): random.random()

    def test_it():
        value = random.random()
        note(value)
        calls.append(value)
        assert value != calls[0]
"""
        }
    )

    ran = suite.run()

    first, fresh, same = suite.lines()
    assert first == same != fresh
    assert ran.reruns("test_it") == ["immediate P", "immediate F same state"]
    assert ran.failure("test_it")["reruns"][1]["seed"] is None


def test_the_state_in_the_facts_gives_the_numbers_of_the_failing_run(suite):
    suite.write({"test_it.py": NOTES + "\n    def test_it():\n        note(random.gauss(0, 1)); assert 0\n"})

    ran = suite.run("--flakehound-immediate=0", "--flakehound-postponed=0")

    version, numbers, gauss = ran.failure("test_it")["random_state"]["random"]
    generator = random.Random()
    generator.setstate((version, tuple(numbers), gauss))
    assert [str(generator.gauss(0, 1))] == suite.lines()


def test_a_long_suite_has_its_states_copied_from_memory_and_they_are_the_same(suite):
    suite.write(
        {
            "test_it.py": NOTES
            + """
    import pytest

    @pytest.mark.parametrize("number", range(300))
    def test_many(number): random.gauss(0, 1)

    def test_it():
        value = random.gauss(0, 1)
        note(value)
        calls.append(value)
        assert value != calls[0]
"""
        }
    )

    ran = suite.run("--flakehound-seed=8")

    first, fresh, same = suite.lines()
    assert first == same != fresh
    version, numbers, gauss = ran.failure("test_it")["random_state"]["random"]
    generator = random.Random()
    generator.setstate((version, tuple(numbers), gauss))
    assert str(generator.gauss(0, 1)) == first


@pytest.mark.skipif(not has("pytest_randomly"), reason="needs pytest-randomly")
def test_pytest_randomly_seeds_reruns_with_the_fresh_seed_and_later_tests_with_its_own(suite):
    suite.write(
        {
            "test_it.py": NOTES
            + """
    def test_it():
        note(random.random()); calls.append(1)
        assert len(calls) > 1

    def test_later(): note(random.random())
"""
        }
    )
    arguments = ("--randomly-seed=5", "--randomly-dont-reorganize")

    suite.plain(*arguments)
    first, later = suite.lines()
    ran = suite.run(*arguments)

    failing, fresh, same, after = suite.lines()
    assert (failing, same, after) == (first, first, later)
    assert fresh != first
    assert ran.failure("test_it")["random_state"]["seed"] == 5


def test_hypothesis_goes_on_without_the_seed_of_a_rerun(suite):
    if not has("hypothesis"):
        pytest.skip("needs hypothesis")
    suite.write(
        {
            "conftest.py": "import hypothesis.core\n",
            "test_it.py": """
                import hypothesis.core

                def test_it(): assert 0
                def test_later(): assert hypothesis.core.global_force_seed is None
            """,
        }
    )

    assert suite.run().outcomes == "1 failed, 1 passed"


def config(**options: object) -> SimpleNamespace:
    return SimpleNamespace(option=SimpleNamespace(**options))


def test_the_copied_memory_has_the_state_that_random_returns():
    twister = python_twister(random.getstate, tests=10_000)

    assert twister is not None
    assert twister.state(twister.copy()) == random.getstate()


@pytest.mark.parametrize("draws", [1, 623, 624, 625, 1248])
def test_memory_is_read_again_after_any_number_of_draws(draws):
    generator = random.Random(draws)
    twister = python_twister(generator.getstate, tests=10_000)
    twister.copy()

    for _draw in range(draws):
        generator.getrandbits(32)

    assert twister.state(twister.copy()) == generator.getstate()


def test_memory_is_read_again_when_a_gauss_was_kept_or_used_up():
    generator = random.Random(1)
    twister = python_twister(generator.getstate, tests=10_000)

    states = []
    for _time in range(4):
        states.append((twister.state(twister.copy()), generator.getstate()))
        generator.gauss(0, 1)

    assert [copied == told for copied, told in states] == [True] * 4


def test_another_implementation_of_python_uses_getstate(monkeypatch):
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(name="pypy"))

    assert python_twister(random.getstate, tests=10_000) is None


@pytest.mark.parametrize("tests", [1, 10_000])
def test_a_snapshot_is_restored(tests):
    generators = RandomGenerators(config())
    generators.prepare(tests)
    kept = random.getstate()
    try:
        random.gauss(0, 1)
        snapshot = generators.snapshot()
        drawn = [random.gauss(0, 1), random.random()]

        generators.restore(snapshot)

        assert [random.gauss(0, 1), random.random()] == drawn
    finally:
        random.setstate(kept)


class FakeNumpy:
    """As much of numpy.random as we ask for; its words are all zero, and its place is a number."""

    def __init__(self) -> None:
        self.has_gauss, self.asked = 0, 0
        self._memory = (ctypes.c_uint32 * 625)()
        self.kind = "MT19937"
        self._address = ctypes.addressof(self._memory)
        self._generators: dict[str, object] = {}

    def move_to(self, place: int) -> None:
        self._memory[624] = place

    def get_bit_generator(self):
        own = {"ctypes": SimpleNamespace(state_address=self._address)}
        return self._generators.setdefault(self.kind, type(self.kind, (), own)())

    def get_state(self):
        self.asked += 1
        return ("MT19937", self._memory[624], 0, self.has_gauss, 0.0)


def test_the_state_of_numpy_is_read_only_after_a_change():
    numpy_random, twister = FakeNumpy(), NumpyTwister()

    states = [twister.state(numpy_random)[1] for _ in range(3)]
    numpy_random.move_to(2)
    states += [twister.state(numpy_random)[1] for _ in range(3)]

    assert states == [0, 0, 0, 2, 2, 2]
    assert numpy_random.asked == 2


def test_the_state_of_numpy_is_read_again_while_it_has_a_stored_gauss():
    numpy_random, twister = FakeNumpy(), NumpyTwister()
    numpy_random.has_gauss = 1
    twister.state(numpy_random)

    numpy_random.has_gauss = 0

    assert twister.state(numpy_random)[3] == 0


def test_a_numpy_generator_of_another_type_has_no_legacy_state():
    numpy_random = FakeNumpy()
    numpy_random.kind = "PCG64"

    assert NumpyTwister().state(numpy_random) is None


def test_an_old_numpy_that_does_not_show_its_generator_is_asked_each_time():
    numpy_random = SimpleNamespace(get_state=FakeNumpy().get_state)

    assert NumpyTwister().state(numpy_random)[0] == "MT19937"
