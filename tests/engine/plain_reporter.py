"""A pytest plugin that writes the ids of the tests in each category of pytest's summary.

Runs in the sample's interpreter, which may be old: standard library only, Python 3.8.
"""

import json
import os

import pytest


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    ids_by_category = {
        category: [report.nodeid for report in reports if hasattr(report, "nodeid")]
        for category, reports in stats.items()
    }
    with open(os.environ["PLAIN_REPORT"], "w") as file:
        json.dump(ids_by_category, file)
