"""How likely each test is flaky before a hunt: what earlier hunts, traces and a score say of it."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flakehound.app.hunt.measured_priors import FEWEST, Ratios, measured_ratios
from flakehound.app.hunt.static_priors import Scores
from flakehound.calls.causes import likely_causes
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Suite
from flakehound.core.statistics.prevalence import (
    NOD,
    NOD_BY_TIME,
    ORDER_BY_TIME,
    ORDER_DEPENDENT,
    SEEN_FLAKY,
    FlakyWay,
    Priors,
    knowing_calls,
    knowing_features,
    knowing_passes,
    knowing_time,
)
from flakehound.store import SessionInfo, Store

_ORDER_DEPENDENT_KINDS = ("victim", "brittle")
SUREST = 0.99  # no score is believed without any doubt
_CLEAN = ("original", "shuffled", "alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKnowledge:
    """What the store knows of a suite from before this hunt."""

    told: Mapping[NodeId, Mapping[str, Any]]  # the last report's words on each test
    calls: Mapping[NodeId, bool]  # whether the last trace saw a characteristic function
    ratios: Ratios = field(default_factory=Ratios)  # what the last measured features say
    # Of what it takes among all tests, from 0 to 1; empty: nobody knows.
    time_ranks: Mapping[NodeId, float] = field(default_factory=dict)


def stored_knowledge(
    store: Store, session: SessionInfo, characteristic: CharacteristicFunctions, time_s: float | None = None
) -> StoredKnowledge:
    """The last finished hunt, traces and measured features of the same folder; the latter where there is time."""
    until_now = [
        info
        for info in store.sessions()
        if info.rootdir == session.rootdir and (info.id or 0) <= (session.id or 0)
    ]
    earlier = [info for info in until_now if info.id != session.id]
    return StoredKnowledge(
        told=_last_report(store, earlier),
        # Of this hunt, too: one that is resumed was traced, and measured first if at all.
        calls=dict(_calling(store, until_now, characteristic)),
        ratios=measured_ratios(store, until_now, time_s),
    )


def _last_report(store: Store, sessions: list[SessionInfo]) -> dict[NodeId, Mapping[str, Any]]:
    for info in reversed(sessions):
        report = store.report(info.id) if info.id is not None and info.is_hunt else None
        if report:
            return {NodeId(test["id"]): test for test in json.loads(report)["tests"]}
    return {}


def _calling(
    store: Store, sessions: list[SessionInfo], known: CharacteristicFunctions
) -> Iterator[tuple[NodeId, bool]]:
    for info in sessions:
        for record in store.traced_records(info.id) if info.id is not None else ():
            for place, trace in record.calls.items():
                yield record.order[place], bool(likely_causes([trace], known))


def priors_of(suite: Suite, earlier: StoredKnowledge, scores: Scores) -> Priors:
    """The probabilities of every test; the scores of a model stand in place of the literature's rates."""
    uncalled = replace(earlier, calls={}, time_ranks={})
    return Priors(
        nod={test: _nod(test, earlier, scores) for test in suite.order},
        uncalled={test: _nod(test, uncalled, scores) for test in suite.order},
        order_dependent={test: _order_dependent(test, earlier, scores) for test in suite.order},
    )


def _nod(test: NodeId, earlier: StoredKnowledge, scores: Scores) -> float:
    told = earlier.told.get(test)
    if told is not None and told["kind"] == "nod":
        return SEEN_FLAKY
    prior = min(SUREST, scores.nod.get(test, NOD))
    if test in earlier.calls:
        prior = knowing_calls(prior, calls=earlier.calls[test], scored=test in scores.nod)
    others = (test in scores.nod) + (test in earlier.calls)
    if test in earlier.ratios.nod:
        prior = knowing_features(prior, earlier.ratios.nod[test], others=others)
    elif test in earlier.time_ranks:  # time is one of the features
        prior = knowing_time(prior, earlier.time_ranks[test], NOD_BY_TIME, others=others)
    return prior if told is None else knowing_passes(prior, _passes(told, _CLEAN), FlakyWay.ANYWHERE)


def _order_dependent(test: NodeId, earlier: StoredKnowledge, scores: Scores) -> float:
    told = earlier.told.get(test)
    if told is not None and told["kind"] in _ORDER_DEPENDENT_KINDS:
        return SEEN_FLAKY
    prior = min(SUREST, scores.order_dependent.get(test, ORDER_DEPENDENT))
    others = int(test in scores.order_dependent)
    if test in earlier.ratios.order_dependent:
        prior = knowing_features(prior, earlier.ratios.order_dependent[test], others=others)
    elif test in earlier.time_ranks:
        prior = knowing_time(prior, earlier.time_ranks[test], ORDER_BY_TIME, others=others)
    return prior if told is None else knowing_passes(prior, _passes(told, ("shuffled",)), FlakyWay.ORDER)


def time_ranks(seconds: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """The place of each test's time among all, between 0 and 1; equal ones share theirs. Empty for few tests."""
    if len(seconds) < FEWEST:
        return {}
    times = sorted(seconds.values())
    return {
        test: (bisect_left(times, own) + bisect_right(times, own)) / 2 / len(times)
        for test, own in seconds.items()
    }


def _passes(told: Mapping[str, Any], settings: tuple[str, ...]) -> int:
    return sum(told["runs"][name]["n"] - told["runs"][name]["failed"] for name in settings)
