"""Gives each forked run its own names for services that it shares with other runs: containers and databases.

A library that chose such a name when it was imported has the same one in every fork.
"""

from __future__ import annotations

import os
import sys


def separate_services(slot: str) -> None:
    """Choose new names in the process of a new run; runs of the same slot are never made at the same time."""
    if "testcontainers.core.labels" in sys.modules:
        _renew_testcontainers_session()
    if "pytest_django" in sys.modules:
        _separate_test_databases(slot)


def _renew_testcontainers_session() -> None:
    """Choose a new session id; otherwise the end of one run would remove the containers of all others."""
    from uuid import uuid4

    old = getattr(sys.modules["testcontainers.core.labels"], "SESSION_ID", None)
    new = str(uuid4())
    for name, module in list(sys.modules.items()):
        if name.startswith("testcontainers.") and old and getattr(module, "__dict__", {}).get("SESSION_ID") == old:
            setattr(module, "SESSION_ID", new)  # noqa: B010 (mypy: no such attribute)


def _separate_test_databases(slot: str) -> None:
    # pytest-django appends the value to the names of its test databases, unless they are in memory.
    own = "flakehound%s" % slot
    if not os.environ.get("TOX_PARALLEL_ENV", "").endswith(own):
        os.environ["TOX_PARALLEL_ENV"] = "_".join(filter(None, [os.environ.get("TOX_PARALLEL_ENV"), own]))
