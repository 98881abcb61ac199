"""Summarise a hunt: verdicts, facts about the suite, time spent, and notes for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from flakehound.app.hunt.estimate import Estimate
from flakehound.app.hunt.explain import Explanation
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.search import SearchResult
from flakehound.app.sessions.target import plain_arguments
from flakehound.core.plans import Setting
from flakehound.hunt.limits import MAX_EARLIER_FAILURES_SHOWN
from flakehound.report.durations import duration_text
from flakehound.report.hunt.result import HuntResult, SpentFacts, SuiteFacts, expected_flaky_tests


def summarise(hunt: PreparedHunt, estimate: Estimate, found: SearchResult, explanation: Explanation) -> HuntResult:
    """The result of one hunt, as it is reported and stored."""
    target, handshake = hunt.options.target, hunt.opened.handshake
    return HuntResult(
        verdicts=explanation.verdicts,
        suite=_suite_facts(hunt),
        spent=SpentFacts(
            wall_s=hunt.budget.spent_s,
            cpu_s=found.spent.cpu_s,
            test_runs=found.spent.test_runs,
            processes=found.spent.processes,
        ),
        seed=hunt.session.base_seed,
        runs=_whole_runs(hunt),
        notes=tuple(_notes(hunt, estimate, found)),
        priors={test: round(estimate.priors.flaky(test), 6) for test in hunt.history.suite.order},
        pairs=found.agenda.pairs_used,
        complete=found.agenda.is_done,
        interrupted=explanation.interrupted,
        cwd=str(target.cwd),
        python_path=target.python,
        pytest_args=plain_arguments(target.pytest_args, handshake.switched_off),
        store=hunt.options.shown_store,
    )


def _suite_facts(hunt: PreparedHunt) -> SuiteFacts:
    handshake, tests = hunt.opened.handshake, hunt.history.suite.tests
    return SuiteFacts(
        tests=len(tests),
        original_order_s=sum(hunt.history.costs.mean_test_s.get(test.id, 0.0) for test in tests),
        python=handshake.python,
        pytest=handshake.pytest,
        commit=hunt.session.commit,
        rootdir=handshake.rootdir,
    )


def _whole_runs(hunt: PreparedHunt) -> dict[str, int]:
    """How often all tests ran, by setting."""
    whole_suite = (Setting.ORIGINAL, Setting.SHUFFLED)
    return dict(Counter(record.setting.value for record in hunt.history.records if record.setting in whole_suite))


def _notes(hunt: PreparedHunt, estimate: Estimate, found: SearchResult) -> Iterator[str]:
    yield from hunt.opened.notes
    yield from _notes_on_recent_failures(hunt, estimate)
    yield from _notes_on_load(hunt, found)
    yield from _notes_on_selection(hunt, estimate)
    yield from _notes_on_more_time(hunt, found)


def _notes_on_recent_failures(hunt: PreparedHunt, estimate: Estimate) -> list[str]:
    tests = set(hunt.opened.suite.order)
    failures = estimate.recent_failures.items()
    return [f"in your own pytest runs {test} {past}" for test, past in failures if test in tests][
        :MAX_EARLIER_FAILURES_SHOWN
    ]


def _notes_on_load(hunt: PreparedHunt, found: SearchResult) -> list[str]:
    """Why fewer runs were made at once than the machine allows."""
    tests = found.agenda.under_load
    if found.agenda.runs_at_once(hunt.jobs) == hunt.jobs:
        return []
    return [
        f"{len(tests)} tests failed only while other runs went on ({tests[0]}, ...): fewer runs at once since then"
    ]


def _notes_on_selection(hunt: PreparedHunt, estimate: Estimate) -> list[str]:
    """Which tests were selected, and how many reruns that saved."""
    if estimate.selection is None:
        return []
    selected, order = estimate.selection.candidates.reruns, hunt.history.suite.order
    if selected is None or not 0 < len(selected) < len(order):
        return list(estimate.selection.notes)
    made = sum(hunt.history.tally(test, Setting.ALONE).n for test in selected)
    saved = round(made / len(selected) * (len(order) - len(selected)))
    return [*estimate.selection.notes, f"about {saved} reruns of single tests were saved, {made} were made"]


def _notes_on_more_time(hunt: PreparedHunt, found: SearchResult) -> list[str]:
    """How many flaky tests the same time once more is expected to show."""
    more_s = hunt.budget.limit_s or 0.0
    expected = found.agenda.expected_detections_in(more_s)
    if expected is None or hunt.options.is_counted:
        return []
    early = ", so the hunt ended before its time" if found.agenda.ended_early else ""
    return [f"{duration_text(more_s)} more are expected to show {expected_flaky_tests(expected)}{early}"]
