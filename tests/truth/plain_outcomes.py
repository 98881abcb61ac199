"""A pytest plugin, loaded into plain pytest with -p, that writes each test's outcome as JSON.

Shares no code with flakehound: it is what flakehound is checked against.
"""

import json
import os

_RANK = {"passed": 0, "skipped": 1, "xfailed": 1, "xpassed": 1, "error": 2, "failed": 3}
_outcomes = {}


def pytest_runtest_logreport(report):
    word = report.outcome
    if word == "failed" and report.when != "call":
        word = "error"
    if hasattr(report, "wasxfail") and word in ("skipped", "passed"):
        word = "xfailed" if word == "skipped" else "xpassed"
    if _RANK[word] >= _RANK[_outcomes.get(report.nodeid, "passed")]:
        _outcomes[report.nodeid] = word


def pytest_sessionfinish():
    with open(os.environ["PLAIN_OUTCOMES"], "w") as file:
        json.dump(_outcomes, file)
