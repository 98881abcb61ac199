"""A test depends on a changed entity, cannot depend on it, or may."""

from __future__ import annotations

import pytest
from intersection_samples import BODY, CART, IMPORTS_CART, only
from triage_samples import entity, met, seen

from flakehound.triage.changes import MODULE_LEVEL, EntityKind, EntityStatus, Reach
from flakehound.triage.dependencies import RecordedDependencies

MODULE = entity(name=MODULE_LEVEL, kind=EntityKind.MODULE, reach=Reach.IMPORT, import_lines=range(1, 3))


def module_gone(path):
    return entity(path, name=path, kind=EntityKind.MODULE, status=EntityStatus.REMOVED, reach=Reach.NAME)


def module_come(path):
    return entity(path, name=path, kind=EntityKind.MODULE, status=EntityStatus.ADDED, reach=Reach.IMPORT)


def test_a_function_is_touched_when_a_line_of_its_body_ran():
    found = met(BODY, seen(imported=IMPORTS_CART, lines={CART: [1, 2, 9, 12]}))

    assert only(found) == "shop/cart.py: Cart.total (changed; it executes line 12)"
    assert not found.is_disjoint


def test_a_function_whose_module_is_merely_imported_is_not_touched():
    found = met(BODY, seen(imported=IMPORTS_CART, lines={CART: [1, 2, 9, 14]}))

    assert found.is_disjoint
    assert found.changed == 1


def test_a_module_that_is_imported_is_touched_at_module_level():
    found = met(MODULE, seen(imported=IMPORTS_CART, lines={CART: [1]}))

    assert only(found) == "shop/cart.py: module level (changed; it imports the module)"


def test_a_module_that_is_not_imported_is_not_touched():
    assert met([BODY, MODULE], seen(imported={"shop.user": "/repo/shop/user.py"})).is_disjoint


def test_a_module_that_ran_without_being_imported_is_touched():
    assert met(MODULE, seen(lines={CART: [1]})).touches


def test_a_module_imported_before_the_recording_began_is_touched_whatever_ran():
    found = met(BODY, seen(imported=IMPORTS_CART, lines={CART: [30]}))

    assert only(found).endswith("(changed; its lines were not recorded since its import)")


def test_a_module_whose_lines_are_missing_is_touched():
    assert met(BODY, seen(imported=IMPORTS_CART)).touches


def test_a_module_read_as_text_is_touched():
    dependencies = seen(imported=IMPORTS_CART, lines={CART: [1]}, opened=[CART])

    assert only(met(BODY, dependencies)).endswith("(changed; it opens the file)")


def test_a_module_whose_import_failed_is_touched():
    found = met(
        entity(name="shop/cart.py", kind=EntityKind.FILE, reach=Reach.IMPORT), seen(attempted=["shop.cart"])
    )

    assert only(found) == "shop/cart.py (changed; it tries to import shop.cart)"


@pytest.mark.parametrize("path", ["tests/test_shop.py", "tests/conftest.py", "conftest.py"])
def test_a_file_of_the_run_that_cannot_be_parsed_is_touched(path):
    broken = entity(path, name=path, kind=EntityKind.FILE, reach=Reach.IMPORT)

    assert met(broken, RecordedDependencies()).touches


@pytest.mark.parametrize("path", ["tests/other/conftest.py", "tests/test_user.py"])
def test_a_file_of_other_tests_that_cannot_be_parsed_is_not_touched(path):
    assert met(entity(path, name=path, kind=EntityKind.FILE, reach=Reach.IMPORT), seen()).is_disjoint


@pytest.mark.parametrize(
    "place",
    [
        "/venv/lib/python3.11/site-packages/shop/cart.py",
        "/usr/lib/python3/dist-packages/shop/cart.py",
        "/repo/.venv/lib/python3.11/site-packages/shop/cart.py",
        "/repo/build/lib/shop/cart.py",
        "/somewhere/shop/cart.py",
        "/repo/shop/cart.cpython-311-x86_64-linux-gnu.so",
        "/venv/lib/python3.11/site-packages/shop/cart.cpython-311-x86_64-linux-gnu.so",
        None,
    ],
)
def test_a_module_imported_from_a_place_that_may_hold_a_copy_of_it_is_touched(place):
    change = entity("src/shop/cart.py", body_lines=(range(10, 14),))

    assert met(change, seen(imported={"shop.cart": place})).touches


@pytest.mark.parametrize(
    ("path", "name", "place"),
    [
        ("shop/json.py", "json", "/usr/lib/python3.11/json/__init__.py"),
        ("shop/abc.py", "abc", "/usr/lib/python3.11/abc.py"),
        ("shop/time.py", "time", None),
        ("shop/click.py", "click", "/venv/lib/python3.11/site-packages/click/__init__.py"),
        ("shop/utils.py", "utils", "/repo/tests/utils.py"),
        ("tests/sub/conftest.py", "conftest", "/repo/tests/conftest.py"),
        ("shop/utils.py", "requests.utils", "/venv/lib/python3.11/site-packages/requests/utils.py"),
    ],
)
def test_a_module_of_the_same_name_elsewhere_is_no_copy(path, name, place):
    assert met(entity(path), seen(imported={name: place})).is_disjoint


@pytest.mark.parametrize("name", ["shop.cart", "cart", "src.shop.cart", "shop.cart.deep"])
def test_a_module_that_is_gone_is_touched_by_any_import_that_could_mean_it(name):
    found = met(module_gone("src/shop/cart.py"), seen(attempted=[name]))

    assert only(found).startswith("src/shop/cart.py (removed; it imports ")


def test_a_module_that_is_gone_is_touched_although_the_name_is_found_elsewhere_now():
    assert met(
        module_gone("shop/json.py"), seen(imported={"json": "/usr/lib/python3.11/json/__init__.py"})
    ).touches


def test_a_module_that_is_gone_is_not_touched_by_other_imports():
    assert met(module_gone("shop/cart.py"), seen(attempted=["shop", "shop.user"])).is_disjoint


def test_a_package_that_is_gone_is_touched_by_imports_below_it():
    assert met(module_gone("shop/__init__.py"), seen(attempted=["shop.cart"])).touches


@pytest.mark.parametrize("status", [EntityStatus.ADDED, EntityStatus.REMOVED])
def test_a_package_that_comes_or_goes_around_a_test_file_changes_how_it_is_imported(status):
    reach = Reach.IMPORT if status is EntityStatus.ADDED else Reach.NAME
    package = entity(
        "tests/__init__.py", name="tests/__init__.py", kind=EntityKind.MODULE, status=status, reach=reach
    )

    assert only(met(package, seen())).endswith("it imports from tests)")


def test_a_conftest_that_is_gone_is_touched_by_the_tests_it_served():
    assert met(module_gone("tests/conftest.py"), seen()).touches
    assert met(module_gone("tests/other/conftest.py"), seen()).is_disjoint


def test_an_added_module_is_touched_when_it_is_imported_because_it_may_hide_another():
    assert met(module_come("shop/json.py"), seen(imported={"json": "/repo/shop/json.py"})).touches


def test_an_added_module_that_nobody_imports_is_not_touched():
    assert met(module_come("shop/new.py"), seen(imported=IMPORTS_CART, lines={CART: [1]})).is_disjoint


@pytest.mark.parametrize("folder", ["/repo/plugins", "/repo"])
def test_a_module_that_comes_or_goes_is_touched_by_who_lists_its_folder(folder):
    assert met(module_come("plugins/new.py"), seen(listed=[folder])).touches
    assert met(module_gone("plugins/old.py"), seen(listed=[folder])).touches


def test_a_changed_module_is_not_touched_by_who_lists_its_folder():
    assert met([BODY, MODULE], seen(listed=["/repo/shop"])).is_disjoint


def test_a_renamed_module_is_touched_by_its_old_name_and_by_its_new_file():
    changes = [module_gone("shop/old.py"), module_come("shop/new.py")]

    assert len(met(changes, seen(attempted=["shop.old"])).touches) == 1
    assert len(met(changes, seen(imported={"shop.new": "/repo/shop/new.py"})).touches) == 1
    assert met(changes, seen(imported=IMPORTS_CART)).is_disjoint
