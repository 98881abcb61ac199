"""Which tests a search reruns and pairs: all tests, or those that the policy has selected."""

from __future__ import annotations

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.hunt import limits
from flakehound.hunt.options import SELECTING_POLICIES, SearchOptions


def max_original_runs(options: SearchOptions) -> int:
    """How many runs in the original order are made."""
    if options.runs is not None:
        return options.runs
    if options.policy in SELECTING_POLICIES:
        # More whole runs would rerun tests that were not selected. The first few are needed to tell kinds apart.
        return limits.FIRST_ORIGINAL_RUNS
    if options.endless:
        return limits.UNLIMITED_RUNS
    return limits.MAX_ORIGINAL_RUNS if "rerun" in options.techniques else limits.FIRST_ORIGINAL_RUNS


def tests_to_rerun(options: SearchOptions, suite: Suite) -> Order:
    """The tests that are rerun alone."""
    return _selected(suite.order, options.candidates.reruns)


def possible_polluters(options: SearchOptions, tests: Order) -> Order:
    """The tests that PAIRWISE runs before others."""
    return _selected(tests, options.candidates.polluters)


def can_be_victim(options: SearchOptions, test: NodeId) -> bool:
    """Whether PAIRWISE runs the test after others."""
    victims = options.candidates.victims
    return victims is None or test in victims


def _selected(tests: Order, selected: frozenset[NodeId] | None) -> Order:
    return tests if selected is None else tuple(test for test in tests if test in selected)
