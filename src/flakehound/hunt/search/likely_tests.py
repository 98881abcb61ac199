"""Reruns of the tests with the largest index: each in a process of its own, or many in one process."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from math import ceil
from typing import NamedTuple

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan, Setting, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.search.expected_gain import WAYS_ALONE, WAYS_TOGETHER, ExpectedGain
from flakehound.hunt.search.techniques import TechniqueRuns


class _Entry(NamedTuple):
    negative_index: float
    place: int  # in the original order; decides between equal indexes
    test: NodeId

    @property
    def largest_index(self) -> float:
        return -self.negative_index


class _IndexQueue:
    """Tests by their index, the largest first.

    Between two increases of the expected gain an index rises only if its test turns out to be faster. So the index
    of an entry is taken for an upper bound, and only the first few are computed again.
    """

    def __init__(self, tests: Order, index: Callable[[NodeId], float]) -> None:
        self._heap = [_Entry(-index(test), place, test) for place, test in enumerate(tests)]
        heapq.heapify(self._heap)

    def best(self, index: Callable[[NodeId], float], *, above: float) -> _Entry | None:
        """The test with the largest current index; None if no index is above this limit."""
        while self._heap and self._heap[0].largest_index > above:
            first = self._heap[0]
            current = _Entry(-index(first.test), first.place, first.test)
            if current.largest_index >= first.largest_index:
                return current
            heapq.heapreplace(self._heap, current)
        return None

    def replace_best(self, index: float) -> None:
        """Change the index of the best test."""
        best = self._heap[0]
        heapq.heapreplace(self._heap, _Entry(-index, best.place, best.test))

    def remove_best(self) -> None:
        """Remove the best test."""
        heapq.heappop(self._heap)

    def put_back(self, entry: _Entry, index: float) -> None:
        """Add a removed test again, with this index."""
        heapq.heappush(self._heap, _Entry(-index, entry.place, entry.test))


class LikelyTests:
    """Chooses the tests to rerun next, by expected detections per second."""

    def __init__(self, history: History, options: SearchOptions, gain: ExpectedGain, runs: TechniqueRuns) -> None:
        self._history = history
        self._options = options
        self._gain = gain
        self._runs = runs
        self._reruns_alone: Counter[NodeId] = Counter()
        self._reruns_together: Counter[NodeId] = Counter()
        self._max_reruns = limits.UNLIMITED_RUNS if options.endless else limits.MAX_RERUNS_ALONE

    def alone(self) -> Iterator[RunPlan]:
        """Batches of tests alone, always those with the largest index."""
        increases, queue = self._gain.increases, self._queue(self._index_alone)
        while batch := self._next_batch(queue):
            yield self._runs.batch_of((test,) for test in batch)
            self._reruns_alone.update(batch)
            if self._gain.increases > increases:
                increases, queue = self._gain.increases, self._queue(self._index_alone)

    def together(self) -> Iterator[RunPlan]:
        """Groups of the tests with the largest index in one process: most tests take less time than a fork."""
        increases, queue = self._gain.increases, self._queue(self._index_together)
        while group := self._next_group(queue):
            if len(group) == 1:
                yield self._runs.batch_of([tuple(group)] * self._repetitions(group[0]))
            else:
                yield SingleRun(
                    order=tuple(group),
                    why="tests that are worth a rerun, in one process",
                    setting=Setting.PROBE,
                    isolation=self._options.isolation,
                )
            self._reruns_together.update(group)
            if self._gain.increases > increases:
                increases, queue = self._gain.increases, self._queue(self._index_together)

    def _queue(self, index: Callable[[NodeId], float]) -> _IndexQueue:
        return _IndexQueue(self._history.suite.order, index)

    def _next_batch(self, queue: _IndexQueue) -> list[NodeId]:
        """The tests of one batch; a test may occur several times, and none has an index far below the first."""
        batch: list[NodeId] = []
        seconds = min_index = 0.0

        def index(test: NodeId) -> float:
            times = batch.count(test)
            is_due = self._reruns_alone[test] + times < self._max_reruns
            return self._index_alone(test, times) if is_due else 0.0

        while seconds < limits.MAX_BATCH_S and len(batch) < limits.MAX_BATCH_SIZE:
            best = queue.best(index, above=min_index)
            if best is None:
                break
            batch.append(best.test)
            seconds += self._alone_s(best.test)
            min_index = min_index or best.largest_index * limits.MIN_INDEX_SHARE_IN_BATCH
            queue.replace_best(self._index_alone(best.test, batch.count(best.test)))
        return batch

    def _next_group(self, queue: _IndexQueue) -> list[NodeId]:
        """The tests of one run, each once, in the original order; chosen by the same rules as a batch.

        Never all tests of the suite, because that would be a run in the original order.
        """
        max_tests = min(limits.MAX_BATCH_SIZE, max(1, len(self._history.suite.order) // 2))
        entries: list[_Entry] = []
        seconds = min_index = 0.0

        def index(test: NodeId) -> float:
            return self._index_together(test) if self._reruns_together[test] < self._max_reruns else 0.0

        while seconds < limits.MAX_BATCH_S and len(entries) < max_tests:
            best = queue.best(index, above=min_index)
            if best is None:
                break
            queue.remove_best()
            entries.append(best)
            seconds += self._history.costs.test_s(best.test)
            min_index = min_index or best.largest_index * limits.MIN_INDEX_SHARE_IN_BATCH
        for entry in entries:
            queue.put_back(entry, self._index_together(entry.test, 1))
        return [entry.test for entry in sorted(entries, key=lambda entry: entry.place)]

    def _repetitions(self, test: NodeId) -> int:
        """How often to run the test alone before its index falls far below its current value."""
        max_repetitions = limits.MAX_BATCH_SIZE if self._options.endless else 1
        max_runs = min(max_repetitions, ceil(limits.MAX_BATCH_S / self._alone_s(test)))
        min_index = self._index_alone(test) * limits.MIN_INDEX_SHARE_IN_BATCH
        return next((runs for runs in range(1, max_runs) if self._index_alone(test, runs) < min_index), max_runs)

    def _index_alone(self, test: NodeId, runs_before: int = 0) -> float:
        return self._gain.of_test(test, WAYS_ALONE, runs_before) / self._alone_s(test)

    def _index_together(self, test: NodeId, runs_before: int = 0) -> float:
        share_s = self._history.costs.start_s(self._options.isolation) / limits.MAX_BATCH_SIZE
        return self._gain.of_test(test, WAYS_TOGETHER, runs_before) / (share_s + self._history.costs.test_s(test))

    def _alone_s(self, test: NodeId) -> float:
        return self._history.costs.run_s((test,), self._options.isolation)
