"""Tests of shop.inventory: a race between threads and a victim of the working directory."""

from __future__ import annotations

import random
import threading
import time

import pytest
from shop import inventory

SECONDS_BETWEEN_CUSTOMERS = (0, 0, 0.015, 0.015, 0.015)


@pytest.fixture(autouse=True)
def shelf() -> inventory.Shelf:
    """Return a shelf of ten, a new one for each test."""
    return inventory.Shelf(10)


def buy_after(seconds: float, shelf: inventory.Shelf, doors_open: threading.Barrier) -> None:
    """Wait for the doors to open, look around for some seconds, buy one thing."""
    doors_open.wait()
    time.sleep(seconds)
    shelf.sell_one()


def test_selling_one_leaves_nine(shelf):
    """Steady, with an autouse fixture."""
    shelf.sell_one()
    assert shelf.count == 9


def test_two_customers_buy_at_once(shelf):
    """Nod (concurrency): if both threads meet at the till, one of the two sales is lost."""
    doors_open = threading.Barrier(2)
    delays = (0, random.SystemRandom().choice(SECONDS_BETWEEN_CUSTOMERS))
    customers = [threading.Thread(target=buy_after, args=(delay, shelf, doors_open)) for delay in delays]
    for customer in customers:
        customer.start()
    for customer in customers:
        customer.join()
    assert shelf.count == 8


def test_stock_file_lists_tea():
    """Victim (working directory): the path of the stock file is relative."""
    assert inventory.stock_from_file()["tea"] == 40
