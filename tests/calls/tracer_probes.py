"""A suite whose calls are known, for the tests of the tracer."""

from __future__ import annotations

HELPERS = """
import random
import time

def wait_a_bit():
    time.sleep(0.0001)

def pick():
    return random.choice([1, 2, 3])

class Cart:
    def total(self):
        return self.add(1)

    def add(self, price):
        return price + 1

    @classmethod
    def empty(cls):
        return cls()

class Special(Cart):
    pass
"""

PROBES = """
import asyncio
import functools
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import helpers
import pytest

try:
    import coverage  # here: under the tracer its import takes seconds
except ImportError:
    coverage = None

def leaf():
    return len("abc")

@pytest.fixture
def shelf():
    time.time()
    yield [leaf()]
    time.monotonic()

def test_counts(shelf):
    for _ in range(3):
        leaf()
    helpers.wait_a_bit()

def test_classes():
    helpers.Special().total()
    helpers.Cart.empty()
    [].append(1)

def test_thread():
    thread = threading.Thread(target=helpers.wait_a_bit)
    thread.start()
    thread.join()

def test_generator():
    def numbers():
        yield leaf()
        yield leaf()
    assert sum(numbers()) == 6

def test_coroutine():
    async def work():
        await asyncio.sleep(0)
        return helpers.Cart().total()
    assert asyncio.run(work()) == 2

def test_fails():
    helpers.pick()
    assert leaf() == 4

def test_error():
    leaf()
    raise KeyError("gone")

def test_recursion():
    def deeper(number):
        return 0 if number == 0 else 1 + deeper(number - 1)
    assert deeper(20) == 20
    with pytest.raises(RecursionError):
        deeper(10**6)

def test_children():
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    os.system("true")

def test_neutral():
    logging.getLogger("x").warning("a log record looks at the clock")
    tempfile.mkstemp()

@mock.patch("helpers.pick", lambda: 3)
def test_patched():
    assert helpers.pick() == leaf()

def test_own_profiler():
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event))
    leaf()
    sys.setprofile(None)
    assert "call" in seen

def test_own_tracer():
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(event))
    leaf()
    sys.settrace(None)
    assert "call" in seen

def test_own_cprofile():
    import cProfile
    profile = cProfile.Profile()
    assert profile.runcall(leaf) == 3
    assert any("leaf" in str(entry.code) for entry in profile.getstats())

def test_own_debugger():
    import bdb
    class Debugger(bdb.Bdb):
        lines = 0
        def user_line(self, frame):
            self.lines += 1
    debugger = Debugger()
    assert debugger.runcall(leaf) == 3
    assert debugger.lines

@pytest.mark.parametrize("core", ["ctrace", "sysmon"])
def test_own_coverage(core, monkeypatch):
    if coverage is None:
        pytest.skip("needs coverage")
    if sys.version_info >= (3, 12):
        monkeypatch.setenv("COVERAGE_CORE", core)
    measured = coverage.Coverage(data_file=None, config_file=False, include=["*"])
    measured.start()
    helpers.Cart().total()
    measured.stop()
    assert any(name.endswith("helpers.py") for name in measured.get_data().measured_files())

def test_nobody_listens_after_a_profiler_of_the_test():
    assert leaf() == 3

class TestUnittest(unittest.TestCase):
    def setUp(self):
        self.size = leaf()

    def test_method(self):
        helpers.Cart().total()
        self.assertEqual(self.size, 3)

    def tearDown(self):
        os.getpid()

class TestMethods:
    def setup_method(self):
        helpers.Cart().add(1)

    def test_method(self):
        assert helpers.Cart().total() == 2

@pytest.mark.skip
def test_skipped():
    leaf()
"""
