import os
import random
import time

import shop


def test_steady():
    assert 1 + 1 == 2


def test_polluter_sets_rate():
    shop.STATE["rate"] = 2.0
    assert shop.STATE["rate"] == 2.0


def test_victim_of_rate():
    assert shop.STATE["rate"] == 1.0


def test_cleaner():
    shop.STATE["rate"] = 1.0


def test_fills_cache():
    shop.CACHE.append(1)


def test_brittle_needs_cache():
    assert shop.CACHE


def test_nod_random():
    assert random.random() > 0.3


def test_not_idempotent():
    assert not os.environ.get("SEEN_ONCE")
    os.environ["SEEN_ONCE"] = "1"


def test_always_fails():
    assert 1 == 2


def test_sleeps():
    time.sleep(0.01)


class TestGroup:
    def test_in_class(self):
        assert True

    def test_hash_order(self):
        assert list({"a", "b", "c"})[0] in "ab"
