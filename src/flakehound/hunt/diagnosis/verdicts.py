"""Turns findings and counts into one verdict per test."""

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

_COUNTED_SETTINGS = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)


def judge(history: History, findings: Sequence[Finding], trace_records: Iterable[RunRecord] = ()) -> list[Verdict]:
    """One verdict per test of the suite, in the original order.

    `trace_records` are runs that only recorded what tests leave changed; they are not in the history.
    """
    by_test = {finding.test: finding for finding in findings}
    shared_state = SharedState(history)
    shared_state.add_traces(traces_of_runs(trace_records))
    verdicts = [_verdict(history, test.id, by_test.get(test.id)) for test in history.suite.tests]
    return [with_shared_state(verdict, shared_state) for verdict in verdicts] if shared_state.traces else verdicts


def culprits_of(verdict: Verdict) -> tuple[NodeId, ...]:
    """The tests whose changes decide whether this one passes: a non-idempotent test is its own culprit."""
    if verdict.kind is Kind.NON_IDEMPOTENT:
        return (verdict.id,)
    return (*verdict.polluters, *verdict.state_setters)


def with_shared_state(verdict: Verdict, shared_state: SharedState) -> Verdict:
    """The verdict, extended by what its test leaves changed and what it shares with its culprits."""
    culprits = culprits_of(verdict)
    fails = verdict.kind is not Kind.BRITTLE
    shared = shared_state.changes_that_matter(verdict.id, culprits, fails=fails) if culprits else []
    return replace(
        verdict,
        shared_state=tuple(map(str, shared[: limits.MAX_SHARED_CHANGES_SHOWN])),
        leaves=tuple(map(str, shared_state.changes_left_by(verdict.id)[: limits.MAX_LEFT_CHANGES_SHOWN])),
    )


def _verdict(history: History, test: NodeId, finding: Finding | None) -> Verdict:
    tallies = {setting: history.tally(test, setting) for setting in Setting}
    total = sum((tallies[setting] for setting in _COUNTED_SETTINGS), Tally())
    if finding is None:
        return Verdict(
            id=test,
            kind=Kind.STEADY,
            tallies=tallies,
            rate=failure_rate(total.failed, total.n),
            evidence=(f"passed {total.passed} of {total.n} runs",) if total.n else ("never ran to an outcome",),
        )
    kind = _final_kind(finding, history.tally(test))
    return Verdict(
        id=test,
        kind=kind,
        tallies=tallies,
        rate=failure_rate(total.failed, total.n),
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


def _final_kind(finding: Finding, tally: Tally) -> Kind:
    """The kind of the finding; an unresolved test that never passed is failing."""
    if finding.kind is Kind.UNRESOLVED and not finding.under_load and tally.n and not tally.passed:
        return Kind.FAILING
    return finding.kind


def _fallback_evidence(kind: Kind, tally: Tally, finding: Finding) -> str:
    if kind is Kind.FAILING:
        return f"failed all of {tally.n} runs"
    if not finding.is_complete:
        return f"failed {tally.failed} of {tally.n} runs; the time did not suffice to say why"
    return f"failed {tally.failed} of {tally.n} runs; repeating them did not tell why"


def _signatures(history: History, test: NodeId) -> Mapping[str, int]:
    counts = Counter(
        signature_of(execution.record.failures[execution.position])
        for execution in history.failures_of(test)
        if execution.position in execution.record.failures
    )
    return dict(counts.most_common())
