"""Which stored runs count as evidence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flakehound.app.sessions.stored_runs import RunPurpose, purpose_of
from flakehound.core.plans import Setting


def a_record(*, measures=(), state_traces=(), setting=Setting.PROBE):
    return SimpleNamespace(measures=measures, state_traces=state_traces, setting=setting)


@pytest.mark.parametrize(
    ("record", "is_traced", "purpose"),
    [
        (a_record(), False, RunPurpose.EVIDENCE),
        (a_record(), True, RunPurpose.TRACE),
        (a_record(measures={0: "features"}), False, RunPurpose.MEASUREMENT),
        (a_record(state_traces={0: "state"}), False, RunPurpose.STATE_COMPARISON),
        (a_record(state_traces={0: "state"}, setting=Setting.SHUFFLED), False, RunPurpose.EVIDENCE),
    ],
)
def test_a_run_that_observes_its_tests_is_no_evidence_unless_the_search_made_it(record, is_traced, purpose):
    assert purpose_of(record, is_traced=is_traced) is purpose
