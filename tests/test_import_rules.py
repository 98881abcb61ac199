"""The layers of DESIGN.md, read from the imports of every file under src/; and the shape STYLE.md asks for."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import flakehound

SRC = Path(flakehound.__file__).parent.parent
FILES = sorted(path for path in SRC.rglob("*.py") if path.parts[len(SRC.parts)].startswith("flakehound"))
ROOMS = ("hunt", "triage", "lint", "calls", "features", "learn")
# Layer -> the layers it may import beside itself; None: any.
ALLOWED: dict[str, set[str] | None] = {
    "core": set(),
    **{room: {"core"} for room in ROOMS},
    "store": {"core"},
    "report": {"core"},
    "engine": {"core", "store", "inside"},
    "inside": set(),
    "app": None,
    "cli": None,
    "entry": {"cli"},
}
MOST_LINES = 500
MOST_FUNCTION_LINES = 60
NAMELESS = {"utils", "misc", "common", "globals", "helpers"}


def layer_of(module: str) -> str:
    """The layer a module of ours belongs to."""
    parts = module.split(".")
    if parts[0] == "flakehound_inside":
        return "inside"
    return parts[1] if len(parts) > 1 and parts[1] != "__main__" else "entry"


def module_of(path: Path) -> str:
    """A file's dotted name."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, *, nested: bool = True) -> Iterator[str]:
    """Dotted names a file imports; without `nested` only what importing the file itself imports."""
    for node in _nodes(parsed(path), nested=nested):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield _base(path, node)


def _base(path: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module_of(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    return ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])


def _nodes(tree: ast.AST, *, nested: bool) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if not nested and isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue  # not run
        yield child
        if nested or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _nodes(child, nested=nested)


def parsed(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def is_ours(module: str) -> bool:
    """Whether a dotted name is one of our two packages."""
    return module.partition(".")[0] in ("flakehound", "flakehound_inside")


def is_standard(module: str) -> bool:
    """Whether a dotted name belongs to the standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def wrong_arrows(path: Path) -> list[str]:
    """Imports of ours that point to a layer the file may not know."""
    return [
        f"{module_of(path)} imports {module}"
        for module in imports_of(path)
        if is_ours(module) and module != "flakehound" and not may_import(module_of(path), module)
    ]


def may_import(importer: str, imported: str) -> bool:
    """Whether the table allows one module of ours to know another."""
    home = layer_of(importer)
    allowed = ALLOWED[home]
    return allowed is None or layer_of(imported) in {home, *allowed}


def foreign(path: Path, *known: str, nested: bool) -> list[str]:
    """Imports that are neither ours, nor the standard library's, nor known."""
    return [
        f"{module_of(path)} imports {module}"
        for module in imports_of(path, nested=nested)
        if not is_ours(module) and not is_standard(module) and module.partition(".")[0] not in known
    ]


def in_layer(*layers: str) -> list[Path]:
    """The files of some layers."""
    return [path for path in FILES if layer_of(module_of(path)) in layers]


def test_there_is_something_to_check():
    assert {"core", "hunt", "engine", "store", "report", "cli", "inside"} <= {
        layer_of(module_of(f)) for f in FILES
    }


def test_every_package_has_its_place_in_the_table():
    assert {layer_of(module_of(path)) for path in FILES} <= set(ALLOWED)


def test_imports_point_down_the_layers_only():
    assert [arrow for path in FILES for arrow in wrong_arrows(path)] == []


def test_a_room_never_imports_another_room():
    crossing = [
        f"{module_of(path)} imports {module}"
        for path in in_layer(*ROOMS)
        for module in imports_of(path)
        if is_ours(module) and layer_of(module) in set(ROOMS) - {layer_of(module_of(path))}
    ]

    assert crossing == []


def test_nothing_imports_the_command_line_except_itself_and_the_entry():
    importers = {
        layer_of(module_of(path))
        for path in FILES
        for module in imports_of(path)
        if is_ours(module) and layer_of(module) == "cli"
    }

    assert importers <= {"app", "cli", "entry"}


def test_core_imports_the_standard_library_only():
    assert [name for path in in_layer("core") for name in foreign(path, nested=True)] == []


def test_what_runs_in_the_users_process_imports_the_standard_library_and_pytest_only():
    known = ("pytest", "_pytest", "pluggy")

    assert [name for path in in_layer("inside") for name in foreign(path, *known, nested=False)] == []


def test_the_users_process_imports_a_library_only_where_the_suite_has_already_imported_it():
    nested = [
        name for path in in_layer("inside") for name in foreign(path, "pytest", "_pytest", "pluggy", nested=True)
    ]

    assert nested == []


def test_no_third_party_package_is_imported_before_it_is_needed_except_click_by_the_command_line():
    ours = [path for path in FILES if layer_of(module_of(path)) != "inside"]

    found = [name for path in ours for name in foreign(path, *_eager(path), nested=False)]

    assert found == []


def _eager(path: Path) -> tuple[str, ...]:
    return ("click",) if layer_of(module_of(path)) == "cli" else ()


def test_only_the_command_line_knows_click():
    others = [path for path in FILES if layer_of(module_of(path)) != "cli"]

    assert [module_of(p) for p in others if "click" in {m.partition(".")[0] for m in imports_of(p)}] == []


def test_no_file_has_a_name_that_says_nothing():
    assert [str(path) for path in FILES if path.stem in NAMELESS] == []


def test_no_file_is_longer_than_a_reader_can_hold():
    assert {str(p): n for p in FILES if (n := len(p.read_text(encoding="utf-8").splitlines())) > MOST_LINES} == {}


def test_no_function_is_longer_than_a_screen():
    long = {
        f"{module_of(path)}.{node.name}": length
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := _lines_of(node)) > MOST_FUNCTION_LINES
    }

    assert long == {}


def _lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    # Decorators are an options table, which may be longer.
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_every_module_has_a_docstring():
    assert [module_of(path) for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_every_public_function_class_and_method_has_a_docstring():
    silent = [f"{module_of(path)}.{name}" for path in FILES for name in _silent(parsed(path))]

    assert silent == []


def _silent(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _is_silent(node):
            yield node.name
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _silent_methods(node)


def _is_silent(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return not node.name.startswith("_") and not ast.get_docstring(node)


def _silent_methods(owner: ast.ClassDef) -> Iterator[str]:
    # A method that overrides one of a library's is documented there.
    for node in () if owner.bases else owner.body:
        if isinstance(node, ast.FunctionDef) and _is_silent(node):
            yield f"{owner.name}.{node.name}"


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("flakehound.core.history", "flakehound.hunt.agenda"),
        ("flakehound.hunt.agenda", "flakehound.engine.suite.loop"),
        ("flakehound.triage.verdict", "flakehound.hunt.agenda"),
        ("flakehound.store.store", "flakehound.report.hunt.text"),
        ("flakehound.report.hunt.text", "flakehound.store"),
        ("flakehound.engine.suite.loop", "flakehound.hunt.agenda"),
        ("flakehound.engine.suite.loop", "flakehound.cli.main"),
        ("flakehound_inside.worker.child", "flakehound.core.outcomes"),
    ],
)
def test_an_arrow_that_points_up_or_sideways_is_wrong(importer, imported):
    assert not may_import(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("flakehound.hunt.agenda", "flakehound.core.history"),
        ("flakehound.hunt.agenda", "flakehound.hunt.search.stages"),
        ("flakehound.engine.processes.spawn", "flakehound_inside.worker.supervise"),
        ("flakehound.app.hunt.run", "flakehound.hunt.agenda"),
        ("flakehound.__main__", "flakehound.cli.main"),
    ],
)
def test_an_arrow_that_points_down_is_right(importer, imported):
    assert may_import(importer, imported)
