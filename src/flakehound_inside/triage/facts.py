"""The facts of a red run, as the controller outside wants them (decision 0015)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.triage.options import arguments_without_ours

if TYPE_CHECKING:
    from typing import Any, Sequence

    import pytest

    from flakehound_inside.triage.journal import Journal
    from flakehound_inside.triage.message_types import Failure
    from flakehound_inside.triage.options import Wishes

SCHEMA = "flakehound/triage-facts/1"
_RERUN_KEYS = ("stage", "outcome", "seed", "message", "same_state")


def facts_of(session: pytest.Session, wishes: Wishes, seed: int, journals: Sequence[Journal]) -> dict[str, Any]:
    """Everything that was seen inside, in words that JSON has."""
    config = session.config
    return {
        "schema": SCHEMA,
        "rootdir": str(config.rootpath),
        "cwd": str(config.invocation_params.dir),
        "python": sys.executable,
        "args": arguments_without_ours([str(argument) for argument in config.invocation_params.args]),
        "options": {
            "forked": wishes.forked,
            "since": wishes.since,
            "intersect": wishes.intersect,
            "check_base": wishes.check_base,
            "json": wishes.json,
            "store": wishes.store,
            "seed": seed,
        },
        "tests": session.testscollected,
        "sessions": [journal.session_facts() for journal in journals],
        "failures": [_as_a_fact(failure) for journal in journals for failure in journal.failures],
        "not_rerun": next((journal.not_rerun for journal in journals if journal.not_rerun), None),
        "rerun_by_others": sorted({test for journal in journals for test in journal.rerun_by_others}),
        "notes": list(dict.fromkeys(note for journal in journals for note in journal.notes)),
    }


def _as_a_fact(failure: Failure) -> dict[str, Any]:
    fact: dict[str, Any] = {key: value for key, value in failure.items() if key != "line"}
    fact["reruns"] = [
        {key: value for key, value in rerun.items() if key in _RERUN_KEYS} for rerun in failure["reruns"]
    ]
    return fact
