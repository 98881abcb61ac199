"""`pytest --flakehound` in the situations a developer meets: no regression is ever called flaky or unrelated."""

from __future__ import annotations

import http.server
import random
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from .shop import ALL_PLUGINS, Shop

pytestmark = pytest.mark.slow
BROKEN = ("likely-real", None)


@pytest.fixture
def shop(tmp_path):
    return Shop.made(tmp_path)


def told(shop: Shop) -> dict[str, tuple[object, object]]:
    """Verdict and kind by test; every verdict must show its evidence."""
    found = shop.triage()
    assert all(failure["evidence"] for failure in found.values())
    assert all(str(failure["evidence"]) in " ".join(shop.output.split()) for failure in found.values())
    return {name: (failure["verdict"], failure["kind"]) for name, failure in found.items()}


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

    found = told(shop)
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
    assert told(shop) == dict.fromkeys(expected, BROKEN)


def test_a_changed_configuration_concerns_every_test(shop):
    shop.replace("pytest.ini", "pythonpath = .", "pythonpath = .\naddopts = --import-mode=importlib")
    (shop.outside / "down").touch()

    shop.pytest()

    assert told(shop) == {"test_down": BROKEN}
    assert shop.triage()["test_down"]["touches"] == ["pytest.ini"]


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

    assert told(shop) == {"test_total": BROKEN}


def test_a_regression_in_a_shallow_clone_is_never_called_flaky(shop, tmp_path):
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    shop.commit("a bug")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{shop.folder}", str(clone)], check=True)
    shop.folder = clone

    shop.pytest("tests/test_shop.py")

    ((verdict, kind),) = told(shop).values()
    assert verdict in ("likely-real", "undecided")
    assert kind is None


def test_without_git_a_regression_is_undecided(tmp_path):
    shop = Shop.made(tmp_path, git=False)
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("tests/test_shop.py")

    assert told(shop) == {"test_total": ("undecided", None)}
    assert "git" in str(shop.triage()["test_total"]["evidence"])


def test_with_xdist_a_regression_is_likely_real_and_a_flake_is_flaky(shop):
    shop.env = {"SHOP_FLAKES": "pollution", **ALL_PLUGINS}
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("-n", "2", "--dist", "loadfile")

    found = told(shop)
    assert found.pop("test_victim", ("flaky", "state-dependent")) == ("flaky", "state-dependent")
    assert set(found.values()) == {BROKEN}
    assert {"test_total", "test_total_later"} <= set(found)


def test_unittest_and_async_tests_are_judged_like_others(shop):
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    shop.replace("tests/test_unit.py", "total([2]), 4", "total([3]), 6")

    shop.pytest("tests/test_unit.py", "tests/test_async.py")

    assert told(shop) == {"test_total": BROKEN, "test_total_later": BROKEN}


# A failure that no change causes


def seed_that_fails_first() -> int:
    """A seed whose first number is low while those of the next ones are high."""
    return next(
        seed
        for seed in range(1000)
        if random.Random(seed).random() < 0.5 and all(random.Random(seed + n).random() > 0.5 for n in (1, 2, 3))
    )


def test_randomness_is_recognised_at_once(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.write("notes.txt", "a note\n")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert told(shop) == {"test_lucky": ("flaky", "not-bursty")}
    assert shop.triage()["test_lucky"]["stage"] == "immediate"


@contextmanager
def taken_port(attempts: Path, released: Path) -> Iterator[int]:
    """A port that is in use until a test has tried twice to have it."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))

        def release() -> None:
            while not attempts.exists() or len(attempts.read_text().splitlines()) < 2:
                time.sleep(0.01)
            time.sleep(0.2)
            holder.close()
            released.touch()

        threading.Thread(target=release, daemon=True).start()
        yield holder.getsockname()[1]


def test_a_port_in_use_is_recognised_at_the_end(shop):
    released = shop.outside / "released"
    with taken_port(shop.outside / "port-attempts", released) as port:
        shop.env = {"SHOP_FLAKES": "port", "SHOP_PORT": str(port), "SHOP_WAITS_FOR": str(released)}
        shop.replace("shop/clock.py", "list(range(n))", "[*range(n)]")

        shop.pytest()

    assert told(shop) == {"test_port": ("flaky", "bursty")}
    assert shop.triage()["test_port"]["stage"] == "postponed"


class SlowService(http.server.BaseHTTPRequestHandler):
    """Takes its time for the first two requests."""

    seen = 0
    ready: Path

    def do_GET(self) -> None:
        type(self).seen += 1
        if self.seen <= 2:
            time.sleep(1.0)
            if self.seen == 2:
                self.ready.touch()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        """Nobody wants to read it."""


def test_a_slow_service_is_recognised_at_the_end(shop):
    handler = type("Service", (SlowService,), {"ready": shop.outside / "ready", "seen": 0})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        shop.env = {
            "SHOP_FLAKES": "service",
            "SHOP_SERVICE": address,
            "SHOP_WAITS_FOR": str(shop.outside / "ready"),
        }
        shop.write("notes.txt", "a note\n")

        shop.pytest()
        server.shutdown()

    assert told(shop) == {"test_service": ("flaky", "bursty")}


def test_polluted_state_is_recognised_in_a_new_process_with_its_polluter(shop):
    shop.env = {"SHOP_FLAKES": "pollution"}
    shop.write("notes.txt", "a note\n")

    shop.pytest()

    assert told(shop) == {"test_victim": ("flaky", "state-dependent")}
    assert shop.triage()["test_victim"]["polluters"] == ["tests/test_a_flakes.py::test_polluter"]


def test_a_regression_and_a_flake_in_one_run_are_told_apart(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert told(shop) == {
        "test_lucky": ("flaky", "not-bursty"),
        "test_total": BROKEN,
        "test_total_later": BROKEN,
    }


def test_a_flaky_test_without_git_is_flaky(tmp_path):
    shop = Shop.made(tmp_path, git=False)
    shop.env = {"SHOP_FLAKES": "randomness"}

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert told(shop) == {"test_lucky": ("flaky", "not-bursty")}


NO_CHANGE = {
    "whitespace": lambda shop: shop.replace("shop/cart.py", "def total", "\n\ndef total"),
    "comment": lambda shop: shop.replace("shop/cart.py", "TAX = 2", "TAX = 2  # percent"),
    "elsewhere": lambda shop: shop.replace("shop/cart.py", "len(prices)", "len([*prices])"),
}


@pytest.mark.parametrize("change", NO_CHANGE)
def test_a_test_that_passed_before_and_does_not_touch_the_change_is_unrelated(shop, change):
    assert shop.pytest() == 0  # the store knows of it
    NO_CHANGE[change](shop)
    (shop.outside / "down").touch()

    shop.pytest()

    assert told(shop) == {"test_down": ("unrelated", None)}


def test_a_test_that_is_not_known_to_have_passed_is_undecided(shop):
    shop.replace("shop/cart.py", "len(prices)", "len([*prices])")
    (shop.outside / "down").touch()

    shop.pytest()

    assert told(shop) == {"test_down": ("undecided", None)}
    assert "--flakehound-check-base" in str(shop.triage()["test_down"]["evidence"])


def test_a_test_that_fails_at_the_base_as_well_is_not_blamed_on_the_change(shop):
    shop.replace("shop/cart.py", "len(prices)", "len([*prices])")
    (shop.outside / "down").touch()

    shop.pytest("--flakehound-check-base")

    assert told(shop) == {"test_down": ("undecided", None)}
    assert "as well" in str(shop.triage()["test_down"]["evidence"])


# A change that breaks a test only sometimes, or only for others


def test_a_regression_that_hits_some_random_numbers_only_is_likely_real(shop):
    shop.replace("shop/clock.py", "list(range(n))", "[*range(n), *([7] if random.random() < 0.5 else [])]")
    shop.replace("shop/clock.py", "def ticks", "import random\n\n\ndef ticks")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()), "tests/test_shop.py")

    assert told(shop) == {"test_clock": BROKEN}


@pytest.mark.parametrize("git", [True, False], ids=["git", "no-git"])
def test_a_regression_that_shows_only_the_first_time_in_a_process_is_not_called_flaky(tmp_path, git):
    shop = Shop.made(tmp_path, git=git)
    shop.replace(
        "shop/clock.py", "return list(range(n))", "SEEN.append(n)\n    return list(range(n))[len(SEEN) < 2:]"
    )
    shop.replace("shop/clock.py", "def ticks", "SEEN = []\n\n\ndef ticks")

    shop.pytest("tests/test_shop.py")

    assert told(shop) == {"test_clock": BROKEN if git else ("undecided", None)}
    assert "passes only where it has failed before" in str(shop.triage()["test_clock"]["evidence"])


def test_a_change_that_makes_a_tested_function_pollute_is_likely_real(shop):
    shop.replace(
        "shop/cart.py",
        "return len(prices)",
        "import shop.names\n\n    shop.names.SUFFIX = '!'\n    return len(prices)",
    )

    shop.pytest()

    assert told(shop) == {"test_victim": BROKEN}


# What the user gets beside the verdicts


def test_proven_flakes_can_be_tolerated(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.write("notes.txt", "a note\n")

    code = shop.pytest("--flakehound-tolerate", "--flakehound-seed", str(seed_that_fails_first()))

    assert code == 0
    assert "tolerated" in shop.output


def test_a_regression_is_never_tolerated(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    code = shop.pytest("--flakehound-tolerate", "--flakehound-seed", str(seed_that_fails_first()))

    assert code == 1


def test_the_worktree_of_the_base_leaves_no_trace(shop):
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")
    before = shop.git("status", "--porcelain"), shop.git("branch", "-a"), shop.git("stash", "list")

    shop.pytest("--flakehound-check-base", "tests/test_shop.py")

    after = shop.git("status", "--porcelain"), shop.git("branch", "-a"), shop.git("stash", "list")
    assert told(shop) == {"test_total": BROKEN}
    assert before == after
    assert len(shop.git("worktree", "list").splitlines()) == 1


def test_history_is_told_with_a_later_failure(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    for _ in range(2):
        shop.pytest("--flakehound-seed", str(seed_that_fails_first()))
    shop.replace("shop/cart.py", "len(prices)", "len([*prices])")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert "failed 2 of the last 2 runs on 1 branch" in str(shop.triage()["test_lucky"]["evidence"])
