"""Plant flaky tests of every kind into the test files of a suite, far apart, by seed; with a record of the truth.

A plant is a flaky test with the tests that it depends on: polluters, cleaners, state-setters. Each of them becomes
a function or a method in an existing test file, between the tests that are there. In the original order most of
them pass: a victim runs before its polluter, or after a cleaner. One victim fails there; NOD tests now and then.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from planted_code import (
    ADDRESS,
    CLOCK_TICK,
    GLOBAL_GENERATOR,
    MODULE_GENERATOR,
    NANOSECONDS,
    NUMPY_GENERATOR,
    THREAD_RACE,
    UNIQUE_ID,
    Body,
    BodyWriter,
    RandomBody,
    RandomMaker,
    Snippet,
    class_name,
    clock_window,
    hash_order,
    source_of_test,
)
from planted_modules import MODULE_STATES
from planted_state import FILE_STATES, NAMED_STATES, SINGLE_STATES, Library, NewModule, StateCode, StateMaker

TRUTH = "truth.json"
MIN_REQUIRED_RATE = 0.05  # NOD tests that fail more rarely are planted, but no goal is about them
# One for each source of randomness; the sources are shuffled.
NOD_RATES = (0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
SHARE_BY_SIZE = 0.4  # of the plants: their files are chosen by number of tests, so that large ones are hit
MAX_TESTS_PER_FILE = 3
MIN_FOLDERS = 8  # a suite with fewer folders of tests counts each file as a package
_FALLBACK_WORDS = ("defaults", "options", "roundtrip", "summary", "settings", "basic", "consistency", "copy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """One planted flaky test, and what is true about it."""

    test: str  # pytest's node id
    kind: str  # as in the report of a hunt
    via: str  # the state or the source of randomness
    culprits: tuple[str, ...] = ()  # polluters of a victim, state-setters of a brittle test
    cleaners: tuple[str, ...] = ()
    joint: bool = False  # the culprits are needed together; otherwise each of them suffices
    rate: float | None = None  # of a NOD test
    by_process: bool = False  # all runs of one process agree: by the hash seed, or by an address
    fails_at_s: int | None = None  # a moment at which a test fails that depends on the clock only
    fails_originally: bool = False  # in the original order, its polluter is before it

    @property
    def is_required(self) -> bool:
        """Whether the goals are about this test."""
        return self.rate is None or self.rate >= MIN_REQUIRED_RATE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantableSuite:
    """What planting needs to know about a suite."""

    library: Library
    snippets: Sequence[Snippet]
    files: Mapping[str, int]  # test files with their number of passing tests, in the original order
    has_numpy: bool = True
    seeds_random: bool = False  # its tests seed the global generator, so random.random() is not NOD in it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One test of a draft, with its role."""

    role: str  # flaky, culprit, cleaner
    body: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A plant before its tests have files; the parts are in the original order."""

    kind: str
    via: str
    parts: tuple[_Part, ...]
    joint: bool = False
    random: RandomBody | None = None
    fails_originally: bool = False
    modules: tuple[NewModule | None, ...] = ()


def plant(tree: Path, suite: PlantableSuite, seed: int) -> list[Plant]:
    """Add the tests of one seed to the files of a tree, and write the truth next to the tree."""
    rng = Random(f"{suite.library.package}-{seed}")
    drafts = _drafts(BodyWriter(rng=rng, snippets=suite.snippets), suite)
    placement, edits = _Placement(suite.files, rng), _FileEdits(tree, rng)
    plants = [_planted(draft, placement.files_for(len(draft.parts)), edits) for draft in drafts]
    edits.write()
    for module in (module for draft in drafts for module in draft.modules if module):
        (tree / module.path).write_text(module.source)
    (tree.parent / TRUTH).write_text(json.dumps([asdict(plant) for plant in plants], indent=1))
    return plants


def read_truth(folder: Path) -> list[Plant]:
    """The plants that `plant` recorded in this folder."""
    return [_plant_of(row) for row in json.loads((folder / TRUTH).read_text())]


def _plant_of(row: Mapping[str, Any]) -> Plant:
    return Plant(**{**row, "culprits": tuple(row["culprits"]), "cleaners": tuple(row["cleaners"])})


def _planted(draft: _Draft, files: Sequence[str], edits: _FileEdits) -> Plant:
    ids: dict[str, list[str]] = {"flaky": [], "culprit": [], "cleaner": []}
    for part, file in zip(draft.parts, files, strict=True):
        ids[part.role].append(edits.add(file, part.body))
    return Plant(
        test=ids["flaky"][0],
        kind=draft.kind,
        via=draft.via,
        culprits=tuple(ids["culprit"]),
        cleaners=tuple(ids["cleaner"]),
        joint=draft.joint,
        rate=draft.random.rate if draft.random else None,
        by_process=bool(draft.random and draft.random.by_process),
        fails_at_s=draft.random.fails_at_s if draft.random else None,
        fails_originally=draft.fails_originally,
    )


def _drafts(writer: BodyWriter, suite: PlantableSuite) -> list[_Draft]:
    """All plants of one seed: 9 victims, 3 brittle, 2 non-idempotent and 9 NOD tests."""
    states = _States(writer, suite.library)
    drafts = [
        *(_victim_before_polluter(writer, states.next()) for _ in range(2)),
        _victim_after_polluter(writer, states.next()),
        *(_victim_after_cleaner(writer, states.next()) for _ in range(2)),
        _victim_of_file(writer, states.next_file()),
        _victim_of_either(writer, states.next()),
        *(_joint_victim(writer, states.next(), states.next(), between) for between in (False, True)),
        *(_brittle(writer, states.next()) for _ in range(3)),
        *(_non_idempotent(writer, states.next()) for _ in range(2)),
        *_nod(writer, suite),
    ]
    writer.rng.shuffle(drafts)
    return drafts


class _States:
    """Deals pieces of state, as many different ones as possible."""

    def __init__(self, writer: BodyWriter, library: Library) -> None:
        self._writer = writer
        self._library = library
        self._makers = self._shuffled(SINGLE_STATES + NAMED_STATES + MODULE_STATES)

    def next(self) -> StateCode:
        """A piece of state that no other plant has."""
        if not self._makers:
            self._makers = self._shuffled(NAMED_STATES + MODULE_STATES)
        return self._made(self._makers.pop())

    def next_file(self) -> StateCode:
        """A file that no other plant has."""
        return self._made(self._writer.rng.choice(FILE_STATES))

    def _made(self, maker: StateMaker) -> StateCode:
        return maker(self._writer.words, self._library)

    def _shuffled(self, makers: Sequence[StateMaker]) -> list[StateMaker]:
        return self._writer.rng.sample(list(makers), len(makers))


def _victim_before_polluter(writer: BodyWriter, state: StateCode) -> _Draft:
    victim = _Part(role="flaky", body=writer.victim(state))
    polluter = _Part(role="culprit", body=writer.polluter(state))
    return _Draft(kind="victim", via=state.via, parts=(victim, polluter), modules=(state.module,))


def _victim_after_polluter(writer: BodyWriter, state: StateCode) -> _Draft:
    draft = _victim_before_polluter(writer, state)
    return replace(draft, parts=draft.parts[::-1], fails_originally=True)


def _victim_after_cleaner(writer: BodyWriter, state: StateCode) -> _Draft:
    polluter = _Part(role="culprit", body=writer.polluter(state))
    cleaner = _Part(role="cleaner", body=writer.cleaner(state))
    victim = _Part(role="flaky", body=writer.victim(state))
    return _Draft(kind="victim", via=state.via, parts=(polluter, cleaner, victim), modules=(state.module,))


def _victim_of_file(writer: BodyWriter, state: StateCode) -> _Draft:
    """The cleaner runs after the polluter, so a run in the original order leaves no file."""
    polluter = _Part(role="culprit", body=writer.polluter(state))
    cleaner = _Part(role="cleaner", body=writer.cleaner(state))
    victim = _Part(role="flaky", body=writer.victim(state))
    is_first = writer.rng.random() < 0.5
    parts = (victim, polluter, cleaner) if is_first else (polluter, cleaner, victim)
    return _Draft(kind="victim", via=state.via, parts=parts)


def _victim_of_either(writer: BodyWriter, state: StateCode) -> _Draft:
    victim = _Part(role="flaky", body=writer.victim(state))
    polluters = tuple(_Part(role="culprit", body=writer.polluter(state)) for _ in range(2))
    return _Draft(kind="victim", via=state.via, parts=(victim, *polluters), modules=(state.module,))


def _joint_victim(writer: BodyWriter, first: StateCode, second: StateCode, between: bool) -> _Draft:
    """A victim that needs both polluters; it runs before them, or between them."""
    victim = _Part(role="flaky", body=writer.joint_victim(first, second))
    polluters = [_Part(role="culprit", body=writer.polluter(state)) for state in (first, second)]
    writer.rng.shuffle(polluters)
    polluters.insert(1 if between else 0, victim)
    via, modules = f"{first.via} and {second.via}", (first.module, second.module)
    return _Draft(kind="victim", via=via, parts=tuple(polluters), joint=True, modules=modules)


def _brittle(writer: BodyWriter, state: StateCode) -> _Draft:
    setter = _Part(role="culprit", body=writer.polluter(state))
    brittle = _Part(role="flaky", body=writer.brittle(state))
    return _Draft(kind="brittle", via=state.via, parts=(setter, brittle), modules=(state.module,))


def _non_idempotent(writer: BodyWriter, state: StateCode) -> _Draft:
    part = _Part(role="flaky", body=writer.non_idempotent(state))
    return _Draft(kind="non-idempotent", via=state.via, parts=(part,), modules=(state.module,))


def _nod(writer: BodyWriter, suite: PlantableSuite) -> Iterator[_Draft]:
    """Seven sources of randomness with the seven rates, the hash seed, and the time of day."""
    sources: list[RandomMaker] = [
        *(MODULE_GENERATOR, UNIQUE_ID if suite.seeds_random else GLOBAL_GENERATOR),
        *(NUMPY_GENERATOR if suite.has_numpy else MODULE_GENERATOR, CLOCK_TICK, NANOSECONDS, THREAD_RACE),
    ]
    writer.rng.shuffle(sources)
    # The address gets one of the two highest rates: a rare failure of it takes too many new processes.
    sources.insert(len(NOD_RATES) - 1 - writer.rng.randint(0, 1), ADDRESS)
    drawn = [maker(writer.words, rate) for maker, rate in zip(sources, NOD_RATES, strict=True)]
    for made in [*drawn, hash_order(writer.words), clock_window(writer.words)]:
        whole = writer.random_body(made)
        yield _Draft(kind="nod", via=made.via, parts=(_Part(role="flaky", body=whole.body),), random=made)


class _Placement:
    """Chooses files for the tests of one plant: in the original order, of different packages, far apart."""

    def __init__(self, files: Mapping[str, int], rng: Random) -> None:
        self._files = list(files)
        self._sizes = list(files.values())
        self._rng = rng
        self._load = Counter[str]()
        folders = {Path(file).parent for file in files}
        self._by_folder = len(folders) >= MIN_FOLDERS

    def files_for(self, number: int) -> list[str]:
        """Files in the original order, as far apart as this number allows."""
        distance = len(self._files) // (3 * number)
        weights = self._sizes if self._rng.random() < SHARE_BY_SIZE else None
        while True:
            for _ in range(400):
                ranks = sorted(self._rng.choices(range(len(self._files)), weights, k=number))
                if self._is_good([self._files[rank] for rank in ranks], ranks, distance):
                    chosen = [self._files[rank] for rank in ranks]
                    self._load.update(chosen)
                    return chosen
            assert distance > 0, "too few test files"
            distance //= 2

    def _is_good(self, files: Sequence[str], ranks: Sequence[int], distance: int) -> bool:
        is_spread = all(later - earlier >= distance for earlier, later in pairwise(ranks))
        has_space = all(self._load[file] < MAX_TESTS_PER_FILE for file in files)
        return is_spread and has_space and len({self._package(file) for file in files}) == len(files)

    def _package(self, file: str) -> str:
        return str(Path(file).parent) if self._by_folder else file


class _FileEdits:
    """Collects new functions per file, gives them names, and writes them."""

    def __init__(self, tree: Path, rng: Random) -> None:
        self._tree = tree
        self._rng = rng
        self._new: dict[str, list[str]] = {}  # sources, by file
        self._names: dict[str, set[str]] = {}  # all names of a file

    def add(self, file: str, body: Body) -> str:
        """Add a test to a file; returns its node id."""
        if file not in self._names:
            self._names[file] = set(
                re.findall(r"\b(?:def|class) (\w+)", (self._tree / file).read_text(encoding="utf-8"))
            )
        name = self._new_name(file)
        self._names[file] |= {name, class_name(name)}
        self._new.setdefault(file, []).append(source_of_test(name, body))
        return f"{file}::{class_name(name)}::{name}" if body.neighbour else f"{file}::{name}"

    def _new_name(self, file: str) -> str:
        """A name made of parts of the names of its neighbours."""
        known = sorted(name for name in self._names[file] if name.startswith("test_") and name.count("_") >= 2)
        while True:
            head = self._rng.choice(known).split("_") if known else ["test", Path(file).stem.removeprefix("test_")]
            tail = self._rng.choice(known).split("_")[1:] if known else []
            kept = head[: self._rng.randint(2, max(2, len(head) - 1))]
            end = tail[-1:] if self._rng.random() < 0.5 else [self._rng.choice(_FALLBACK_WORDS)]
            name = "_".join([*kept, *(end or [self._rng.choice(_FALLBACK_WORDS)])])
            if not {name, class_name(name)} & self._names[file] and name.isidentifier():
                return name
            known = known if self._rng.random() < 0.9 else []

    def write(self) -> None:
        """Insert the functions into their files, each after a function or class of the module."""
        for file, sources in self._new.items():
            path = self._tree / file
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            ends = _ends_of_definitions("".join(lines))
            places = sorted((self._rng.choice(ends) for _ in sources), reverse=True)
            for end, source in zip(places, sources, strict=True):
                last = lines[end - 1]
                lines[end - 1] = last if last.endswith("\n") else f"{last}\n"
                lines[end:end] = ["\n", "\n", *source.splitlines(keepends=True)]
            path.write_text("".join(lines), encoding="utf-8")


def _ends_of_definitions(source: str) -> list[int]:
    """The last line of each function and class at the top level, from 1; the end of the file if there is none."""
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    ends = [node.end_lineno for node in ast.parse(source).body if isinstance(node, definitions)]
    return [end for end in ends if end is not None] or [source.count("\n")]
