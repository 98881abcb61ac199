"""The peer of `pairwise.py`: PAIRWISE by the scheme of the published plugin pytest-cannier (victim mode).

Our implementation, with one pytest session per victim. After collection the process forks for each other test. The
child continues as an ordinary pytest session of two items, ⟨p, v⟩, with all hooks and reporters of pytest, and
exits when the victim has ended; the parent waits for it and takes the next pair. The published plugin polls and
writes to a database; this one waits in the kernel and writes a file, which is faster.

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
    """Runs one victim after every other test."""

    def __init__(self, victim: str, result: str) -> None:
        self._victim = victim
        self._result = result
        self._reading, self._writing = os.pipe()
        self._outcome = b"P"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Fork once per pair; a child returns from here, and pytest runs its two items."""
        collected = list(items)
        victim = next(item for item in collected if item.nodeid == self._victim)
        gc.disable()  # as the published plugin does
        if (expected := self._outcome_in_child(items, [victim])) is None:
            return
        polluted = []
        for polluter in collected:
            if polluter is victim:
                continue
            if (outcome := self._outcome_in_child(items, [polluter, victim])) is None:
                return
            if outcome != expected:
                polluted.append([polluter.nodeid, self._victim])
        with open(self._result, "a") as file:
            file.writelines(json.dumps(pair) + "\n" for pair in polluted)
        pytest.exit("every pair has run", pytest.ExitCode.OK)

    def _outcome_in_child(self, items: list[pytest.Item], chosen: list[pytest.Item]) -> bytes | None:
        """The victim's outcome; None in the child, in which only the chosen items remain."""
        if (pid := os.fork()) == 0:
            items[:] = chosen
            return None
        assert os.waitpid(pid, 0)[1] == 0
        return os.read(self._reading, 1)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """End the child after the victim."""
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
    """Register the loop for the victim that the environment names."""
    config.pluginmanager.register(PairLoop(os.environ["PEER_VICTIM"], os.environ["PEER_RESULT"]))
