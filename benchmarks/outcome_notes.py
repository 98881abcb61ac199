"""A pytest plugin that records each outcome, and can run each test several times.

It is independent of flakehound, because it checks flakehound's findings. It runs in the interpreters of the
suites, which may be old.

usage: pytest -p outcome_notes     OUTCOME_NOTES: file to write; OUTCOME_TIMES: run each test so often in a row
"""

import copy
import json
import os


def pytest_collection_modifyitems(items):
    """With OUTCOME_TIMES, add copies after each test; the same object twice would keep its fixtures set up."""
    copies = int(os.environ.get("OUTCOME_TIMES") or "1") - 1
    if copies > 0:
        items[:] = [item for first in items for item in [first] + [_copy_of(first) for _ in range(copies)]]


def _copy_of(item):
    duplicate = copy.copy(item)
    for attribute in ("_obj", "_instance"):
        duplicate.__dict__.pop(attribute, None)
    if hasattr(duplicate, "_initrequest"):
        duplicate._initrequest()
    return duplicate


def pytest_runtest_logreport(report):
    """Write one line per phase."""
    with open(os.environ["OUTCOME_NOTES"], "a") as notes:
        notes.write(json.dumps([report.nodeid, report.when, report.outcome]) + "\n")
