"""Compare two versions of a Python module by their syntax trees.

Two versions that import alike define the same functions at the same places, so each differing body is one
changed function. Once they import otherwise, at least one entity is reached by the import alone, which every
call presupposes; naming the others is for the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import Patterns
from flakehound.triage.changes import MODULE_LEVEL, ChangedEntity, How, Reach, Sort
from flakehound.triage.executed_lines import body_lines, import_lines
from flakehound.triage.module_outline import Definition, Key, Outline
from flakehound.triage.own_tests import OwnTest, own_tests
from flakehound.triage.python_source import FunctionNode, Source, docstring_of, identifiers, shape_of
from flakehound.triage.syntax_equality import same

# Libraries and decorators that take a function's code and run something else in its place: its lines never run.
_COMPILERS = frozenset(
    {
        *("numba", "jit", "njit", "pjit", "jitclass", "vectorize", "guvectorize", "cfunc", "stencil", "cuda"),
        *("cython", "pythran", "transonic", "triton", "taichi", "tensorflow", "pyccel", "codon", "pyjion"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two versions of one module that both compile."""

    path: str
    before: Source
    after: Source
    patterns: Patterns

    def entities(self) -> Iterator[ChangedEntity]:
        """What changed, in the order a reader expects: tests, definitions, module level, bodies."""
        if not same(self.before.tree, self.after.tree):
            yield from list(self._differences()) or [self._module()]
        elif self._complains():
            yield self._module()

    def _differences(self) -> Iterator[ChangedEntity]:
        before, after = Outline(self.before.tree), Outline(self.after.tree)
        tests = own_tests(self.path, before, after, self.patterns)
        yield from (self._test(test) for test in tests)
        before = before.leaving_out([node for test in tests for node in test.nodes])
        after = after.leaving_out([node for test in tests for node in test.nodes])
        imported = [] if before.imports_as(after) else list(self._definitions(before, after)) or [self._module()]
        if not imported and self._complains():
            imported = [self._module()]
        yield from imported
        yield from self._bodies(before, after, {entity.name for entity in imported})

    def _definitions(self, before: Outline, after: Outline) -> Iterator[ChangedEntity]:
        """What importing executes otherwise; empty when only the order of definitions changed."""
        yield from self._one_sided(after, before, How.ADDED)
        yield from self._one_sided(before, after, How.REMOVED)
        for key, now in after.definitions.items():
            then = before.definitions.get(key)
            if then and not after.defines_as(then.node, now.node):
                yield self._definition(now, How.CHANGED)
        if not before.has_module_level_of(after):
            yield self._module()

    def _one_sided(self, here: Outline, there: Outline, how: How) -> Iterator[ChangedEntity]:
        alone: dict[Key, Definition] = {
            key: one for key, one in here.definitions.items() if key not in there.definitions
        }
        names = {name for name, _nth in alone}
        for definition in alone.values():
            if definition.name.rpartition(".")[0] not in names:  # its class already says it
                yield self._definition(definition, how)

    def _bodies(self, before: Outline, after: Outline, said: Collection[str]) -> Iterator[ChangedEntity]:
        functions = [
            (name, before.functions.get((name, nth)), now) for (name, nth), now in after.functions.items()
        ]
        differing = [
            (name, then, now)
            for name, then, now in functions
            if then and name not in said and not _same_body(then, now)
        ]
        compiled = bool(differing) and self._may_be_compiled()
        for name, then, now in differing:
            lines = body_lines(now)
            seen = lines and not compiled and shape_of(then) == shape_of(now)
            reach = Reach.BODY if seen else Reach.IMPORT
            yield self._entity(name, Sort.FUNCTION, How.CHANGED, reach, (lines,) if seen else ())

    def _may_be_compiled(self) -> bool:
        return any(_COMPILERS & identifiers(source.tree).keys() for source in (self.before, self.after))

    def _complains(self) -> bool:
        return bool(self.after.complaints - self.before.complaints)

    def _definition(self, definition: Definition, how: How) -> ChangedEntity:
        sort = Sort.FUNCTION if isinstance(definition.node, FunctionNode) else Sort.CLASS
        return self._entity(definition.name, sort, how, Reach.IMPORT)

    def _module(self) -> ChangedEntity:
        return self._entity(MODULE_LEVEL, Sort.MODULE, How.CHANGED, Reach.IMPORT)

    def _test(self, test: OwnTest) -> ChangedEntity:
        return self._entity(test.name, Sort.TEST, test.how, Reach.TEST, test.lines)

    def _entity(
        self, name: str, sort: Sort, how: How, reach: Reach, lines: tuple[range, ...] = ()
    ) -> ChangedEntity:
        return ChangedEntity(
            path=self.path,
            name=name,
            sort=sort,
            how=how,
            reach=reach,
            body_lines=lines,
            import_lines=import_lines(self.after.tree),
        )


def _same_body(one: FunctionNode, two: FunctionNode) -> bool:
    """Whether a call executes the same."""
    return same(one.body[len(docstring_of(one)) :], two.body[len(docstring_of(two)) :])
