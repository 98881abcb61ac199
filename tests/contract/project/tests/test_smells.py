"""Code that several rules of lint have something to say about; never run by the recorded hunt."""

import datetime
import os
import random
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import pytest

_SEEN = []


@pytest.fixture(scope="module")
def basket():
    return []


def test_sleeps_before_it_looks():
    time.sleep(0.1)
    assert True


def test_depends_on_today():
    assert datetime.datetime.now().year > 2000


def test_draws_numbers():
    assert random.randint(0, 9) >= 0


def test_asks_the_network():
    urllib.request.urlopen("http://example.com/")


def test_binds_a_port():
    server = socket.socket()
    server.bind(("127.0.0.1", 8080))


def test_changes_the_environment():
    os.environ["MODE"] = "test"


def test_fills_a_shared_list(basket):
    basket.append(1)
    _SEEN.append(1)
    assert basket == [1]


def test_starts_a_thread():
    threading.Thread(target=print).start()


def test_starts_a_program():
    subprocess.run(["true"], timeout=0.5)


def test_takes_a_temporary_name():
    assert tempfile.mktemp()


def test_orders_a_set():
    assert list({"b", "a"}) == ["b", "a"]  # flakehound: ignore[FH201] of no consequence


def test_measures_time():
    start = time.time()
    assert time.time() - start < 0.01


def test_compares_fractions():
    assert 0.1 + 0.2 == 0.3


@pytest.mark.parametrize("n", [1, 2])
def test_with_parameters(n):
    assert n


class TestCase:
    shared = []

    def test_class_state(self):
        TestCase.shared.append(1)
