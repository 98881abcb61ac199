"""What the rules of the house ask about our own source: files, layers, imports, classes, functions."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import flakehound

SRC = Path(flakehound.__file__).parent.parent
FILES = sorted(path for path in SRC.rglob("*.py") if path.parts[len(SRC.parts)].startswith("flakehound"))
ROOMS = ("hunt", "triage", "lint", "calls", "features", "learn")
BELOW_APP = (*ROOMS, "engine", "store", "report", "core")
# Layer -> the layers that it may import beside itself.
ALLOWED: Mapping[str, frozenset[str]] = {
    "core": frozenset(),
    **{layer: frozenset({"core"}) for layer in (*ROOMS, "engine", "store", "report")},
    "app": frozenset(BELOW_APP),
    "cli": frozenset({"app", *BELOW_APP}),
    "api": frozenset({"app", *BELOW_APP}),
    "entry": frozenset({"cli"}),
    "inside.shared": frozenset(),
    "inside.observe": frozenset({"inside.shared"}),
    "inside.worker": frozenset({"inside.shared", "inside.observe"}),
    "inside.triage": frozenset({"inside.shared"}),
    "inside.plugin": frozenset({"inside.shared", "inside.triage"}),
}
# Use case of app -> other use cases that it may import. Files directly below app are for all of them.
USE_CASES: Mapping[str, frozenset[str]] = {
    "sessions": frozenset(),
    "lint": frozenset({"sessions", "data"}),
    "trace": frozenset({"sessions"}),
    "data": frozenset({"sessions", "trace"}),
    "hunt": frozenset({"sessions", "lint", "trace", "data"}),
    "triage": frozenset({"sessions"}),
    "studies": frozenset({"sessions", "lint", "trace", "data", "triage"}),
}


def module_of(path: Path) -> str:
    """A file's dotted name."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES: Mapping[str, Path] = {module_of(path): path for path in FILES}


def layer_of(module: str) -> str:
    """The layer that a module of ours belongs to."""
    root, _, rest = module.partition(".")
    first = rest.partition(".")[0]
    if root == "flakehound_inside":
        return f"inside.{first}" if first in ("observe", "worker", "triage", "plugin") else "inside.shared"
    if not first:
        return "api"
    return "entry" if first == "__main__" else first


def use_case_of(module: str) -> str | None:
    """The package of app that a module belongs to; None for files directly below app, and for other layers."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["flakehound", "app"] and len(parts) > 3 else None


@functools.cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@functools.cache
def imports_of(path: Path, *, nested: bool = True, types: bool = True) -> tuple[str, ...]:
    """Dotted names of the modules that a file imports.

    Without `nested`: only what importing the file imports. Without `types`: not what only a type checker imports.
    """
    found: list[str] = []
    for node in _nodes(parsed(path), nested=nested, types=types):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += _imported_from(path, node)
    return tuple(found)


def _imported_from(path: Path, node: ast.ImportFrom) -> list[str]:
    base = _base(path, node)
    # `from package import module` imports the module.
    modules = [f"{base}.{alias.name}" for alias in node.names if f"{base}.{alias.name}" in MODULES]
    return modules if len(modules) == len(node.names) else [base, *modules]


def _base(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _nodes(tree: ast.AST, *, nested: bool, types: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if not types and isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        if nested or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _nodes(child, nested=nested, types=types)


def is_ours(module: str) -> bool:
    """Whether a dotted name is one of our two packages."""
    return module.partition(".")[0] in ("flakehound", "flakehound_inside")


def is_standard(module: str) -> bool:
    """Whether a dotted name belongs to the standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def may_import(importer: str, imported: str) -> bool:
    """Whether the tables allow one module of ours to import another."""
    home, other = layer_of(importer), layer_of(imported)
    if imported == "flakehound":  # the version; everything else there is imported lazily, for users
        return True
    if home != other:
        return other in ALLOWED[home]
    mine, its = use_case_of(importer), use_case_of(imported)
    return mine is None or its is None or mine == its or its in USE_CASES[mine]


def in_layer(*layers: str) -> list[Path]:
    """The files of some layers; `inside` stands for all layers of flakehound_inside."""
    return [
        path for path in FILES if (layer := layer_of(module_of(path))) in layers or layer.split(".")[0] in layers
    ]


def foreign_imports(path: Path, *known: str, nested: bool, types: bool = True) -> list[str]:
    """Imports that are neither ours, nor the standard library's, nor known."""
    return [
        f"{module_of(path)} imports {module}"
        for module in imports_of(path, nested=nested, types=types)
        if not is_ours(module) and not is_standard(module) and module.partition(".")[0] not in known
    ]


def import_cycles() -> list[list[str]]:
    """Groups of files that import each other, directly or through others; imports for type checkers included."""
    graph = {
        # From `flakehound` itself only the version is imported; it loads the public API when that is used.
        module: {other for other in imports_of(path) if other in MODULES and other not in (module, "flakehound")}
        for module, path in MODULES.items()
    }
    return [sorted(group) for group in _strongly_connected(graph) if len(group) > 1]


def _strongly_connected(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The strongly connected components: modules that reach each other."""
    reached = {module: _reached_from(module, graph) for module in graph}
    groups: list[set[str]] = []
    for module in graph:
        if not any(module in group for group in groups):
            groups.append({module} | {other for other in reached[module] if module in reached[other]})
    return groups


def _reached_from(module: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for other in graph[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found
