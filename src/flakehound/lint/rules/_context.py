"""What a rule sees of one test: every function it runs, as far as the source tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from flakehound.lint.findings import Check, Sign
from flakehound.lint.rules._function_facts import FunctionNode, Sights, imported, sights_of
from flakehound.lint.source.syntax_walk import statements_of

Look = Callable[["Part"], Iterable[Sign]]


class Source(Protocol):
    """A parsed file; `modules.Module` is one."""

    @property
    def path(self) -> str:
        """Relative to the project."""

    @property
    def tree(self) -> ast.Module:
        """The whole file."""


@dataclass(slots=True, kw_only=True, eq=False)
class Surroundings:
    """What the rules ask about a module, once for all its functions."""

    source: Source
    imports: Mapping[str, str]
    bound: Mapping[str, ast.expr]  # names of the module and their values
    owners: Mapping[int, ast.ClassDef]  # id of a function -> the class it is written in
    top: Sights  # the statements outside of functions and classes
    kept: dict[str, frozenset[str]] = field(
        default_factory=dict
    )  # names that were worked out once, by what they are

    @property
    def roots(self) -> set[str]:
        """Names of the packages that the module imports."""
        return {name.partition(".")[0] for name in self.imports.values()}


@dataclass(slots=True, kw_only=True, eq=False)
class Part:
    """One function that a test runs, the test itself among them."""

    surroundings: Surroundings
    function: ast.AST
    sights: Sights
    via: tuple[str, ...] = ()
    production: bool = False
    fixture: bool = False
    wide: bool = False  # a fixture that lives longer than a test
    everywhere: bool = False  # a fixture that runs before every test below its conftest
    shown: tuple[str, int, int] | None = None  # path, line, column to report instead; None: the sign's own
    far: bool = False  # so many calls away that only the strongest signs count

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "name", "<lambda>")

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class it is written in."""
        return self.surroundings.owners.get(id(self.function))

    @property
    def shown_path(self) -> str:
        """The file to report."""
        return self.shown[0] if self.shown else self.surroundings.source.path

    def place_of(self, node: ast.AST) -> tuple[int, int]:
        """Line and column to report."""
        if self.shown:
            return self.shown[1:]
        return getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1

    def noticed(self, look: Look) -> tuple[Sign, ...]:
        """What a rule notices in the function; asked once, however many tests run it."""
        found = self.sights.noticed.get(look)
        if found is None:
            found = self.sights.noticed[look] = tuple(look(self))
        return found

    def loud(self, looks: Looks) -> frozenset[Look]:
        """Those of the looks meant for such a part that notice something in it."""
        sort = 2 if self.far else int(self.production)
        found = self.sights.loud.get((id(looks), sort))
        if found is None:
            meant = (looks.everywhere, looks.near, looks.far)[sort]
            found = self.sights.loud[id(looks), sort] = frozenset(look for look in meant if self.noticed(look))
        return found

    def how_reached(self, node: ast.AST) -> str:
        """The end of a message about a function that is not the test itself."""
        if not self.via:
            return ""
        place = f" at {self.surroundings.source.path}:{getattr(node, 'lineno', 1)}" if self.shown else ""
        return f", reached through {' -> '.join(self.via)}{place}"


class Memory:
    """What has been read already; one for a whole project, because tests share helpers."""

    def __init__(self) -> None:
        self._surroundings: dict[int, Surroundings] = {}
        self._sights: dict[int, Sights] = {}

    def part(
        self,
        source: Source,
        function: ast.AST,
        *,
        via: tuple[str, ...] = (),
        production: bool = False,
        shown: tuple[str, int, int] | None = None,
    ) -> Part:
        """One function of a test; read only when no other test has met it."""
        around = self.surroundings(source)
        if id(function) not in self._sights:
            self._sights[id(function)] = sights_of(function, around.imports, around.bound)
        sights = self._sights[id(function)]
        fixture = any(name.endswith("fixture") for name in sights.decorators)
        return Part(
            surroundings=around,
            function=function,
            sights=sights,
            via=via,
            production=production,
            fixture=fixture,
            shown=shown,
        )

    def surroundings(self, source: Source) -> Surroundings:
        """What the rules ask about a module."""
        if id(source.tree) not in self._surroundings:
            self._surroundings[id(source.tree)] = _surroundings(source)
        return self._surroundings[id(source.tree)]


def _surroundings(source: Source) -> Surroundings:
    imports: dict[str, str] = {}
    owners: dict[int, ast.ClassDef] = {}
    for node in statements_of(source.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(imported(node))
        elif isinstance(node, ast.ClassDef):
            owners.update((id(one), node) for one in node.body if isinstance(one, FunctionNode))
    plain = [one for one in source.tree.body if not isinstance(one, FunctionNode | ast.ClassDef)]
    top = sights_of(ast.Module(body=plain, type_ignores=[]), imports, {})
    return Surroundings(source=source, imports=imports, bound=top.bound, owners=owners, top=top)


@dataclass(kw_only=True, eq=False)
class Context:
    """One test with all it reaches."""

    case_id: str
    parts: tuple[Part, ...]  # the test first
    memory: Memory
    conftests: tuple[Source, ...] = field(default=())

    @cached_property
    def own(self) -> tuple[Part, ...]:
        """The test, its fixtures, set-ups and helpers, without production code."""
        return tuple(part for part in self.near if not part.production)

    @cached_property
    def near(self) -> tuple[Part, ...]:
        """All but what is many calls away."""
        return tuple(part for part in self.parts if not part.far)

    @cached_property
    def guards(self) -> frozenset[str]:
        """Dotted names of all that the test code calls, decorates with, asks for, or does at import."""
        found: set[str] = set()
        for part in self.own:
            found |= _guards_of(part)
        for source in self.conftests:
            found |= {call.name for call in self.memory.surroundings(source).top.calls}
        return frozenset(found)

    @cached_property
    def patched(self) -> frozenset[str]:
        """Last parts of the names that the test replaces."""
        return frozenset(name for part in self.own for name in _patched_by(part))

    def guarded(self, *beginnings: str) -> bool:
        """Whether the test uses something whose full name begins so."""
        return any(guard.startswith(beginnings) for guard in self.guards)

    def signs(self, look: Look, *, production: bool = True, far: bool = False) -> Iterator[tuple[Part, Sign]]:
        """What a rule notices in all that the test runs, without what it replaces."""
        for part in (self.parts if far else self.near) if production else self.own:
            found = part.noticed(look)
            if found and not (part.via and part.name in self.patched):
                yield from ((part, sign) for sign in found if not self._is_replaced(part, sign))

    def loud(self, looks: Looks) -> set[Look]:
        """The looks that notice something somewhere in what the test runs."""
        found: set[Look] = set()
        for part in self.parts:
            found |= part.loud(looks)
        return found

    def _is_replaced(self, part: Part, sign: Sign) -> bool:
        if not self.patched or not isinstance(sign.node, ast.Call):
            return False
        name = part.sights.dotted(sign.node.func).replace("()", "").replace("(_)", "")
        return not self.patched.isdisjoint(name.split("."))


Sift = Callable[["Context", list[tuple["Part", Sign]]], Iterable[tuple["Part", Sign]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looking:
    """A check that looks at each function by itself, unless the test as a whole has taken care."""

    look: Look
    production: bool = True  # whether production code is looked at, too
    far: bool = False  # even what is many calls away
    unless: Callable[[Context], bool] | None = None
    sift: Sift | None = None  # has the last word, and sees all that was noticed

    def __call__(self, context: Context) -> Iterable[tuple[Part, Sign]]:
        """What the rule says about a test."""
        found = list(context.signs(self.look, production=self.production, far=self.far))
        if not found or (self.unless is not None and self.unless(context)):
            return ()
        return found if self.sift is None else self.sift(context, found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Looks:
    """The looks of some rules, by how far from the test they reach; compared by identity."""

    everywhere: tuple[Look, ...]  # for test code: all of them
    near: tuple[Look, ...]  # for production code
    far: tuple[Look, ...]  # for what is many calls away


def looks_of(checks: Iterable[Check]) -> Looks:
    """The looks of those checks that are nothing but one."""
    found = [check for check in checks if isinstance(check, Looking)]
    return Looks(
        everywhere=tuple(one.look for one in found),
        near=tuple(one.look for one in found if one.production),
        far=tuple(one.look for one in found if one.far),
    )


def in_each(
    look: Look, *, production: bool = True, far: bool = False, unless: Callable[[Context], bool] | None = None
) -> Looking:
    """A check that looks at each function by itself, unless the test as a whole has taken care."""
    return Looking(look=look, production=production, far=far, unless=unless)


def at_hand(look: Look, *, unless: Callable[[Context], bool] | None = None) -> Looking:
    """Like `in_each`, but of production code only what the test calls itself: deeper it hardly ever shows."""
    return Looking(look=look, unless=unless, sift=_called_by_the_test)


def _called_by_the_test(_context: Context, found: list[tuple[Part, Sign]]) -> Iterable[tuple[Part, Sign]]:
    return [(part, sign) for part, sign in found if not part.production or len(part.via) < 2]


def uses(*beginnings: str) -> Callable[[Context], bool]:
    """A condition for `in_each`: the test uses something whose full name begins so."""
    return lambda context: context.guarded(*beginnings)


def _guards_of(part: Part) -> set[str]:
    sights, top = part.sights, part.surroundings.top
    found = {call.name for call in sights.calls} | {call.name for call in top.calls}
    found |= set(sights.decorators) | sights.parameters
    if part.owner is not None:
        found |= {
            sights.dotted(one.func if isinstance(one, ast.Call) else one) for one in part.owner.decorator_list
        }
    return found


_PATCHERS = ("patch", "patch.object", "patch.multiple", "setattr", "setitem", "patch.dict", "delattr", "stub")


def _patched_by(part: Part) -> Iterator[str]:
    nodes = [call.node for call in part.sights.calls]
    nodes += [one for one in getattr(part.owner, "decorator_list", []) if isinstance(one, ast.Call)]
    for node in nodes:
        name = part.sights.dotted(node.func)
        if name.endswith(_PATCHERS):
            yield from _targets(node)


def _targets(node: ast.Call) -> Iterator[str]:
    texts = [one.value for one in node.args[:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    for text in texts:
        yield text.rpartition(".")[2]
