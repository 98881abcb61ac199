"""The source text of planted tests: ordinary tests of the library with one line too many, or one assumption."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from planted_state import StateCode, Words

SHARE_OF_SLOW_POLLUTERS = 0.15
SLOW_S = (1.0, 3.0)
SHARE_OF_METHODS = 0.25  # of the planted tests


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """An ordinary use of the library that always works."""

    imports: tuple[str, ...]
    lines: tuple[str, ...]  # with {n}: a small number
    check: str  # an expression, with {n}

    def filled(self, number: int) -> Snippet:
        """The snippet with its number."""
        fill = str(number)
        return Snippet(
            imports=self.imports,
            lines=tuple(line.replace("{n}", fill) for line in self.lines),
            check=self.check.replace("{n}", fill),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What one planted test does, without its name."""

    imports: tuple[str, ...]
    lines: tuple[str, ...]
    module_lines: tuple[str, ...] = ()  # before the function
    neighbour: tuple[str, ...] = ()  # lines of an ordinary test; if there are some, both are methods of a class


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomBody:
    """A test that fails with a known probability."""

    body: Body
    via: str
    rate: float
    by_process: bool = False  # the outcome is the same for every run of one process
    fails_at_s: int | None = None  # a moment at which it fails, for a test that depends on the clock only


@dataclass(slots=True)
class BodyWriter:
    """Writes test bodies with the snippets of one suite; everything is drawn from one generator."""

    rng: Random
    snippets: Sequence[Snippet]
    words: Words = field(init=False)

    def __post_init__(self) -> None:
        self.words = Words(self.rng)

    def polluter(self, state: StateCode) -> Body:
        """Changes the state and does not restore it; also a state-setter. Some take seconds."""
        lines, imports = (*state.change, f"assert {state.is_changed}"), state.imports
        if self.rng.random() < SHARE_OF_SLOW_POLLUTERS:
            imports = (*imports, "import time")
            lines = (*self._long_work(), *lines)
        return self._around(imports, lines)

    def _long_work(self) -> tuple[str, ...]:
        limit_s = round(self.rng.uniform(*SLOW_S), 1)
        lines = (f"deadline = time.perf_counter() + {limit_s}", "while time.perf_counter() < deadline:")
        return (*lines, "    total = sum(number * number for number in range(20_000))", "    assert total > 0")

    def cleaner(self, state: StateCode) -> Body:
        """Restores the default, whatever the state is."""
        return self._around(state.imports, (*state.clear, f"assert {state.is_default}"))

    def victim(self, state: StateCode) -> Body:
        """Assumes the default."""
        return self._around(state.imports, (f"assert {state.is_default}",))

    def joint_victim(self, first: StateCode, second: StateCode) -> Body:
        """Fails only if both states are changed."""
        lines = (f"if {first.is_changed}:", f"    assert {second.is_default}")
        return self._around((*first.imports, *second.imports), lines)

    def brittle(self, state: StateCode) -> Body:
        """Needs the changed state."""
        return self._around(state.imports, (f"assert {state.is_changed}",))

    def non_idempotent(self, state: StateCode) -> Body:
        """Assumes the default and changes the state afterwards."""
        lines = (f"assert {state.is_default}", *state.change, f"assert {state.is_changed}")
        return self._around(state.imports, lines)

    def random_body(self, made: RandomBody) -> RandomBody:
        """The same with an ordinary use of the library."""
        body = self._around(made.body.imports, made.body.lines, made.body.module_lines)
        return replace(made, body=body)

    def _around(self, imports: Sequence[str], lines: Sequence[str], module_lines: Sequence[str] = ()) -> Body:
        """The lines between those of a snippet, which make the test look like its neighbours."""
        snippet = self.rng.choice(self.snippets).filled(self.rng.randint(4, 12))
        is_early = self.rng.random() < 0.3 and not any(line.startswith("assert") for line in lines[:1])
        check = f"assert {snippet.check}"
        text = (*lines, *snippet.lines, check) if is_early else (*snippet.lines, check, *lines)
        ordinary = (*snippet.imports, "", *snippet.lines, check)
        return Body(
            imports=tuple(sorted({*imports, *snippet.imports})),
            lines=text,
            module_lines=tuple(module_lines),
            neighbour=ordinary if self.rng.random() < SHARE_OF_METHODS else (),
        )


def source_of_test(name: str, body: Body) -> str:
    """The source of a test, with the lines that its module needs before it."""
    head = "".join(f"{line}\n" for line in body.module_lines)
    own = _function(name, (*body.imports, "", *body.lines), "self" if body.neighbour else "")
    if body.neighbour:
        other = _function("test_ordinary_use", body.neighbour, "self")
        own = f"class {class_name(name)}:\n{_indented(other)}\n{_indented(own)}"
    return f"{head}{chr(10) * 2 if head else ''}{own}"


def class_name(name: str) -> str:
    """The name of the class of a test with a neighbour."""
    return "".join(part.capitalize() for part in name.split("_"))


def _function(name: str, lines: Sequence[str], arguments: str) -> str:
    return f"def {name}({arguments}):\n" + _indented("".join(f"{line}\n" for line in lines))


def _indented(source: str) -> str:
    return "".join(f"    {line}" if line.strip() else line for line in source.splitlines(keepends=True))


TICK, RACE, HASH = "a tick of the clock", "a race of two threads", "the order of a set of strings"
RandomMaker = Callable[[Words, float], RandomBody]


def _limit_of_draws(rate: float, draws: int) -> float:
    """The limit that the largest of some uniform draws exceeds with this probability."""
    return math.exp(math.log(1.0 - rate) / draws)


def _drawn(via: str, generator: str, imports: tuple[str, ...], module_lines: tuple[str, ...]) -> RandomMaker:
    """A maker of tests that draw numbers and fail if one of them is large."""

    def make(words: Words, rate: float) -> RandomBody:
        draws, name = words.number(2, 6), words.name()
        source = generator.format(name=name)
        lines = (
            f"weights = [{source}.random() for _ in range({draws})]",
            f"assert max(weights) < {_limit_of_draws(rate, draws):.5f}",
        )
        head = tuple(line.format(name=name) for line in module_lines)
        return RandomBody(body=Body(imports=imports, lines=lines, module_lines=head), via=via, rate=rate)

    return make


def _unique_id(words: Words, rate: float) -> RandomBody:
    parts = 400
    lines = (
        f"slot = uuid.uuid4().int % {parts}",
        f"assert slot >= {round(parts * rate)}",
    )
    return RandomBody(body=Body(imports=("import uuid",), lines=lines), via="uuid.uuid4()", rate=rate)


def _clock_tick(words: Words, rate: float) -> RandomBody:
    """Two readings of a coarse clock around a short wait."""
    wait_s = 0.01
    ticks = max(1, round(rate / wait_s))  # per second
    name = words.name()
    lines = (
        f"{name} = int(time.time() * {ticks})",
        f"time.sleep({wait_s})",
        f"assert int(time.time() * {ticks}) == {name}",
    )
    return RandomBody(body=Body(imports=("import time",), lines=lines), via=TICK, rate=rate)


def _nanoseconds(words: Words, rate: float) -> RandomBody:
    """The last digits of the clock's microseconds."""
    name = words.name()
    lines = (f"{name} = time.time_ns() // 1000 % 100", f"assert {name} >= {round(rate * 100)}")
    return RandomBody(
        body=Body(imports=("import time",), lines=lines), via="the last digits of the clock", rate=rate
    )


def clock_window(words: Words) -> RandomBody:
    """Fails for some seconds, then passes for ten times as long: all runs at one moment agree."""
    bad, length_s, windows = words.number(0, 9), words.number(2, 4), 10
    lines = (f"slot = int(time.time()) // {length_s} % {windows}", f"assert slot != {bad}")
    return RandomBody(
        body=Body(imports=("import time",), lines=lines),
        via="the time of day",
        rate=1 / windows,
        fails_at_s=length_s * (bad + windows * 50_000_000),
    )


def _address(words: Words, rate: float) -> RandomBody:
    """The address of an object, which the system chooses for each new process."""
    lines = ("marker = object()", "slot = (id(marker) >> 30) % 100", f"assert slot >= {round(rate * 100)}")
    return RandomBody(body=Body(imports=(), lines=lines), via="an address", rate=rate, by_process=True)


def _thread_race(words: Words, rate: float) -> RandomBody:
    """A helper thread with a delay between 0 and 20 ms, and a main thread that waits a little less."""
    lines = (
        "finished = threading.Event()",
        "delay = random.Random().uniform(0, 0.02)",
        "threading.Timer(delay, finished.set).start()",
        f"assert finished.wait({0.02 * (1 - rate) + 0.0003:.4f})",
    )
    imports = ("import random", "import threading")
    return RandomBody(body=Body(imports=imports, lines=lines), via=RACE, rate=rate)


def hash_order(words: Words) -> RandomBody:
    """The order of a set of strings; its rate is fixed by the number of strings."""
    values = words.values(4)
    listed = ", ".join(f'"{value}"' for value in values)
    lines = (f"kinds = {{{listed}}}", f'assert next(iter(kinds)) != "{values[1]}"')
    body = Body(imports=(), lines=lines)
    return RandomBody(body=body, via=HASH, rate=1 / len(values), by_process=True)


MODULE_GENERATOR = _drawn(
    "random.Random() made at import",
    "_{name}_source",
    (),
    ("from random import Random", "", "_{name}_source = Random()"),
)
NUMPY_GENERATOR = _drawn(
    "numpy.random.default_rng() made at import",
    "_{name}_source",
    (),
    ("from numpy.random import default_rng", "", "_{name}_source = default_rng()"),
)
GLOBAL_GENERATOR = _drawn("random.random()", "random", ("import random",), ())
UNIQUE_ID = _unique_id
CLOCK_TICK = _clock_tick
NANOSECONDS = _nanoseconds
ADDRESS = _address
THREAD_RACE = _thread_race
