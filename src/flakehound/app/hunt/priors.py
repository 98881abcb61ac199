"""Estimate how likely each test is flaky before a hunt, from earlier hunts, traces, features, times and scores."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from flakehound.app.hunt.earlier_verdicts import known_verdicts
from flakehound.app.hunt.measured_priors import OddsRatios, measured_ratios
from flakehound.app.hunt.static_priors import StaticScores
from flakehound.calls.causes import likely_causes
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting, Suite
from flakehound.core.statistics.prevalence import (
    NOD_DURATION_SLOPE,
    NOD_SHARE,
    ORDER_DEPENDENT_DURATION_SLOPE,
    ORDER_DEPENDENT_SHARE,
    PRIOR_IF_SEEN_FLAKY,
    FlakyWay,
    Priors,
    prior_given_calls,
    prior_given_change,
    prior_given_duration,
    prior_given_features,
    prior_given_passes,
)
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt.limits import MAX_SCORED_PRIOR, MIN_RANKED_TESTS
from flakehound.store import SessionInfo, Store

_ORDER_DEPENDENT_KINDS = (Kind.VICTIM, Kind.BRITTLE)
# Passes after chosen tests, or of a second execution in one process, say little about other settings.
_COUNTED_SETTINGS = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKnowledge:
    """What is known about the tests of a suite before a hunt, mostly from its store."""

    verdicts: Mapping[NodeId, Verdict] = field(default_factory=dict)  # of earlier hunts
    # Whether the test called a characteristic function in the last trace.
    calls: Mapping[NodeId, bool] = field(default_factory=dict)
    ratios: OddsRatios = field(default_factory=OddsRatios)  # from the last measured features
    changed: frozenset[NodeId] = frozenset()  # the tests whose file was changed lately
    # The rank of each test's time among all tests, from 0 to 1; empty where times are not known.
    time_ranks: Mapping[NodeId, float] = field(default_factory=dict)


def stored_knowledge(
    store: Store, session: SessionInfo, characteristic: CharacteristicFunctions, time_s: float | None = None
) -> StoredKnowledge:
    """Read the reports of earlier hunts, traces and, if there is time, measured features of the same folder."""
    sessions = [
        info
        for info in store.sessions()
        if info.rootdir == session.rootdir and (info.id or 0) <= (session.id or 0)
    ]
    earlier = [info for info in sessions if info.id != session.id]
    return StoredKnowledge(
        verdicts=known_verdicts(store, earlier, in_history=session.settings.continues),
        # Including this session: a resumed hunt may have been traced and measured.
        calls=dict(_traced_calls(store, sessions, characteristic)),
        ratios=measured_ratios(store, sessions, time_s),
    )


def _traced_calls(
    store: Store, sessions: list[SessionInfo], known: CharacteristicFunctions
) -> Iterator[tuple[NodeId, bool]]:
    for info in sessions:
        for record in store.traced_records(info.id) if info.id is not None else ():
            for position, trace in record.calls.items():
                yield record.order[position], bool(likely_causes([trace], known))


def priors_of(suite: Suite, known: StoredKnowledge, scores: StaticScores) -> Priors:
    """The priors of every test; for a test that a model scored, the score replaces the usual rate."""
    without_calls = replace(known, calls={}, time_ranks={})
    return Priors(
        nod={test: _nod(test, known, scores) for test in suite.order},
        nod_by_hash_seed={test: _nod(test, without_calls, scores) for test in suite.order},
        order_dependent={test: _order_dependent(test, known, scores) for test in suite.order},
    )


def _nod(test: NodeId, known: StoredKnowledge, scores: StaticScores) -> float:
    verdict = known.verdicts.get(test)
    if verdict is not None and verdict.kind is Kind.NOD:
        return PRIOR_IF_SEEN_FLAKY
    prior = min(MAX_SCORED_PRIOR, scores.nod.get(test, NOD_SHARE))
    if test in known.calls:
        prior = prior_given_calls(prior, calls=known.calls[test], is_scored=test in scores.nod)
    others = (test in scores.nod) + (test in known.calls)
    if test in known.ratios.nod:
        prior = prior_given_features(prior, known.ratios.nod[test], other_sources=others)
    elif test in known.time_ranks:  # the features contain the time
        prior = prior_given_duration(prior, known.time_ranks[test], NOD_DURATION_SLOPE, other_sources=others)
    prior = prior_given_change(prior) if test in known.changed else prior
    if verdict is None:
        return prior
    return prior_given_passes(prior, _passes(verdict, *_COUNTED_SETTINGS), FlakyWay.ANYWHERE)


def _order_dependent(test: NodeId, known: StoredKnowledge, scores: StaticScores) -> float:
    verdict = known.verdicts.get(test)
    if verdict is not None and verdict.kind in _ORDER_DEPENDENT_KINDS:
        return PRIOR_IF_SEEN_FLAKY
    prior = min(MAX_SCORED_PRIOR, scores.order_dependent.get(test, ORDER_DEPENDENT_SHARE))
    others = int(test in scores.order_dependent)
    if test in known.ratios.order_dependent:
        prior = prior_given_features(prior, known.ratios.order_dependent[test], other_sources=others)
    elif test in known.time_ranks:
        prior = prior_given_duration(
            prior, known.time_ranks[test], ORDER_DEPENDENT_DURATION_SLOPE, other_sources=others
        )
    prior = prior_given_change(prior) if test in known.changed else prior
    if verdict is None:
        return prior
    return prior_given_passes(prior, _passes(verdict, Setting.SHUFFLED), FlakyWay.ORDER)


def time_ranks(seconds: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """The rank of each test's time, between 0 and 1; equal times have equal ranks. Empty for few tests."""
    if len(seconds) < MIN_RANKED_TESTS:
        return {}
    times = sorted(seconds.values())
    return {
        test: (bisect_left(times, own) + bisect_right(times, own)) / 2 / len(times)
        for test, own in seconds.items()
    }


def _passes(verdict: Verdict, *settings: Setting) -> int:
    return sum(verdict.tallies[setting].passed for setting in settings if setting in verdict.tallies)
