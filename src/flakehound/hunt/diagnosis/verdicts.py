"""From findings and counts to one verdict per test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Setting
from flakehound.core.records import RunRecord
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.shared_state import SharedState, traces_of_runs

COUNTED = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)


def judge(history: History, findings: Sequence[Finding], traced: Iterable[RunRecord] = ()) -> list[Verdict]:
    """One verdict per test of the suite, in the original order.

    `traced` are runs that only recorded what tests leave changed; they are no part of the history.
    """
    by_test = {finding.test: finding for finding in findings}
    shared_state = SharedState(history)
    shared_state.add_traces(traces_of_runs(traced))
    verdicts = [_verdict(history, test.id, by_test.get(test.id)) for test in history.suite.tests]
    return [with_shared_state(verdict, shared_state) for verdict in verdicts] if shared_state.traces else verdicts


def culprits_of(verdict: Verdict) -> tuple[NodeId, ...]:
    """The tests that decide by what they leave whether this one passes; some do so themselves."""
    if verdict.kind is Kind.NON_IDEMPOTENT:
        return (verdict.id,)
    return (*verdict.polluters, *verdict.state_setters)


def with_shared_state(verdict: Verdict, shared_state: SharedState) -> Verdict:
    """The verdict with what its test leaves, and what it shares with its polluters or state-setters."""
    culprits = culprits_of(verdict)
    fails = verdict.kind is not Kind.BRITTLE
    shared = shared_state.changes_that_matter(verdict.id, culprits, fails=fails) if culprits else []
    return replace(
        verdict,
        shared_state=tuple(map(str, shared[: limits.MAX_SHARED_CHANGES_SHOWN])),
        leaves=tuple(map(str, shared_state.left_by(verdict.id)[: limits.MAX_LEFT_CHANGES_SHOWN])),
    )


def _verdict(history: History, test: NodeId, finding: Finding | None) -> Verdict:
    tallies = {setting: history.tally(test, setting) for setting in Setting}
    counted = sum((tallies[setting] for setting in COUNTED), Tally())
    if finding is None:
        return Verdict(
            id=test,
            kind=Kind.STEADY,
            tallies=tallies,
            rate=failure_rate(counted.failed, counted.n),
            evidence=(f"passed {counted.passed} of {counted.n} runs",)
            if counted.n
            else ("never ran to an outcome",),
        )
    kind = _settled_kind(finding, history.tally(test))
    return Verdict(
        id=test,
        kind=kind,
        tallies=tallies,
        rate=failure_rate(counted.failed, counted.n),
        evidence=finding.evidence or (_fallback_evidence(kind, history.tally(test), finding),),
        polluters=finding.polluters,
        state_setters=finding.state_setters,
        cleaners=finding.cleaners,
        joint=finding.joint,
        pollution_rate=finding.pollution_rate,
        under_load=finding.under_load,
        causes=finding.causes,
        minimal_order=finding.minimal_order or (finding.replay.order if finding.replay else ()),
        replay=finding.replay,
        signatures=_signatures(history, test),
    )


def _settled_kind(finding: Finding, seen: Tally) -> Kind:
    """An unfinished case keeps only what its runs prove by themselves."""
    if finding.kind is Kind.UNRESOLVED and not finding.under_load and seen.n and not seen.passed:
        return Kind.FAILING
    return finding.kind


def _fallback_evidence(kind: Kind, seen: Tally, finding: Finding) -> str:
    if kind is Kind.FAILING:
        return f"failed all of {seen.n} runs"
    if finding.wanted:
        return f"failed {seen.failed} of {seen.n} runs; the time did not suffice to say why"
    return f"failed {seen.failed} of {seen.n} runs; repeating them did not tell why"


def _signatures(history: History, test: NodeId) -> Mapping[str, int]:
    found = Counter(
        signature_of(sighting.record.failures[sighting.place])
        for sighting in history.failures_of(test)
        if sighting.place in sighting.record.failures
    )
    return dict(found.most_common())
