"""What a large suite does without plants: which of its own tests fail or are flaky in plain runs.

Two runs in the original order and one in reverse order. A test whose outcomes differ is flaky by itself: a hunt
that reports it is right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from large_suites import LargeSuite, SuiteFacts, facts_of, whole_plain_run

RUNS: Mapping[str, tuple[str, ...]] = {"again": (), "reversed": ("large_reversed",)}  # plugins by name


def other_runs(suite: LargeSuite) -> dict[str, SuiteFacts]:
    """The second run in the original order and the reversed one; made if necessary."""
    facts_of(suite)
    return {name: _run(suite, name, plugins) for name, plugins in RUNS.items()}


def _run(suite: LargeSuite, name: str, plugins: tuple[str, ...]) -> SuiteFacts:
    path = suite.folder / f"facts-{name}.json"
    if not path.exists():
        facts = whole_plain_run(suite, suite.tree, suite.folder / f"plain-{name}", plugins)
        path.write_text(json.dumps(asdict(facts), indent=0))
    return SuiteFacts(**json.loads(path.read_text()))


def own_flaky_tests(suite: LargeSuite) -> dict[str, str]:
    """The tests of the suite that ended in different ways, with a note on how; without new runs."""
    names = [name for name in RUNS if (suite.folder / f"facts-{name}.json").exists()]
    outcomes = {"first": facts_of(suite).outcomes} | {name: _run(suite, name, ()).outcomes for name in names}
    notes: dict[str, str] = {}
    for test in outcomes["first"]:
        ended = {name: tests.get(test, "did not run") for name, tests in outcomes.items()}
        if len(set(ended.values())) > 1:
            notes[test] = ", ".join(f"{name}: {outcome}" for name, outcome in ended.items())
    return notes
