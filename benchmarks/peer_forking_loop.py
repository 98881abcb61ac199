"""The lean peer of `pairwise.py`: a pytest plugin that forks once per pair ⟨p, v⟩, one pair after another.

Our implementation of the scheme of the published plugin pytest-cannier (victim mode), made faster: the published
plugin starts a new pytest session for each victim and calls all of pytest's hooks and its terminal reporter; this
one collects once for all victims and calls `runtestprotocol` directly.

usage: pytest -p peer_forking_loop     PEER_VICTIMS: file of victim ids, PEER_RESULT: file for the answer
"""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run every victim alone, then after every other test, instead of the suite."""
    wanted = json.loads(Path(os.environ["PEER_VICTIMS"]).read_text())
    victims = [item for item in session.items if item.nodeid in set(wanted)]
    gc.disable()  # as the published plugin does: a garbage collection in the child would copy every page
    polluted = []
    for victim in victims:
        expected = outcome_of([victim])
        polluted += [
            [polluter.nodeid, victim.nodeid]
            for polluter in session.items
            if polluter is not victim and outcome_of([polluter, victim]) != expected
        ]
    Path(os.environ["PEER_RESULT"]).write_text(json.dumps(polluted))
    return True


def outcome_of(items: list[pytest.Item]) -> bytes:
    """Run the items in a forked child and return the outcome of the last one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        for item, follower in zip(items, [*items[1:], None], strict=True):
            reports = runtestprotocol(item, nextitem=follower, log=False)
        os.write(writing, b"F" if any(report.failed for report in reports) else b"P")
        os._exit(0)
    os.close(writing)
    os.waitpid(pid, 0)
    outcome = os.read(reading, 1)
    os.close(reading)
    return outcome
