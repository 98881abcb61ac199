"""A random project with a random history, made by a seed: what a change breaks in it, and what is flaky."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

HARMLESS = ("refactor", "comment", "docstring", "note", "new function", "new test", "data format")
REGRESSIONS = (
    "constant", "raise", "data value", "data deleted", "sometimes", "sometimes", "sometimes", "first call", "leak",
    "script", "listing", "size", "template", "comment", "existence",
)  # fmt: skip
FLAKES = ("none", "none", "system", "seeded", "touching", "value", "polluter", "set order")
STATES = (
    "branch", "branch", "main", "detached", "stray file", "uncommitted", "amended", "depth 1", "depth 2",
    "single branch", "trunk", "remote", "no git", "worktree", "merge",
)  # fmt: skip
# Where the base cannot be found, or is doubtful: nothing can be proven there.
STATES_WITHOUT_BASE = ("depth 1", "depth 2", "single branch", "trunk", "no git", "stray file", "uncommitted")
FLAKE_TESTS = {"polluter": "test_victim"}  # the name where it is not the usual one
USUAL_FLAKE_TEST = "test_flake"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of one number; `calls` is the index of a function that it adds."""

    module: str
    name: str
    factor: int
    offset: int
    calls: int | None = None
    reads_data: bool = False
    body: str = ""  # statements before the return, written by a change
    comment: str = ""
    swapped: bool = False  # the sum is written the other way round


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The content of the project at one commit."""

    functions: tuple[Function, ...]
    data: tuple[int, ...]  # one number per function
    compact: bool = False  # how the data file is written
    data_deleted: bool = False
    script_answer: int = 7
    notes: tuple[str, ...] = ()
    extra_tests: int = 0
    extra_items: tuple[str, ...] = ()  # files of a folder whose listing a test expects
    logo: str = "<svg/>"
    template: str = "Hello {name}"  # one of two that a test chooses at random
    marker: str = "# kept"  # a comment that a test reads
    has_terms: bool = True  # a file that a test asks for, without opening it


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What the seed chose."""

    seed: int
    base: tuple[State, ...]  # commits of the default branch
    change: tuple[State, ...]  # commits of the change
    regression: str  # empty: the change is harmless
    flake: str
    git_state: str
    stored: bool  # the store has runs of the base
    broken: frozenset[str] = field(default_factory=frozenset)  # tests that the change breaks

    @property
    def flake_test(self) -> str | None:
        """The test that is flaky."""
        return None if self.flake == "none" else FLAKE_TESTS.get(self.flake, USUAL_FLAKE_TEST)


def history(seed: int) -> History:
    """The history of a seed."""
    rng = random.Random(seed)
    state = _first_state(rng)
    base = [state]
    for _ in range(rng.randrange(3)):
        state = _harmless(rng, state)
        base.append(state)
    is_regression = rng.random() < 0.7
    git_state, flake = rng.choice(STATES), rng.choice(FLAKES if is_regression else FLAKES[2:])
    before = rng.randrange(2) if git_state not in ("main", "stray file", "uncommitted", "amended") else 0
    change: list[State] = []
    for _ in range(before):
        change.append(_harmless(rng, change[-1] if change else state))
    last = change[-1] if change else state
    regression = rng.choice(REGRESSIONS) if is_regression else ""
    changed, target = _broken(rng, last, regression) if regression else (_harmless(rng, last), None)
    change.append(changed)
    for _ in range(rng.randrange(2) if before or git_state in ("branch", "remote", "trunk", "detached") else 0):
        change.append(_harmless(rng, change[-1]))
    broken = frozenset(_broken_tests(state, regression, target, flake))
    return History(
        seed=seed,
        base=tuple(base),
        change=tuple(change),
        regression=regression,
        flake=flake,
        git_state=git_state,
        stored=rng.random() < 0.6,
        broken=broken,
    )


def _first_state(rng: random.Random) -> State:
    functions: list[Function] = []
    for module in range(rng.randrange(2, 5)):
        for number in range(rng.randrange(1, 4)):
            functions.append(
                Function(
                    module=f"m{module}",
                    name=f"f{module}_{number}",
                    factor=rng.randrange(2, 9),
                    offset=rng.randrange(1, 9),
                    calls=rng.randrange(len(functions)) if functions and rng.random() < 0.4 else None,
                    reads_data=rng.random() < 0.3,
                )
            )
    functions[0] = replace(functions[0], reads_data=True)
    return State(functions=tuple(functions), data=tuple(rng.randrange(9) for _ in functions))


def _with(state: State, index: int, function: Function) -> State:
    return replace(state, functions=(*state.functions[:index], function, *state.functions[index + 1 :]))


def _harmless(rng: random.Random, state: State) -> State:
    kind = rng.choice(HARMLESS)
    index = rng.randrange(len(state.functions))
    function = state.functions[index]
    if kind == "refactor":
        return _with(state, index, replace(function, swapped=not function.swapped))
    if kind == "comment":
        return _with(state, index, replace(function, comment=f"# note {rng.randrange(1000)}"))
    if kind == "docstring":
        return _with(state, index, replace(function, comment=f'"""Text {rng.randrange(1000)}."""'))
    if kind == "new function":
        new = replace(function, name=f"g{rng.randrange(10**6)}", calls=None, reads_data=False, body="")
        return replace(state, functions=(*state.functions, new), data=(*state.data, 0))
    if kind == "new test":
        return replace(state, extra_tests=state.extra_tests + 1)
    if kind == "data format":
        return replace(state, compact=not state.compact)
    return replace(state, notes=(*state.notes, f"note {rng.randrange(1000)}"))


def _broken(rng: random.Random, state: State, kind: str) -> tuple[State, int | None]:
    """The state with a bug, and the function that has it."""
    # Functions that were added later, named "g…", have no tests.
    index = rng.choice([n for n, one in enumerate(state.functions) if one.name.startswith("f")])
    function = state.functions[index]
    if kind == "constant":
        return _with(state, index, replace(function, offset=function.offset + 1)), index
    if kind == "data value":
        index = next(n for n, one in enumerate(state.functions) if one.reads_data)
        data = (*state.data[:index], state.data[index] + 1, *state.data[index + 1 :])
        return replace(state, data=data), index
    if kind == "data deleted":
        return replace(state, data_deleted=True), None
    if kind == "script":
        return replace(state, script_answer=8), None
    if kind == "listing":
        return replace(state, extra_items=(f"item{rng.randrange(100)}.txt",)), None
    simple = {
        "template": {"template": "Hello {nam}"},
        "comment": {"marker": ""},
        "existence": {"has_terms": False},
    }
    if kind in simple:
        return replace(state, **simple[kind]), None  # type: ignore[arg-type]
    if kind == "size":
        return replace(state, logo="<svg>" + "<path/>" * 5 + "</svg>"), None
    bodies = {
        "raise": "raise ValueError(x)",
        "sometimes": f"x += SystemRandom().random() < {rng.choice((0.35, 0.6, 0.8))}",
        "first call": "SEEN.append(x)\n    x += len(SEEN) == 1",
        "leak": "LEAKED.append(x)",
    }
    return _with(state, index, replace(function, body=bodies[kind])), index


_TESTS_OF_KINDS = {
    "script": "test_script", "listing": "test_items", "size": "test_logo", "leak": "test_z_leaked",
    "template": "test_template", "comment": "test_comment", "existence": "test_terms",
}  # fmt: skip


def _broken_tests(state: State, kind: str, target: int | None, flake: str) -> Iterator[str]:
    if kind in _TESTS_OF_KINDS:
        yield _TESTS_OF_KINDS[kind]
    elif kind:
        reached = [n for n in range(len(state.functions)) if _reaches(state, n, kind, target)]
        yield from (f"test_{state.functions[n].name}" for n in reached)
        if flake == "touching" and 0 in reached:
            yield USUAL_FLAKE_TEST


def _reaches(state: State, index: int | None, kind: str, target: int | None) -> bool:
    if index is None:
        return False
    function = state.functions[index]
    here = function.reads_data if kind == "data deleted" else index == target
    return here or _reaches(state, function.calls, kind, target)


def value(state: State, index: int, x: int) -> int:
    """What a function returns for `x` where nothing is broken."""
    function = state.functions[index]
    total = x * function.factor + function.offset
    total += state.data[index] if function.reads_data else 0
    return total + (value(state, function.calls, x) if function.calls is not None else 0)
