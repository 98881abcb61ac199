"""A pytest plugin that records each outcome, and can run each test twice.

It is independent of flakehound, because it checks flakehound's findings. It runs in the interpreters of the
suites, which may be old.

usage: pytest -p outcome_notes     OUTCOME_NOTES: file to write; OUTCOME_TWICE=1: run each test twice in a row
"""

import copy
import json
import os


def pytest_collection_modifyitems(items):
    """With OUTCOME_TWICE, add a copy after each test; the same object twice would keep its fixtures set up."""
    if os.environ.get("OUTCOME_TWICE"):
        items[:] = [item for first in items for item in (first, _copy_of(first))]


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
