"""Sweeps over a part of the suite: somebody said which tests are worth rerunning and pairing."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Order, RunPlan, Setting
from flakehound.hunt import limits
from flakehound.hunt.search.stages import Sweeps


class SelectedSweeps(Sweeps):
    """The stages, with reruns alone of the chosen tests in place of whole runs, and pairs of the chosen."""

    def _most_originals(self) -> int:
        # Whole runs would rerun what was left out. The first few stay: they tell kinds apart.
        return self._options.runs if self._options.runs is not None else limits.FIRST_ORIGINAL_RUNS

    def _tests_for(self, setting: Setting) -> tuple[CollectedTest, ...]:
        chosen, tests = self._options.candidates.reruns, self._history.suite.tests
        if chosen is None or setting is not Setting.ALONE:
            return tests
        return tuple(test for test in tests if test.id in chosen)

    def _alone_again(self) -> Iterator[RunPlan]:
        return super()._alone_again() if self._tests_for(Setting.ALONE) else iter(())

    def _possible_polluters(self) -> Order:
        chosen, tests = self._options.candidates.polluters, super()._possible_polluters()
        return tests if chosen is None else tuple(test for test in tests if test in chosen)

    def _can_be_victim(self, test: NodeId) -> bool:
        chosen = self._options.candidates.victims
        return chosen is None or test in chosen
