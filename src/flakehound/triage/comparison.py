"""Compare two versions of a Python module by their syntax trees.

Two versions whose skeletons are equal define the same functions at the same places, so each differing body
is one changed function. Once the skeletons differ, importing the module does something else: at least one
entity is then reached by the import alone, and naming the others is for the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from flakehound.triage.changes import MODULE_LEVEL, ChangedEntity, How, Reach, Sort
from flakehound.triage.lines import body_lines, import_lines
from flakehound.triage.outline import Definition, Key, Outline, body_of
from flakehound.triage.own_tests import OwnTest, own_tests
from flakehound.triage.patterns import Patterns
from flakehound.triage.syntax import FunctionNode, Source, identifiers

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
        if self.before.said != self.after.said:
            yield from list(self._differences()) or [self._module()]
        elif self._complains():
            yield self._module()

    def _differences(self) -> Iterator[ChangedEntity]:
        before, after = Outline(self.before.tree), Outline(self.after.tree)
        tests = own_tests(self.path, before, after, self.patterns)
        yield from (self._test(test) for test in tests)
        before = before.leaving_out([node for test in tests for node in test.nodes])
        after = after.leaving_out([node for test in tests for node in test.nodes])
        imported = list(self._definitions(before, after))
        if not imported and (before.skeleton != after.skeleton or self._complains()):
            imported = [self._module()]
        yield from imported
        yield from self._bodies(before, after, {entity.name for entity in imported})

    def _definitions(self, before: Outline, after: Outline) -> Iterator[ChangedEntity]:
        """What importing executes otherwise; empty too when only the order of definitions changed."""
        if before.skeleton == after.skeleton:
            return
        yield from self._one_sided(after, before, How.ADDED)
        yield from self._one_sided(before, after, How.REMOVED)
        for key, now in after.definitions.items():
            then = before.definitions.get(key)
            if then and before.header(then) != after.header(now):
                yield self._definition(now, How.CHANGED)
        if before.module_level != after.module_level:
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
        for now in after.functions:
            then = before.definitions.get(now.key)
            if then is None or now.name in said or not isinstance(then.node, FunctionNode):
                continue
            assert isinstance(now.node, FunctionNode)
            if body_of(then.node) != body_of(now.node):
                yield self._body(now)

    def _body(self, definition: Definition) -> ChangedEntity:
        assert isinstance(definition.node, FunctionNode)
        lines = body_lines(definition.node)
        if not lines or self._may_be_compiled():
            return self._definition(definition, How.CHANGED)
        return self._entity(definition.name, Sort.FUNCTION, How.CHANGED, Reach.BODY, (lines,))

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
