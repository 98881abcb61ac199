"""`pytest --flakehound` in the situations a developer meets: no regression is ever called flaky or unrelated."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .shop import ALL_PLUGINS, Shop
from .situation_samples import BROKEN, verdicts_of

pytestmark = pytest.mark.slow


# A change that breaks a test


@dataclass(frozen=True, kw_only=True)
class Break:
    """A change, the tests it breaks, and what they touch."""

    name: str
    change: Callable[[Shop], object]
    broken: tuple[str, ...]
    touches: str


def rename_clock(shop: Shop) -> None:
    shop.git("mv", "shop/clock.py", "shop/time.py")


def add_shadow(shop: Shop) -> None:
    shop.write("shop/clock/__init__.py", "def ticks(n):\n    return []\n")


BREAKS = [
    Break(
        name="a called function",
        change=lambda shop: shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX"),
        broken=("test_total", "test_total_later"),
        touches="shop/cart.py: total",
    ),
    Break(
        name="import-time code",
        change=lambda shop: shop.replace("shop/registry.py", 'register("b")', 'register("c")'),
        broken=("test_registry",),
        touches="shop/registry.py: module level",
    ),
    Break(
        name="a constant",
        change=lambda shop: shop.replace("shop/cart.py", "TAX = 2", "TAX = 3"),
        broken=("test_total", "test_total_later"),
        touches="shop/cart.py: module level",
    ),
    Break(
        name="a fixture in a conftest",
        change=lambda shop: shop.replace("tests/conftest.py", "[1, 2]", "[1, 2, 3]"),
        broken=("test_total", "test_count"),
        touches="tests/conftest.py: prices",
    ),
    Break(
        name="a new autouse fixture in a conftest",
        change=lambda shop: shop.write(
            "tests/conftest.py",
            "import pytest\nimport shop.names\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n\n\n"
            "@pytest.fixture(autouse=True)\ndef loud(monkeypatch):\n"
            "    monkeypatch.setattr(shop.names, 'SUFFIX', '!')\n",
        ),
        broken=("test_victim",),
        touches="tests/conftest.py: module level",
    ),
    Break(
        name="a data file",
        change=lambda shop: shop.write("data/rates.json", '{"eur": 3}\n'),
        broken=("test_rates",),
        touches="data/rates.json",
    ),
    Break(
        name="a program that a test starts",
        change=lambda shop: shop.replace("shop/tool.py", '"fine"', '"broken"'),
        broken=("test_tool",),
        touches="",
    ),
    Break(
        name="a renamed module",
        change=rename_clock,
        broken=("test_clock",),
        touches="shop/clock.py",
    ),
    Break(
        name="a deleted data file",
        change=lambda shop: (shop.folder / "data/rates.json").unlink(),
        broken=("test_rates",),
        touches="data/rates.json",
    ),
    Break(
        name="an untracked module that hides another",
        change=add_shadow,
        broken=("test_clock",),
        touches="shop/clock/__init__.py",
    ),
    Break(
        name="the test itself",
        change=lambda shop: shop.replace("tests/test_shop.py", "count(prices) == 2", "count(prices) == 3"),
        broken=("test_count",),
        touches="tests/test_shop.py: test_count",
    ),
]


@pytest.mark.parametrize("case", BREAKS, ids=lambda case: case.name.replace(" ", "-"))
def test_a_regression_is_called_likely_real(shop, case):
    case.change(shop)

    code = shop.pytest()

    found = verdicts_of(shop)
    assert code == 1
    assert set(case.broken) <= set(found)
    assert {found[name] for name in case.broken} == {BROKEN}
    assert {verdict for verdict, _kind in found.values()} == {"likely-real"}
    for name in case.broken:
        touches = shop.triage()[name]["touches"]
        assert not case.touches or case.touches in touches


@pytest.mark.parametrize("how", ["committed on a branch", "committed on main", "staged", "half staged"])
def test_a_regression_is_found_wherever_git_keeps_it(shop, how):
    if how == "committed on a branch":
        shop.git("checkout", "-q", "-b", "work")
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    if how.startswith("committed"):
        shop.commit("a bug")
    else:
        shop.git("add", "-A")
    if how == "half staged":
        shop.replace("shop/names.py", "text.upper()", "text.lower()")

    shop.pytest("tests/test_shop.py")

    expected = {"test_total", *(["test_victim"] if how == "half staged" else [])}
    assert verdicts_of(shop) == dict.fromkeys(expected, BROKEN)


def test_nothing_is_cleared_after_a_change_of_configuration(shop):
    shop.replace("pytest.ini", "pythonpath = .", "pythonpath = .\naddopts = --import-mode=importlib")
    (shop.outside / "down").touch()

    shop.pytest()

    assert verdicts_of(shop) == {"test_down": ("undecided", None)}
    assert shop.triage()["test_down"]["touches"] == ["pytest.ini"]
    assert "pytest.ini, which can act before pytest starts" in str(shop.triage()["test_down"]["evidence"])


def test_a_regression_that_came_in_with_a_merge_is_likely_real(shop):
    shop.git("checkout", "-q", "-b", "other")
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    shop.commit("a bug")
    shop.git("checkout", "-q", "main")
    shop.git("checkout", "-q", "-b", "work")
    shop.write("notes.txt", "a note\n")
    shop.commit("a note")
    shop.git("merge", "-q", "--no-edit", "other")

    shop.pytest("tests/test_shop.py")

    assert verdicts_of(shop) == {"test_total": BROKEN}


def test_a_regression_in_a_shallow_clone_is_never_called_flaky(shop, tmp_path):
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    shop.commit("a bug")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{shop.folder}", str(clone)], check=True)
    shop.folder = clone

    shop.pytest("tests/test_shop.py")

    ((verdict, kind),) = verdicts_of(shop).values()
    assert verdict in ("likely-real", "undecided")
    assert kind is None


def test_without_git_a_regression_is_undecided(tmp_path):
    shop = Shop.made(tmp_path, git=False)
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("tests/test_shop.py")

    assert verdicts_of(shop) == {"test_total": ("undecided", None)}
    assert "git" in str(shop.triage()["test_total"]["evidence"])


def test_with_xdist_a_regression_is_likely_real_and_a_flake_is_flaky(shop):
    shop.env = {"SHOP_FLAKES": "pollution", **ALL_PLUGINS}
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("-n", "2", "--dist", "loadfile")

    found = verdicts_of(shop)
    assert found.pop("test_victim", ("flaky", "state-dependent")) == ("flaky", "state-dependent")
    assert set(found.values()) == {BROKEN}
    assert {"test_total", "test_total_later"} <= set(found)


def test_unittest_and_async_tests_are_judged_like_others(shop):
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    shop.replace("tests/test_unit.py", "total([2]), 4", "total([3]), 6")

    shop.pytest("tests/test_unit.py", "tests/test_async.py")

    assert verdicts_of(shop) == {"test_total": BROKEN, "test_total_later": BROKEN}
