"""True flakes that have nothing to do with the change."""

from __future__ import annotations

from .project import Project
from .situation import Situations

UNRELATED = Situations("flakes-unrelated")

CART = """
    def total(prices):
        return sum(prices)
"""
TOTAL = "from shop.cart import total\n\n\ndef test_cart():\n    assert total([1, 2]) == 3\n"
HEAD = """import os
import random
import secrets
import tempfile
import threading
import time
import uuid
from pathlib import Path


"""


def flake(project: Project, test: str, **files: str) -> None:
    """A flaky test beside a tested function that is changed without harm."""
    lines = test.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    text = "\n".join(line[indent:] for line in lines) + "\n"
    project.write_all({"shop/cart.py": CART, "tests/test_cart.py": TOTAL, "tests/test_a.py": HEAD + text, **files})
    project.commit("the base")
    project.branch()
    project.replace("shop/cart.py", "sum(prices)", "sum(list(prices))")
    project.commit("a harmless change")


def rolls(project: Project, condition: str) -> None:
    """A test that asserts a random condition."""
    flake(project, f"def test_flake():\n    assert {condition}\n")


add = UNRELATED.add


@add("test_flake", sometimes=True)
def random_numbers_fail_in_10_percent(project: Project) -> None:
    rolls(project, "random.random() > 0.1")


@add("test_flake", sometimes=True)
def random_numbers_fail_in_30_percent(project: Project) -> None:
    rolls(project, "random.random() > 0.3")


@add("test_flake", sometimes=True, quick=True)
def random_numbers_fail_in_60_percent(project: Project) -> None:
    rolls(project, "random.random() > 0.6")


@add("test_flake", sometimes=True)
def numbers_of_the_system_fail_in_20_percent(project: Project) -> None:
    rolls(project, "secrets.randbelow(100) >= 20")


@add("test_flake", sometimes=True)
def numbers_of_the_system_fail_in_45_percent(project: Project) -> None:
    rolls(project, "secrets.randbelow(100) >= 45")


@add("test_flake", sometimes=True)
def the_order_of_a_set_of_words_is_expected(project: Project) -> None:
    rolls(project, "list({'alpha', 'beta', 'gamma'})[0] != 'alpha'")


@add("test_flake", sometimes=True)
def the_hash_of_a_word_is_even_by_chance(project: Project) -> None:
    rolls(project, "hash('flakehound') % 2")


@add("test_flake", sometimes=True)
def the_time_of_day_is_odd_by_chance(project: Project) -> None:
    rolls(project, "time.time_ns() // 1000 % 2")


@add("test_flake", sometimes=True)
def a_sleep_is_expected_to_be_exact(project: Project) -> None:
    rolls(
        project,
        "(lambda t: time.sleep(0.001) or (time.perf_counter_ns() - t) // 1000 % 3)(time.perf_counter_ns())",
    )


@add("test_flake", sometimes=True)
def a_random_identifier_starts_with_a_letter(project: Project) -> None:
    rolls(project, "uuid.uuid4().hex[0] not in 'abc'")


@add("test_flake", sometimes=True)
def a_random_identifier_is_in_the_message(project: Project) -> None:
    rolls(project, "uuid.uuid4().hex > '4'")


@add("test_flake", sometimes=True)
def a_random_number_is_in_the_message(project: Project) -> None:
    rolls(project, "secrets.randbelow(1000) < 600")


@add("test_flake", sometimes=True)
def a_random_list_is_in_the_message(project: Project) -> None:
    rolls(project, "random.sample(range(4), 4)[0] in (0, 1, 2)")


@add("test_flake", sometimes=True)
def addresses_of_objects_are_compared(project: Project) -> None:
    rolls(project, "id(os.urandom(random.SystemRandom().randrange(1, 4000))) // 16 % 3")


@add("test_flake", sometimes=True)
def two_threads_race(project: Project) -> None:
    flake(
        project,
        """
        def test_flake():
            order = []
            threads = [
                threading.Thread(target=lambda n=n: (time.sleep(secrets.randbelow(30) / 10000), order.append(n)))
                for n in range(2)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert order == [0, 1]
        """,
    )


@add("test_victim", quick=True)
def a_polluter_runs_before_its_victim(project: Project) -> None:
    flake(
        project,
        """
        NAMES = []


        def test_polluter():
            NAMES.append("x")


        def test_victim():
            assert NAMES == []
        """,
    )


@add("test_victim")
def a_polluter_leaves_a_variable_of_the_environment(project: Project) -> None:
    flake(
        project,
        """
        def test_polluter():
            os.environ["SHOP_MODE"] = "debug"


        def test_victim():
            assert "SHOP_MODE" not in os.environ
        """,
    )


@add("test_victim")
def a_polluter_goes_to_another_folder(project: Project) -> None:
    flake(
        project,
        """
        def test_polluter(tmp_path):
            os.chdir(tmp_path)


        def test_victim():
            assert Path("pytest.ini").exists()
        """,
    )


@add("test_flake", sometimes=True)
def a_random_error_is_raised_below_the_test(project: Project) -> None:
    flake(
        project,
        """
        def connect():
            if secrets.randbelow(100) < 40:
                raise ConnectionError(f"no answer after {secrets.randbelow(1000)} ms")


        def test_flake():
            connect()
        """,
    )


@add("test_flake", sometimes=True)
def one_of_two_errors_is_raised(project: Project) -> None:
    flake(
        project,
        """
        def test_flake():
            number = secrets.randbelow(100)
            if number < 20:
                raise TimeoutError("slow")
            assert number < 70
        """,
    )


@add("test_flake", sometimes=True)
def a_fixture_fails_sometimes(project: Project) -> None:
    flake(
        project,
        """
        import pytest


        @pytest.fixture
        def server():
            if secrets.randbelow(100) < 40:
                raise OSError("address in use")


        def test_flake(server):
            pass
        """,
    )


@add("test_flake", sometimes=True)
def a_listing_is_expected_to_be_sorted(project: Project) -> None:
    flake(
        project,
        """
        def test_flake(tmp_path):
            for _ in range(2):
                (tmp_path / secrets.token_hex(4)).touch()
            names = os.listdir(tmp_path)
            assert names == sorted(names)
        """,
    )


@add("test_flake", sometimes=True)
def a_process_that_is_started_fails_sometimes(project: Project) -> None:
    flake(
        project,
        """
        import subprocess
        import sys


        def test_flake():
            code = "import secrets, sys; sys.exit(secrets.randbelow(100) < 40)"
            assert subprocess.run([sys.executable, "-c", code]).returncode == 0
        """,
    )


@add("test_flake", sometimes=True)
def a_file_that_is_left_behind_lets_every_second_run_fail(project: Project) -> None:
    flake(
        project,
        """
        def test_flake():
            left = Path(os.environ["OUTSIDE"]) / "left.txt"
            if left.exists():
                left.unlink()
                raise FileExistsError(left)
            left.touch()
        """,
    )
