"""Failures that no change causes, and changes that break a test only sometimes, in real projects."""

from __future__ import annotations

import http.server
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .shop import Shop
from .situation_samples import BROKEN, verdicts_of

pytestmark = pytest.mark.slow


# A failure that no change causes


def seed_that_fails_first() -> int:
    """A seed whose first number is low while those of the next ones are high."""
    return next(
        seed
        for seed in range(1000)
        if random.Random(seed).random() < 0.5 and all(random.Random(seed + n).random() > 0.5 for n in (1, 2, 3))
    )


def test_randomness_is_recognised_by_the_same_rate_at_the_base(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.write("notes.txt", "a note\n")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert verdicts_of(shop) == {"test_lucky": ("flaky", "not-bursty")}
    assert shop.triage()["test_lucky"]["stage"] == "base"


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


def test_a_port_that_is_free_again_proves_nothing(shop):
    released = shop.outside / "released"
    with taken_port(shop.outside / "port-attempts", released) as port:
        shop.env = {"SHOP_FLAKES": "port", "SHOP_PORT": str(port), "SHOP_WAITS_FOR": str(released)}
        shop.replace("shop/clock.py", "list(range(n))", "[*range(n)]")

        shop.pytest()

    assert verdicts_of(shop) == {"test_port": ("undecided", None)}
    assert "the failure did not occur again" in str(shop.triage()["test_port"]["evidence"])


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


def test_a_service_that_is_quick_again_proves_nothing(shop):
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

    assert verdicts_of(shop) == {"test_service": ("undecided", None)}


def test_polluted_state_is_recognised_in_a_new_process_with_its_polluter(shop):
    shop.env = {"SHOP_FLAKES": "pollution"}
    shop.write("notes.txt", "a note\n")

    shop.pytest()

    assert verdicts_of(shop) == {"test_victim": ("flaky", "state-dependent")}
    assert shop.triage()["test_victim"]["polluters"] == ["tests/test_a_flakes.py::test_polluter"]


def test_a_regression_and_a_flake_in_one_run_are_told_apart(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    shop.replace("shop/cart.py", "sum(prices) * TAX", "sum(prices) + TAX")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert verdicts_of(shop) == {
        "test_lucky": ("flaky", "not-bursty"),
        "test_total": BROKEN,
        "test_total_later": BROKEN,
    }


def test_a_flaky_test_without_a_base_is_undecided(tmp_path):
    shop = Shop.made(tmp_path, git=False)
    shop.env = {"SHOP_FLAKES": "randomness"}

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert verdicts_of(shop) == {"test_lucky": ("undecided", None)}


NO_CHANGE = {
    "whitespace": lambda shop: shop.replace("shop/cart.py", "def total", "\n\ndef total"),
    "comment": lambda shop: shop.replace("shop/cart.py", "TAX = 2", "TAX = 2  # percent"),
    "elsewhere": lambda shop: shop.replace("shop/cart.py", "len(prices)", "len([*prices])"),
}


@pytest.mark.parametrize("change", NO_CHANGE)
def test_a_test_that_fails_by_state_outside_the_project_is_undecided(shop, change):
    assert shop.pytest() == 0  # the store knows of it
    NO_CHANGE[change](shop)
    (shop.outside / "down").touch()

    shop.pytest()

    assert verdicts_of(shop) == {"test_down": ("undecided", None)}
    assert "down, which the change may have written" in str(shop.triage()["test_down"]["evidence"])


def test_a_test_that_is_broken_at_the_base_is_not_blamed_on_the_change(shop):
    shop.replace("shop/cart.py", "len(prices)", "len(prices) + 1")
    shop.git("commit", "-qam", "breaks it")
    shop.git("checkout", "-qb", "feature")
    shop.replace("shop/clock.py", "list(range(n))", "[*range(n)]")

    shop.pytest("--flakehound-since=HEAD", "tests/test_shop.py")

    assert verdicts_of(shop) == {"test_count": ("unrelated", None)}
    assert "as well" in str(shop.triage()["test_count"]["evidence"])


# A change that breaks a test only sometimes, or only for others


def test_a_regression_that_hits_some_random_numbers_only_is_likely_real(shop):
    shop.replace("shop/clock.py", "list(range(n))", "[*range(n), *([7] if random.random() < 0.5 else [])]")
    shop.replace("shop/clock.py", "def ticks", "import random\n\n\ndef ticks")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()), "tests/test_shop.py")

    assert verdicts_of(shop) == {"test_clock": BROKEN}


@pytest.mark.parametrize("git", [True, False], ids=["git", "no-git"])
def test_a_regression_that_shows_only_the_first_time_in_a_process_is_not_called_flaky(tmp_path, git):
    shop = Shop.made(tmp_path, git=git)
    shop.replace(
        "shop/clock.py", "return list(range(n))", "SEEN.append(n)\n    return list(range(n))[len(SEEN) < 2:]"
    )
    shop.replace("shop/clock.py", "def ticks", "SEEN = []\n\n\ndef ticks")

    shop.pytest("tests/test_shop.py")

    assert verdicts_of(shop) == {"test_clock": BROKEN if git else ("undecided", None)}
    assert "passes only where it has failed before" in str(shop.triage()["test_clock"]["evidence"])


def test_a_change_that_makes_a_tested_function_pollute_is_likely_real(shop):
    shop.replace(
        "shop/cart.py",
        "return len(prices)",
        "import shop.names\n\n    shop.names.SUFFIX = '!'\n    return len(prices)",
    )

    shop.pytest()

    assert verdicts_of(shop) == {"test_victim": BROKEN}


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
    assert verdicts_of(shop) == {"test_total": BROKEN}
    assert before == after
    assert len(shop.git("worktree", "list").splitlines()) == 1


def test_history_is_told_with_a_later_failure(shop):
    shop.env = {"SHOP_FLAKES": "randomness"}
    for _ in range(2):
        shop.pytest("--flakehound-seed", str(seed_that_fails_first()))
    shop.replace("shop/cart.py", "len(prices)", "len([*prices])")

    shop.pytest("--flakehound-seed", str(seed_that_fails_first()))

    assert "failed 2 of the last 2 runs on 1 branch" in str(shop.triage()["test_lucky"]["evidence"])
