"""A pytest plugin that stops the clock `time.time` while a test runs.

usage: LARGE_CLOCK_S=1000000000 pytest -p large_clock
"""

import os
import time

import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Show the moment of LARGE_CLOCK_S to the test, and nothing to pytest itself."""
    moment_s, original = float(os.environ["LARGE_CLOCK_S"]), time.time
    time.time = lambda: moment_s
    yield
    time.time = original
