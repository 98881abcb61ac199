"""A pytest plugin that writes down each outcome, and runs each test twice if asked to.

Knows nothing of flakehound: it is how flakehound's findings are checked. Runs in the suites' own, older
interpreters.

usage: pytest -p outcome_notes     OUTCOME_NOTES: file to write; OUTCOME_TWICE=1: run each test twice in a row
"""

import copy
import json
import os


def pytest_collection_modifyitems(items):
    """With OUTCOME_TWICE, put a copy behind each test; the same object twice would keep its fixtures standing."""
    if os.environ.get("OUTCOME_TWICE"):
        items[:] = [item for first in items for item in (first, _copy_of(first))]


def _copy_of(item):
    twin = copy.copy(item)
    for left_over in ("_obj", "_instance"):
        twin.__dict__.pop(left_over, None)
    if hasattr(twin, "_initrequest"):
        twin._initrequest()
    return twin


def pytest_runtest_logreport(report):
    """One line per phase."""
    with open(os.environ["OUTCOME_NOTES"], "a") as notes:
        notes.write(json.dumps([report.nodeid, report.when, report.outcome]) + "\n")
