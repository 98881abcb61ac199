"""The arrows of docs/architecture.md, read from the imports of every file under src/."""

from __future__ import annotations

import pytest
from source_tree import (
    ALLOWED,
    FILES,
    ROOMS,
    USE_CASES,
    foreign_imports,
    import_cycles,
    imports_of,
    in_layer,
    is_ours,
    layer_of,
    may_import,
    module_of,
    use_case_of,
)


def test_there_is_something_to_check():
    assert {"core", *ROOMS, "engine", "store", "report", "app", "cli", "inside.worker"} <= {
        layer_of(module_of(path)) for path in FILES
    }


def test_every_package_has_its_place_in_the_tables():
    modules = [module_of(path) for path in FILES]

    assert {layer_of(module) for module in modules} <= set(ALLOWED)
    assert {case for module in modules if (case := use_case_of(module))} <= set(USE_CASES)


def test_imports_point_down_the_layers_only():
    wrong = [
        f"{module_of(path)} imports {module}"
        for path in FILES
        for module in imports_of(path)
        if is_ours(module) and not may_import(module_of(path), module)
    ]

    assert wrong == []


def test_no_two_files_import_each_other():
    assert import_cycles() == []


def test_core_imports_the_standard_library_only():
    assert [name for path in in_layer("core") for name in foreign_imports(path, nested=True)] == []


def test_what_runs_in_the_users_process_imports_the_standard_library_and_pytest_only():
    known = ("pytest", "_pytest", "pluggy")

    assert [name for path in in_layer("inside") for name in foreign_imports(path, *known, nested=True)] == []


def test_no_third_party_package_is_imported_before_it_is_needed_except_click_by_the_command_line():
    ours = [path for path in FILES if not layer_of(module_of(path)).startswith("inside")]
    eager = {path: ("click",) if layer_of(module_of(path)) == "cli" else () for path in ours}

    assert [name for path in ours for name in foreign_imports(path, *eager[path], nested=False, types=False)] == []


def test_only_the_command_line_knows_click_and_each_of_its_files_does():
    users = {module_of(path) for path in FILES if "click" in {name.partition(".")[0] for name in imports_of(path)}}

    assert users == {module_of(path) for path in in_layer("cli")} - {"flakehound.cli"}


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("flakehound.core.history", "flakehound.hunt.agenda"),
        ("flakehound.hunt.agenda", "flakehound.engine.suite.loop"),
        ("flakehound.triage.verdict", "flakehound.hunt.agenda"),
        ("flakehound.store.store", "flakehound.report.hunt.text"),
        ("flakehound.report.hunt.text", "flakehound.store"),
        ("flakehound.engine.suite.loop", "flakehound.hunt.agenda"),
        ("flakehound.engine.suite.loop", "flakehound.store"),
        ("flakehound.app.hunt.run", "flakehound.cli.main"),
        ("flakehound.app.lint.run", "flakehound.app.hunt.run"),
        ("flakehound.app.triage.change", "flakehound.app.hunt.run"),
        ("flakehound_inside.worker.child", "flakehound.core.outcomes"),
        ("flakehound_inside.worker.child", "flakehound_inside.triage.session"),
        ("flakehound_inside.triage.session", "flakehound_inside.worker.child"),
        ("flakehound_inside.observe.writes", "flakehound_inside.worker.child"),
    ],
)
def test_an_arrow_that_points_up_or_sideways_is_wrong(importer, imported):
    assert not may_import(importer, imported)


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("flakehound.hunt.agenda", "flakehound.core.history"),
        ("flakehound.hunt.agenda", "flakehound.hunt.search.stages"),
        ("flakehound.app.hunt.run", "flakehound.hunt.agenda"),
        ("flakehound.app.hunt.run", "flakehound.app.sessions.target"),
        ("flakehound.app.hunt.run", "flakehound.app.measure"),
        ("flakehound.cli.hunt", "flakehound.app.hunt.run"),
        ("flakehound", "flakehound.app.hunt.run"),
        ("flakehound.__main__", "flakehound.cli.main"),
        ("flakehound_inside.worker.child", "flakehound_inside.observe.writes"),
        ("flakehound_inside.plugin", "flakehound_inside.triage.session"),
    ],
)
def test_an_arrow_that_points_down_is_right(importer, imported):
    assert may_import(importer, imported)
