"""Write the sample suites that the benchmarks run; they are the same every time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

HEAVY_IMPORTS = (
    "asyncio", "concurrent.futures", "ctypes", "email.mime.multipart", "http.server", "importlib.metadata",
    "logging.config", "multiprocessing.pool", "pydoc", "sqlite3", "ssl", "unittest.mock", "urllib.request",
    "xml.dom.minidom", "xml.etree.ElementTree", "xmlrpc.client", "zipfile",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedPair:
    """A polluter, its victim, and the distance from the polluter to a cleaner."""

    polluter: str
    victim: str
    cleaner_distance: int | None = None  # tests after the polluter in the original order; None: no cleaner
    polluter_index: int = 0  # in the original order
    victim_index: int = 0


def write_small_suite(folder: Path) -> str:
    """Write 50 fast tests in 5 files that use json, decimal and http.client; return the id of one of them."""
    body = """
        import decimal
        import http.client
        import json

        import pytest


        @pytest.fixture
        def order():
            return {{"item": "tea", "price": "2.50", "count": {number}}}


        @pytest.mark.parametrize("count", range(1, 6))
        def test_total(order, count):
            assert decimal.Decimal(order["price"]) * count == decimal.Decimal("2.5") * count


        @pytest.mark.parametrize("status", [200, 301, 404, 418, 500])
        def test_status_survives_json(order, status):
            copy = json.loads(json.dumps({{**order, "reason": http.client.responses[status]}}))
            assert copy["reason"] == http.client.responses[status]
    """
    for number in range(5):
        _write(folder / f"test_shop_{number}.py", body.format(number=number))
    return "test_shop_2.py::test_total[3]"


def write_heavy_import_suite(folder: Path, *, import_wait_s: float) -> None:
    """Write 60 tests of about 2 ms that import many modules of the standard library, and wait at import."""
    imports = "\n".join(f"import {name}" for name in HEAVY_IMPORTS)
    _write(folder / "heavy.py", f"import time\n{imports}\n\ntime.sleep({import_wait_s})\n")
    body = """
        import hashlib

        import heavy
        import pytest


        @pytest.mark.parametrize("number", range(10))
        def test_digest(number):
            assert hashlib.pbkdf2_hmac("sha256", b"%d" % number, b"salt", 3000)
    """
    for number in range(6):
        _write(folder / f"test_heavy_{number}.py", body)


def write_victims_suite(
    folder: Path,
    *,
    tests: int = 300,
    victims: int = 10,
    polluters_each: int = 1,
    cleaner_distances: Sequence[int] = (),
    cleaning_victims: int = 0,
) -> list[PlantedPair]:
    """Write tiny tests in 10 files, with victims at random places, each with planted polluters.

    With `cleaner_distances`, the pairs in turn have a cleaner that many tests after the polluter (0: none). The
    first `cleaning_victims` victims remove all pollution after they have passed.
    """
    roles = _planted_roles(tests, victims, polluters_each, cleaner_distances)
    for victim in list(dict.fromkeys(victim for _polluter, victim, _distance in roles.pairs))[:cleaning_victims]:
        roles.bodies[victim].append("    state.dirty.clear()")
    _write(folder / "state.py", "dirty = set()\n")
    for file in range(10):
        numbers = range(file * tests // 10, (file + 1) * tests // 10)
        lines = ["import state", ""]
        for number in numbers:
            lines += ["", f"def test_{number:04}():", *roles.bodies.get(number, ["    assert True"])]
        _write(folder / f"test_part_{file}.py", "\n".join(lines) + "\n")
    return [
        PlantedPair(
            polluter=_id(polluter, tests),
            victim=_id(victim, tests),
            cleaner_distance=distance,
            polluter_index=polluter,
            victim_index=victim,
        )
        for polluter, victim, distance in roles.pairs
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roles:
    bodies: dict[int, list[str]]  # test number -> its lines
    pairs: list[tuple[int, int, int | None]]  # polluter, victim, distance to the cleaner


def _planted_roles(tests: int, victims: int, polluters_each: int, cleaner_distances: Sequence[int]) -> _Roles:
    rng = random.Random(tests)
    free = list(range(tests))
    rng.shuffle(free)
    bodies: dict[int, list[str]] = {}
    pairs: list[tuple[int, int, int | None]] = []
    for victim_number in range(victims):
        victim = free.pop()
        bodies[victim] = [f"    assert {victim_number} not in state.dirty"]
        for _ in range(polluters_each):
            distance = cleaner_distances[len(pairs) % len(cleaner_distances)] if cleaner_distances else 0
            polluter = next(n for n in reversed(free) if not distance or n + distance in free)
            free.remove(polluter)
            bodies[polluter] = [f"    state.dirty.add({victim_number})"]
            if distance:
                free.remove(polluter + distance)
                bodies[polluter + distance] = [f"    state.dirty.discard({victim_number})"]
            pairs.append((polluter, victim, distance or None))
    return _Roles(bodies=bodies, pairs=pairs)


def _id(number: int, tests: int) -> str:
    return f"test_part_{number * 10 // tests}.py::test_{number:04}"


def write_slow_collection_suite(
    folder: Path, *, tests: int = 512, files: int = 20, collection_s: float = 2.0
) -> PlantedPair:
    """Write tiny tests whose files wait at import, `collection_s` in total; the last test is the victim."""
    _write(folder / "state.py", "dirty = False\n")
    polluter = tests // 3
    for file in range(files):
        lines = ["import time", "", "import state", "", f"time.sleep({collection_s / files})", ""]
        for number in range(file * tests // files, (file + 1) * tests // files):
            body = "state.dirty = True" if number == polluter else "assert 1"
            body = "assert not state.dirty" if number == tests - 1 else body
            lines += ["", f"def test_{number:04}():", f"    {body}"]
        _write(folder / f"test_part_{file:02}.py", "\n".join(lines) + "\n")
    file_of_polluter = next(f for f in range(files) if polluter < (f + 1) * tests // files)
    return PlantedPair(
        polluter=f"test_part_{file_of_polluter:02}.py::test_{polluter:04}",
        victim=f"test_part_{files - 1:02}.py::test_{tests - 1:04}",
    )


def write_fixed_duration_suite(folder: Path, *, test_s: float, tests: int, busy: bool) -> None:
    """Write tests that each take `test_s`: they sleep, or use that much CPU time if `busy`."""
    body = f"""
        import time

        import pytest


        @pytest.mark.parametrize("number", range({tests // 4}))
        def test_takes_its_time(number):
            {"end = time.thread_time() + " + str(test_s) if busy else f"time.sleep({test_s})"}
            {"while time.thread_time() < end: pass" if busy else "assert True"}
    """
    for number in range(4):
        _write(folder / f"test_timed_{number}.py", body)


def write_large_suite(folder: Path, *, tests: int = 20_000) -> None:
    """Write many tests in 200 files, half of them in classes, a fifth parametrised."""
    body = """
        import pytest


        @pytest.fixture
        def basket():
            return []


        {functions}


        class TestBasketOfThisFile:
        {methods}


        @pytest.mark.parametrize("count", range({parameters}))
        def test_repeated_item_is_counted(basket, count):
            basket += ["tea"] * count
            assert basket.count("tea") == count
    """
    each = tests // 200
    functions = "\n\n\n".join(
        f"def test_sum_of_number_{n}(basket):\n    assert sum(range({n})) == {n} * ({n} - 1) // 2"
        for n in range(each - each // 2 - each // 5)
    )
    methods = "\n\n".join(
        f"    def test_item_{n}_goes_in(self, basket):\n        basket.append({n})\n        assert basket == [{n}]"
        for n in range(each // 2)
    )
    text = dedent(body).format(functions=functions, methods=methods, parameters=each // 5)
    for number in range(200):
        (folder / f"area_{number // 20}").mkdir(parents=True, exist_ok=True)
        (folder / f"area_{number // 20}" / f"test_basket_{number}.py").write_text(text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip("\n"))


CALL_HEAVY = """
    import json
    import re
    import sys

    import pytest


    def fibonacci(number):
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


    class Scanner:
        def __init__(self, text):
            self.text, self.place = text, 0

        def peek(self):
            return self.text[self.place] if self.place < len(self.text) else ""

        def take(self):
            letter = self.peek()
            self.place += 1
            return letter

        def number(self):
            digits = []
            while self.peek().isdigit():
                digits.append(self.take())
            return int("".join(digits))

        def factor(self):
            if self.peek() == "(":
                self.take()
                value = self.sum()
                self.take()
                return value
            return self.number()

        def product(self):
            value = self.factor()
            while self.peek() == "*":
                self.take()
                value *= self.factor()
            return value

        def sum(self):
            value = self.product()
            while self.peek() == "+":
                self.take()
                value += self.product()
            return value


    def squares(count):
        for number in range(count):
            yield number * number


    class Shelf:
        def __init__(self):
            self._items = {{}}

        def put(self, name, count):
            self._items[name] = self.count(name) + count
            return self

        def count(self, name):
            return self._items.get(name, 0)


    @pytest.fixture
    def shelf():
        return Shelf()


    @pytest.mark.parametrize("number", range({tests}))
    def test_recursion(number):
        for _ in range({rounds}):
            assert fibonacci(13) == 233


    @pytest.mark.parametrize("number", range({tests}))
    def test_parser(number):
        for _ in range({rounds}):
            assert Scanner("(1+2)*(3+4)+" * 6 + str(number)).sum() == 126 + number


    @pytest.mark.parametrize("number", range({tests}))
    def test_methods(shelf, number):
        for turn in range({rounds} * 100):
            shelf.put("tea", 1).put(str(turn % 7), max(turn, 2))
        assert shelf.count("tea") == {rounds} * 100


    @pytest.mark.parametrize("number", range({tests}))
    def test_generators_and_c_functions(number):
        for _ in range({rounds}):
            assert sum(square for square in squares(100) if square % 2) == 166650
            words = sorted(re.findall("[a-z]+", "some words to be sorted by length"), key=lambda word: len(word))
            assert len(json.dumps(words).replace(",", ";").split(";")) == 7
"""


def write_call_heavy_suite(folder: Path, *, tests: int, rounds: int) -> None:
    """Write tests that do little except call functions, 4 kinds of them in each of 4 files."""
    for number in range(4):
        _write(folder / f"test_calls_{number}.py", CALL_HEAVY.format(tests=tests, rounds=rounds))
    _write(
        folder / "conftest.py",
        """
        import os
        import sys

        import pytest

        if os.environ.get("EMPTY_PROFILER"):

            def listen(frame, event, arg):
                pass

            @pytest.hookimpl(hookwrapper=True)
            def pytest_pyfunc_call():
                sys.setprofile(listen)
                yield
                sys.setprofile(None)
        """,
    )
