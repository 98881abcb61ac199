"""Tests that pass the first time and fail the second time in the same process."""

from __future__ import annotations

from dataclasses import replace

from flakehound.core.verdicts import Kind, Replay
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.chance import passes_that_rule_out_chance
from flakehound.hunt.diagnosis.findings import Diagnosis, Finding, failures_in_words
from flakehound.hunt.diagnosis.load import finding_of_load_after
from flakehound.hunt.diagnosis.nod import diagnose_nod
from flakehound.hunt.diagnosis.order_effects import gap_may_be_chance
from flakehound.hunt.diagnosis.suspect import Suspect


def diagnose_non_idempotent(suspect: Suspect) -> Diagnosis:
    """Whether a test that failed only when repeated does so every time, and not by chance."""
    test, ask = suspect.test, suspect.ask
    twice = (test, test)
    why = f"does {test} fail when repeated?"
    times = suspect.confirmations(twice)
    again = yield from ask.tally_of_failing_last(twice, times=times, why=why)
    if again.is_mixed:
        again = yield from ask.tally_of_failing_last(twice, times=limits.RUNS_OF_MIXED_OUTCOMES, why=why)
    needed_passes = passes_that_rule_out_chance(again, limits.RUNS_OF_MIXED_OUTCOMES)
    needed_runs = max(times, needed_passes - suspect.passes_in_original_order.n)
    first = yield from ask.tally_of_last((test,), times=needed_runs, why=why)
    finding = Finding(test=test)
    repeated = "when run again in the same process"
    if again.failed and not ask.has_failed_undisturbed(twice):
        return finding_of_load_after(suspect, finding, (test,), repeated)
    counts = f"passed {first.passed} of {first.n} first, failed {failures_in_words(again)} {repeated}"
    finding = replace(finding, evidence=(counts,))
    if first.failed or again.failed < limits.CONFIRMATIONS or gap_may_be_chance(suspect, again, first):
        yield finding
        return (yield from diagnose_nod(suspect, finding)) if again.failed else finding
    return replace(
        finding,
        kind=Kind.NON_IDEMPOTENT,
        minimal_order=twice,
        replay=Replay(order=twice, failed=again.failed, runs=again.n),
    )
