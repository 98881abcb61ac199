"""Which tests a changed data file, a doubt or a changed test concerns."""

from __future__ import annotations

import pytest
from intersection_samples import BODY, CART, IMPORTS_CART, only
from triage_samples import TEST_FILE, added, changed, deleted, entity, met, modified, seen

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import EntityKind, EntityStatus, Reach
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.entities import changed_entities
from flakehound.triage.intersection import NOT_RECORDED, intersect


def data(path="data/prices.json", status=EntityStatus.CHANGED):
    return entity(path, name=path, kind=EntityKind.DATA, status=status, reach=Reach.CONTENT)


def test_a_data_file_is_touched_by_who_opens_it():
    found = met(data(), seen(opened=["/repo/data/prices.json"]))

    assert only(found) == "data/prices.json (changed; it opens the file)"


def test_a_data_file_is_touched_by_who_lists_its_folder():
    assert only(met(data(), seen(listed=["/repo/data"]))) == "data/prices.json (changed; it lists data)"


def test_a_data_file_is_not_touched_by_who_reads_others():
    assert met(data(), seen(opened=["/repo/data/other.json"], listed=["/repo", "/repo/docs"])).is_disjoint


@pytest.mark.parametrize("status", [EntityStatus.ADDED, EntityStatus.REMOVED])
def test_a_data_file_that_comes_or_goes_may_show_in_the_list_of_any_folder_above(status):
    assert met(data("data/new/prices.json", status), seen(listed=["/repo/data"])).touches


def test_a_data_file_that_runs_is_touched():
    assert met(data("bin/tool"), seen(lines={"/repo/bin/tool": [1]})).touches


def test_an_executable_bit_is_not_touched_by_who_imports_the_module():
    bit = entity(name="shop/cart.py", kind=EntityKind.MODE, reach=Reach.CONTENT)

    assert met(bit, seen(imported=IMPORTS_CART, lines={CART: [1]})).is_disjoint
    assert met(bit, seen(opened=[CART])).touches


@pytest.mark.parametrize("kind", ["opened", "listed"])
def test_an_installed_copy_of_a_data_file_is_touched(kind):
    folder = "/venv/lib/python3.11/site-packages/shop/data"
    used = f"{folder}/prices.json" if kind == "opened" else folder

    assert met(data("src/shop/data/prices.json"), seen(**{kind: [used]})).touches


@pytest.mark.parametrize(
    "kind", [EntityKind.CONFIGURATION, EntityKind.NATIVE, EntityKind.LINK, EntityKind.SUBMODULE]
)
def test_what_concerns_every_test_is_touched_by_every_test(kind):
    found = met(entity("x", name="x", kind=kind, reach=Reach.EVERY), seen())

    assert only(found).endswith("concerns every test)")


def test_any_doubt_intersects_when_anything_changed():
    found = met(BODY, seen(doubts=("it started a process: git status",)))

    assert found.intersects
    assert not found.touches
    assert found.doubts == ("it started a process: git status",)


def test_dependencies_that_were_not_recorded_are_a_doubt():
    assert met(BODY, None).doubts == (NOT_RECORDED,)


def test_a_record_that_does_not_know_the_tests_own_file_is_a_doubt():
    found = met(BODY, RecordedDependencies(imported={"shop.user": "/repo/shop/user.py"}))

    assert found.doubts == ("the record lacks tests/test_shop.py, the test's own file",)


@pytest.mark.parametrize("dependencies", [None, seen(doubts=("it started a process",))])
def test_without_a_change_nothing_is_in_doubt(dependencies):
    assert met([], dependencies).is_disjoint


def test_the_rootdir_may_be_below_the_top_of_the_repository():
    change = entity("app/tests/conftest.py", name="x", kind=EntityKind.FILE, reach=Reach.IMPORT)

    found = intersect(
        [change],
        RecordedDependencies(),
        test=NodeId("tests/test_a.py::test_a"),
        root="/repo/",
        rootdir="/repo/app",
    )

    assert found.touches


OLD = "import shop\n\ndef test_old():\n    assert x\n\n"


NEW = OLD + "def test_new():\n    assert y\n"


def test_a_new_test_is_touched_by_itself_only():
    change = changed(OLD, NEW, path="tests/test_shop.py")
    ran = seen(lines={TEST_FILE: [1, 3, 4, 6]})

    assert met(change, ran, test=NodeId("tests/test_shop.py::test_old")).is_disjoint
    assert met(change, ran, test=NodeId("tests/test_shop.py::test_new")).touches


@pytest.mark.parametrize("id", ["test_new[a::b-1]", "TestA::test_new", "test_new", "test_shop.test_new"])
def test_a_redefined_test_is_touched_by_itself_even_if_its_fixtures_fail(id):
    change = changed(NEW, NEW.replace("test_new()", "test_new(db)"), path="tests/test_shop.py")

    found = met(change, seen(lines={TEST_FILE: [1, 3, 6]}), test=NodeId(f"tests/test_shop.py::{id}"))

    assert only(found) == "tests/test_shop.py: test_new (changed; it has the name of this test)"


def test_a_test_whose_lines_another_test_executes_is_touched():
    change = changed(OLD, NEW, path="tests/test_shop.py")

    found = met(change, seen(lines={TEST_FILE: [1, 7]}), test=NodeId("tests/test_shop.py::test_old"))

    assert found.touches


def test_a_test_that_went_touches_nobody_but_its_name():
    change = changed(NEW, OLD, path="tests/test_shop.py")
    ran = seen(lines={TEST_FILE: [1, 3, 4]})

    assert met(change, ran, test=NodeId("tests/test_shop.py::test_old")).is_disjoint
    assert met(change, ran, test=NodeId("tests/test_shop.py::TestB::test_new")).touches


def test_a_test_that_comes_or_goes_in_a_file_that_others_import_is_touched_by_them():
    change = changed(NEW, OLD, path="tests/test_base.py")
    imports = seen(imported={"test_base": "/repo/tests/test_base.py"}, lines={"/repo/tests/test_base.py": [1, 3]})

    assert met(change, imports).touches
    assert met(change, seen()).is_disjoint


def test_the_changes_of_a_file_and_the_record_of_a_run_speak_of_the_same_lines():
    file = modified(
        "import a\n\ndef f():\n    return 1\n\ndef g():\n    return 1\n",
        "import a\n\n# more\n\ndef f():\n    return 1\n\ndef g():\n    return 2\n",
    )

    change = changed_entities(file)

    assert met(change, seen(imported=IMPORTS_CART, lines={CART: [1, 5, 6, 8]})).is_disjoint
    assert met(change, seen(imported=IMPORTS_CART, lines={CART: [1, 5, 8, 9]})).touches


def test_files_that_come_and_go_are_found_from_git_to_touch():
    change = [*changed_entities(added("shop/new.py")), *changed_entities(deleted("shop/old.py"))]

    assert [touch.entity.path for touch in met(change, seen(attempted=["shop.old"])).touches] == ["shop/old.py"]


WRITTEN = {
    "lines": {"/repo/a.py": [1, 2]},
    "imported": {"a": "/repo/./a.py", "sys": None},
    "attempted": ["b"],
    "opened": ["/repo/x/../c.json"],
    "listed": ["/repo/data/"],
    "doubts": ["it started a process"],
}


def test_dependencies_are_read_as_the_recorder_wrote_them():
    found = RecordedDependencies.from_json(WRITTEN)

    assert found == RecordedDependencies(
        lines={"/repo/a.py": frozenset({1, 2})},
        imported={"a": "/repo/a.py", "sys": None},
        attempted=frozenset({"b"}),
        opened=frozenset({"/repo/c.json"}),
        listed=frozenset({"/repo/data"}),
        doubts=("it started a process",),
    )


@pytest.mark.parametrize("part", sorted(WRITTEN))
@pytest.mark.parametrize("value", [None, 7, "text", {"a": 1}, [[]], ...])
def test_a_part_that_is_missing_or_malformed_is_a_doubt(part, value):
    written = {name: one for name, one in WRITTEN.items() if name != part}
    if value is not ...:
        written[part] = value

    found = RecordedDependencies.from_json(written)

    assert f"the record of what the test depends on lacks {part!r}" in found.doubts


@pytest.mark.parametrize("written", [None, [], "text", 3])
def test_a_record_that_is_no_record_is_in_doubt(written):
    assert len(RecordedDependencies.from_json(written).doubts) == 6


# Existence is asked for without an event


DATA = "shop/data/rates.json"


@pytest.mark.parametrize(
    ("status", "facts", "touched"),
    [
        (EntityStatus.REMOVED, {"opened": ["/repo/shop/data/other.json"]}, True),
        (EntityStatus.ADDED, {"opened": ["/repo/shop/data/other.json"]}, True),
        (EntityStatus.CHANGED, {"opened": ["/repo/shop/data/other.json"]}, False),
        (EntityStatus.REMOVED, {"imported": {"shop.data.table": "/repo/shop/data/table.py"}}, True),
        (EntityStatus.ADDED, {"imported": {"shop.data.table": "/repo/shop/data/table.py"}}, False),
        (EntityStatus.REMOVED, {"opened": ["/repo/shop/other.json"]}, False),
        (EntityStatus.ADDED, {"opened": ["/repo/shop/data/a.ini"], "settings": ["/repo/shop/data/a.ini"]}, False),
    ],
)
def test_a_data_file_that_came_or_went_beside_files_in_use_may_have_been_looked_for(status, facts, touched):
    data = entity(DATA, name=DATA, status=status, kind=EntityKind.DATA, reach=Reach.CONTENT)

    found = met(data, seen(**facts))

    assert bool(found.touches) is touched
