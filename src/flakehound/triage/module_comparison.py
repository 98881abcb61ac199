"""Compare two versions of a Python module by their syntax trees.

If importing both versions executes the same code, they define the same functions, and each function whose body
differs is one changed entity. If the import differs, at least one entity affects every test that imports the
module, so also every test that calls a function of it; the other entities are listed only for the reader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.triage.changes import MODULE_LEVEL, ChangedEntity, EntityKind, EntityStatus, Reach
from flakehound.triage.executed_lines import body_lines, import_lines
from flakehound.triage.independent_tests import IndependentTest, independent_tests
from flakehound.triage.module_outline import DefinitionKey, ModuleDefinition, ModuleOutline
from flakehound.triage.python_source import FunctionNode, ParsedSource, docstring_of, identifiers, traits_of
from flakehound.triage.syntax_equality import is_same_syntax

# Libraries and decorators that compile a function and run the result, so that its lines are never traced.
_COMPILERS = frozenset(
    {
        *("numba", "jit", "njit", "pjit", "jitclass", "vectorize", "guvectorize", "cfunc", "stencil", "cuda"),
        *("cython", "pythran", "transonic", "triton", "taichi", "tensorflow", "pyccel", "codon", "pyjion"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleComparison:
    """Two versions of one module that both compile."""

    path: str
    before: ParsedSource
    after: ParsedSource
    patterns: CollectionPatterns

    def entities(self) -> Iterator[ChangedEntity]:
        """The changed entities: tests, definitions, module level, bodies, in this order."""
        if not is_same_syntax(self.before.tree, self.after.tree):
            yield from list(self._differences()) or [self._module()]
        elif self._has_new_warnings():
            yield self._module()

    def _differences(self) -> Iterator[ChangedEntity]:
        before, after = ModuleOutline(self.before.tree), ModuleOutline(self.after.tree)
        tests = independent_tests(self.path, before, after, self.patterns)
        yield from (self._test(test) for test in tests)
        before = before.without([node for test in tests for node in test.nodes])
        after = after.without([node for test in tests for node in test.nodes])
        imported = [] if before.imports_like(after) else list(self._definitions(before, after)) or [self._module()]
        if not imported and self._has_new_warnings():
            imported = [self._module()]
        yield from imported
        yield from self._bodies(before, after, {entity.name for entity in imported})

    def _definitions(self, before: ModuleOutline, after: ModuleOutline) -> Iterator[ChangedEntity]:
        """Entities that importing executes differently; empty if only the order of definitions changed."""
        yield from self._only_in(after, before, EntityStatus.ADDED)
        yield from self._only_in(before, after, EntityStatus.REMOVED)
        for key, now in after.definitions.items():
            then = before.definitions.get(key)
            if then and not after.defines_like(then.node, now.node):
                yield self._definition(now, EntityStatus.CHANGED)
        if not before.has_same_module_level(after):
            yield self._module()

    def _only_in(
        self, version: ModuleOutline, other: ModuleOutline, status: EntityStatus
    ) -> Iterator[ChangedEntity]:
        """The definitions that only one version has."""
        definitions: dict[DefinitionKey, ModuleDefinition] = {
            key: definition for key, definition in version.definitions.items() if key not in other.definitions
        }
        names = {name for name, _nth in definitions}
        for definition in definitions.values():
            if definition.name.rpartition(".")[0] not in names:  # otherwise its class is listed
                yield self._definition(definition, status)

    def _bodies(
        self, before: ModuleOutline, after: ModuleOutline, named: Collection[str]
    ) -> Iterator[ChangedEntity]:
        functions = [
            (name, before.functions.get((name, nth)), now) for (name, nth), now in after.functions.items()
        ]
        differing = [
            (name, then, now)
            for name, then, now in functions
            if then and name not in named and not _same_body(then, now)
        ]
        may_be_compiled = bool(differing) and self._may_be_compiled()
        for name, then, now in differing:
            lines = body_lines(now)
            is_traceable = lines and not may_be_compiled and traits_of(then) == traits_of(now)
            reach = Reach.BODY if is_traceable else Reach.IMPORT
            body = (lines,) if is_traceable else ()
            yield self._entity(name, EntityKind.FUNCTION, EntityStatus.CHANGED, reach, body)

    def _may_be_compiled(self) -> bool:
        return any(_COMPILERS & identifiers(source.tree).keys() for source in (self.before, self.after))

    def _has_new_warnings(self) -> bool:
        return bool(self.after.compiler_warnings - self.before.compiler_warnings)

    def _definition(self, definition: ModuleDefinition, status: EntityStatus) -> ChangedEntity:
        kind = EntityKind.FUNCTION if isinstance(definition.node, FunctionNode) else EntityKind.CLASS
        return self._entity(definition.name, kind, status, Reach.IMPORT)

    def _module(self) -> ChangedEntity:
        return self._entity(MODULE_LEVEL, EntityKind.MODULE, EntityStatus.CHANGED, Reach.IMPORT)

    def _test(self, test: IndependentTest) -> ChangedEntity:
        return self._entity(test.name, EntityKind.TEST, test.status, Reach.TEST, test.lines)

    def _entity(
        self, name: str, kind: EntityKind, status: EntityStatus, reach: Reach, lines: tuple[range, ...] = ()
    ) -> ChangedEntity:
        return ChangedEntity(
            path=self.path,
            name=name,
            kind=kind,
            status=status,
            reach=reach,
            body_lines=lines,
            import_lines=import_lines(self.after.tree),
        )


def _same_body(left: FunctionNode, right: FunctionNode) -> bool:
    """Whether calls of both functions execute the same code."""
    return is_same_syntax(left.body[len(docstring_of(left)) :], right.body[len(docstring_of(right)) :])
