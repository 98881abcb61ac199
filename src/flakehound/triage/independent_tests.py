"""Tests that were added, removed or redefined, and on which no other test depends.

In general a new, removed or redefined function changes what importing its module does, so every test of the file
depends on it. The exception is a test that only pytest calls: nothing else refers to it, and its definition
evaluates only marks. In doubt a function is not treated as such an exception.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.triage.changes import EntityStatus
from flakehound.triage.executed_lines import body_lines
from flakehound.triage.inert_definitions import is_inert_class, is_inert_function, is_inert_statement
from flakehound.triage.module_outline import ModuleDefinition, ModuleOutline
from flakehound.triage.python_source import DefinitionNode, FunctionNode, identifiers, mentions

# Names of functions and modules by which code can find a test without its name.
_INTROSPECTION = frozenset(
    {
        *("globals", "locals", "vars", "dir", "eval", "exec", "getattr", "setattr", "delattr", "__dict__"),
        *("inspect", "getmembers", "modules", "import_module", "__import__", "__subclasses__", "load_tests"),
    }
)
_UNITTEST = ("TestCase", "IsolatedAsyncioTestCase")
_CALLED_FOR_OTHERS = (
    "pytest_",
    "setup",
    "teardown",
    "__",
)  # prefixes of functions that pytest calls for other tests


@dataclass(frozen=True, slots=True, kw_only=True)
class IndependentTest:
    """A test, or a class of tests, whose change affects no other test."""

    name: str
    status: EntityStatus
    nodes: tuple[DefinitionNode, ...]  # in the version before, in the version after, or in both
    lines: tuple[range, ...] = ()  # in the version after; only the test executes them


def independent_tests(
    path: str, before: ModuleOutline, after: ModuleOutline, patterns: CollectionPatterns
) -> list[IndependentTest]:
    """The tests of a file whose definitions differ between two versions and affect no other test."""
    if not patterns.is_test_file(path):
        return []
    versions = (_Version(before, patterns), _Version(after, patterns))
    if any(_INTROSPECTION & identifiers(version.outline.tree).keys() for version in versions):
        return []
    return list(_differing_tests(*versions))


class _Version:
    """One version of a test file."""

    def __init__(self, outline: ModuleOutline, patterns: CollectionPatterns) -> None:
        self.outline = outline
        self.mentioned = mentions(outline.tree)
        self.defined = Counter(definition.name for definition in outline.definitions.values())
        self._patterns = patterns

    def definition(self, name: str) -> ModuleDefinition | None:
        """The first definition of a qualified name."""
        return self.outline.definitions.get((name, 0))

    def has_name(self, name: str) -> bool:
        """Whether the version defines the name or uses it anywhere."""
        return bool(self.defined[name] or self.mentioned[name.rpartition(".")[2]])

    def is_independent(self, definition: ModuleDefinition) -> bool:
        """Whether a definition is a test that nothing else in the file refers to."""
        node = definition.node
        used = self.mentioned[node.name] - mentions(node)[node.name]
        if used or self.defined[definition.name] != 1:
            return False
        if isinstance(node, ast.ClassDef):
            return (
                definition.owner is self.outline.tree
                and self.is_simple_test_class(node)
                and _holds_only_tests(node)
            )
        return self._is_test(definition, node) and is_inert_function(node)

    def _is_test(self, definition: ModuleDefinition, node: FunctionNode) -> bool:
        if node.name.startswith(_CALLED_FOR_OTHERS):
            return False
        if definition.owner is self.outline.tree:
            return self._patterns.is_test_function(node.name)
        if not isinstance(definition.owner, ast.ClassDef) or definition.name.count(".") != 1:
            return False
        named = self._patterns.is_test_function(node.name) or node.name.startswith("test")
        return named and self.is_simple_test_class(definition.owner) and self.is_unused_top_level(definition.owner)

    def is_unused_top_level(self, node: ast.ClassDef) -> bool:
        """Whether a class is defined once, at module level, and never used."""
        used = self.mentioned[node.name] - mentions(node)[node.name]
        return node in self.outline.tree.body and not used and self.defined[node.name] == 1

    def is_simple_test_class(self, node: ast.ClassDef) -> bool:
        """Whether it is a test class without base classes of the project."""
        bases = {ast.unparse(base) for base in node.bases} - {"object"}
        is_test = bool(bases) or self._patterns.is_test_class(node.name)
        return is_test and bases <= self._unittest_classes and is_inert_class(node)

    @cached_property
    def _unittest_classes(self) -> set[str]:
        imports = [node for node in self.outline.tree.body if isinstance(node, ast.ImportFrom)]
        aliases = [alias for node in imports if node.module == "unittest" for alias in node.names]
        named = {alias.asname or alias.name for alias in aliases if alias.name in _UNITTEST}
        return named | {f"unittest.{name}" for name in _UNITTEST}


def _differing_tests(before: _Version, after: _Version) -> Iterator[IndependentTest]:
    listed_classes: set[str] = set()
    for name in dict.fromkeys([*before.defined, *after.defined]):
        if name.rpartition(".")[0] in listed_classes:
            continue
        then, now = before.definition(name), after.definition(name)
        test = _differing_test(name, then, now, before, after)
        if test:
            yield test
            listed_classes.update([name] if not (then and now) else [])


def _differing_test(
    name: str, then: ModuleDefinition | None, now: ModuleDefinition | None, before: _Version, after: _Version
) -> IndependentTest | None:
    if then and now:
        return _redefined(name, then, now, before, after)
    if now and after.is_independent(now) and not before.has_name(name) and _has_class(name, before):
        return IndependentTest(name=name, status=EntityStatus.ADDED, nodes=(now.node,), lines=_lines(now.node))
    if then and before.is_independent(then) and not after.has_name(name) and _has_class(name, after):
        return IndependentTest(name=name, status=EntityStatus.REMOVED, nodes=(then.node,))
    return None


def _redefined(
    name: str, then: ModuleDefinition, now: ModuleDefinition, before: _Version, after: _Version
) -> IndependentTest | None:
    if not isinstance(then.node, FunctionNode) or not isinstance(now.node, FunctionNode):
        return None
    if after.outline.defines_like(then.node, now.node):
        return None  # only its body may differ
    if before.is_independent(then) and after.is_independent(now):
        return IndependentTest(
            name=name, status=EntityStatus.CHANGED, nodes=(then.node, now.node), lines=_lines(now.node)
        )
    return None


def _has_class(name: str, version: _Version) -> bool:
    """Whether the other version has the class of a method, and it is a simple test class there, too."""
    owner = name.rpartition(".")[0]
    if not owner:
        return True
    found = version.definition(owner)
    node = found.node if found else None
    return (
        isinstance(node, ast.ClassDef) and version.is_simple_test_class(node) and version.is_unused_top_level(node)
    )


def _holds_only_tests(node: ast.ClassDef) -> bool:
    return all(
        is_inert_function(statement) if isinstance(statement, FunctionNode) else is_inert_statement(statement)
        for statement in node.body
    )


def _lines(node: DefinitionNode) -> tuple[range, ...]:
    functions = (
        [node]
        if isinstance(node, FunctionNode)
        else [part for part in node.body if isinstance(part, FunctionNode)]
    )
    return tuple(lines for function in functions if (lines := body_lines(function)))
