"""The peer of `pairwise.py`: PAIRWISE after the scheme of the published plugin pytest-cannier (victim mode).

Written anew: one pytest session per victim. Once the suite is collected the process forks for each other test; the
child goes on as an ordinary pytest session of two items, ⟨p, v⟩, with every hook and reporter of pytest, and
leaves when the victim has ended; the parent waits for it and goes to the next pair. The published plugin waits by
polling and keeps its answer in a database; this one waits in the kernel and writes a file, which is kinder to it.

usage: pytest -p peer_published_loop     PEER_VICTIM: a test id, PEER_RESULT: file to which the pairs are added
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest


class PairLoop:
    """One victim against every other test."""

    def __init__(self, victim: str, result: str) -> None:
        self._victim = victim
        self._result = result
        self._reading, self._writing = os.pipe()
        self._outcome = b"P"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Fork per pair; a child returns from here and pytest runs its two items."""
        collected = list(items)
        victim = next(item for item in collected if item.nodeid == self._victim)
        gc.disable()  # as the published one does
        if (expected := self._forked(items, [victim])) is None:
            return
        polluted = []
        for polluter in collected:
            if polluter is victim:
                continue
            if (outcome := self._forked(items, [polluter, victim])) is None:
                return
            if outcome != expected:
                polluted.append([polluter.nodeid, self._victim])
        with open(self._result, "a") as file:
            file.writelines(json.dumps(pair) + "\n" for pair in polluted)
        pytest.exit("every pair has run", pytest.ExitCode.OK)

    def _forked(self, items: list[pytest.Item], chosen: list[pytest.Item]) -> bytes | None:
        """The victim's outcome; None in the child, which has the chosen items left."""
        if (pid := os.fork()) == 0:
            items[:] = chosen
            return None
        assert os.waitpid(pid, 0)[1] == 0
        return os.read(self._reading, 1)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The child ends with the victim."""
        yield
        if item.nodeid == self._victim:
            os.write(self._writing, self._outcome)
            os._exit(0)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """Remember the victim's failures."""
        result: Any = yield
        if item.nodeid == self._victim and result.get_result().failed:
            self._outcome = b"F"


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(PairLoop(os.environ["PEER_VICTIM"], os.environ["PEER_RESULT"]))
