"""Summarise a hunt: verdicts, facts about the suite, time spent, and notes for the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from flakehound.app.hunt.estimate import Estimate
from flakehound.app.hunt.explain import Explanation
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.search import SearchResult
from flakehound.app.sessions.target import plain_arguments
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Setting
from flakehound.hunt.limits import MAX_EARLIER_FAILURES_SHOWN
from flakehound.report.formatting import few
from flakehound.report.hunt.result import ForecastFacts, HuntResult, NeverRan, SpentFacts, SuiteFacts

# Runs of all tests, one after another, in a budget for a full look: the reference run, the original order and two
# other orders.
_RUNS_OF_FULL_LOOK = 4


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
        never_ran=_never_ran(hunt),
        forecast=_forecast(hunt, found),
    )


def _suite_facts(hunt: PreparedHunt) -> SuiteFacts:
    handshake, tests, costs = hunt.opened.handshake, hunt.history.suite.tests, hunt.history.costs
    # Tests that a run which was cut did not reach take about as long as the others.
    is_cut = any(record.was_called_off for record in hunt.opened.reference)
    unknown_s = costs.unknown_test_s if is_cut else 0.0
    return SuiteFacts(
        tests=len(tests),
        original_order_s=sum(costs.mean_test_s.get(test.id, unknown_s) for test in tests),
        python=handshake.python,
        pytest=handshake.pytest,
        commit=hunt.session.commit,
        rootdir=handshake.rootdir,
    )


def _whole_runs(hunt: PreparedHunt) -> dict[str, int]:
    """How often all tests ran, by setting; runs that were ended because the time was up do not count."""
    whole_suite = (Setting.ORIGINAL, Setting.SHUFFLED)
    return dict(
        Counter(
            record.setting.value
            for record in hunt.history.records
            if record.setting in whole_suite and not record.was_called_off
        )
    )


def _notes(hunt: PreparedHunt, estimate: Estimate, found: SearchResult) -> Iterator[str]:
    yield from filter(None, [estimate.on_earlier_hunts])
    yield from hunt.opened.notes
    yield from _notes_on_recent_failures(hunt, estimate)
    yield from _notes_on_load(hunt, found)
    yield from _notes_on_selection(hunt, estimate)
    yield from _notes_on_early_end(found)
    yield from _notes_on_left_files(hunt)


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


def _notes_on_early_end(found: SearchResult) -> list[str]:
    """Why a hunt ended before its time."""
    if not found.agenda.ended_early:
        return []
    return ["the hunt ended before its time: more runs are expected to show nothing new"]


def _notes_on_left_files(hunt: PreparedHunt) -> list[str]:
    """New files in the project that the hunt does not remove."""
    guard = hunt.opened.guard
    store = hunt.options.store_path.name
    left = [] if guard is None else [path for path in guard.left_behind() if not Path(path).name.startswith(store)]
    if not left:
        return []
    why = "they stay, because no run was seen to make them"
    return [f"new in the project since the hunt began: {few(left)}; {why}"]


def _forecast(hunt: PreparedHunt, found: SearchResult) -> ForecastFacts | None:
    """How many flaky tests the same time once more is expected to show.

    Only for programs: in the text of a report it would read like a finding.
    """
    more_s = hunt.budget.limit_s or 0.0
    expected = found.agenda.expected_detections_in(more_s)
    if expected is None or hunt.options.is_counted:
        return None
    return ForecastFacts(more_s=more_s, flaky_tests=expected)


def _never_ran(hunt: PreparedHunt) -> NeverRan:
    """The tests that no run reached, and what one run of all tests takes."""
    one_run_s = time_of_all_tests_s(hunt.history)
    return NeverRan(
        tests=frozenset(tests_never_reached(hunt.history)),
        one_run_s=one_run_s,
        full_look_s=hunt.opened.start_s + _RUNS_OF_FULL_LOOK * one_run_s,
    )


def tests_never_reached(history: History) -> set[NodeId]:
    """The tests that neither passed nor failed nor were skipped in any run."""
    missing = {test for test in history.suite.order if not history.tally(test).n}
    for record in history.records:
        if not missing:
            break
        missing -= {
            test
            for test, outcome in zip(record.order, record.outcomes, strict=True)
            if outcome is not Outcome.NOT_RUN and test in missing
        }
    return missing


def time_of_all_tests_s(history: History) -> float:
    """The time of all tests; one that never ran is assumed to take as long as the mean of the others."""
    known = history.costs.mean_test_s
    times_s = [known[test] for test in history.suite.order if test in known]
    return sum(times_s) / len(times_s) * len(history.suite.order) if times_s else 0.0
