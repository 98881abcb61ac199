"""State changes of tests in real suites: shared state that is named, and pairs that need not be run.

For each subject every test runs once alone in a fork, and its process is compared before and after it. Then the
benchmark counts: known polluters and state-setters whose changes include the state that they share with their
victim (SHARED_STATE, from the sources of the subjects); pairs that remain when a test is paired only with tests
that can share state with it; and known pairs that this would lose. The peer is the whole matrix of pairs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_check import PlainCheck
from prepared_subjects import SUBJECTS_FOLDER, Subject, prepare_subject
from running import temporary_folder
from side_by_side import Row, benchmark_parser, report_results
from subjects import selected_keys

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, Setting
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.hunt.limits import MAX_SHARED_CHANGES_SHOWN
from flakehound.hunt.shared_state import changes_that_matter, may_read, traces_of_runs

MIN_NAMED_SHARE, MIN_PAIR_RATIO = 0.8, 5.0
# Subject -> the state that its victims share with their polluters, according to its source.
SHARED_STATE = {
    "six-1.16.0": r"imported module html\.parser|_MovedItems\.html_parser",
    "logzero-1.7.0": r"logzero\.logger\.(handlers|level)|logging logzero",
    "base10-0.6.3": r"MetricHelper\.(__initialised__|_name|_fields|_metadata)",
    "pyeventdispatcher-0.2.2a0": r"global_registry",
    "coinbase-commerce-1.0.1": r"MagicMock\.error",
    "docker-pretty-ps-1.0.2": r"docker_ps_data\.ps_containers",
    "licenraptor-0.2.2": r"licenraptor\.core\._db",
    "yunomi-0.3.0": r"_global_registry\._(counters|histograms|meters|timers)",
    "devtracker-0.1.0": r"file .*/devtrack_projects/test\.csv",
}
# Subjects whose labelled matrix of pairs is not reliable, because their tests share a file in the home folder.
UNRELIABLE_MATRIX = ("devtracker-0.1.0",)


@dataclass(slots=True)
class SubjectResult:
    """The counts and times of one subject."""

    key: str
    tests: int = 0
    named: int = 0  # known pairs whose shared state is among the reported changes
    known: int = 0  # known pairs
    lost: int = 0  # known pairs that would not be run
    pairs: int = 0  # of every test with every other one
    left: int = 0  # pairs that would be run
    plain_s: float = 0.0  # every test alone
    compared_s: float = 0.0  # the same, with a comparison of the process before and after
    notes: list[str] = field(default_factory=list)


def measure(subject: Subject) -> SubjectResult:
    """Run each test alone, with and without comparing its state, and count against the labels."""
    check = PlainCheck(subject)
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        env = dict(check.environment_of(tree))
        target = Target(python=subject.python, cwd=tree, pytest_args=subject.pytest_args, env=env)
        opened = open_suite(target, jobs=1, isolation=Isolation.FORK, hash_seed=0, limits=Limits())
        try:
            _run_each_alone(opened, states=True)  # imports and first page faults must not count
            _traces, plain_s = _run_each_alone(opened, states=False)
            traces, compared_s = _run_each_alone(opened, states=True)
        finally:
            opened.close()
    result = SubjectResult(key=subject.key, tests=len(opened.suite.tests), plain_s=plain_s, compared_s=compared_s)
    _count(result, subject, opened.suite.order, traces)
    return result


def _run_each_alone(opened: OpenSuite, *, states: bool) -> tuple[dict[NodeId, StateTrace], float]:
    """Run each test alone; files that the suite writes are restored before each test, as in a hunt."""
    guard = opened.guard
    orders = tuple((test,) for test in opened.suite.order)
    serial = guard is not None and guard.is_active
    batches = [orders[n : n + 1] for n in range(len(orders))] if serial else [orders]
    began, traces = time.perf_counter(), {}
    for batch in batches:
        if guard is not None:
            guard.restore_for_fork()
        plan = Batch(orders=batch, why="alone", setting=Setting.ALONE, compare_state=states, seed=1)
        traces |= traces_of_runs(opened.pool.run_now(plan, Limits()))
    return traces, time.perf_counter() - began


def _count(result: SubjectResult, subject: Subject, order: Order, traces: Mapping[NodeId, StateTrace]) -> None:
    partners = {
        test: {other for other in order if other != test and _may_change_state_of(traces, other, test)}
        for test in order
    }
    result.pairs, result.left = len(order) * (len(order) - 1), sum(map(len, partners.values()))
    for label in subject.labels:
        if label["kind"] not in ("victim", "brittle"):
            continue
        test = NodeId(label["test"])
        for other in _polluters_or_setters(label, subject):
            result.known += 1
            shared = changes_that_matter(test, [other], [], traces)[:MAX_SHARED_CHANGES_SHOWN]
            if any(re.search(SHARED_STATE[subject.key], str(change)) for change in shared):
                result.named += 1
            else:
                result.notes.append(f"{subject.key}: not named: `{other}` -> `{test}`: {_text(shared)}")
            if other not in partners.get(test, ()):
                result.lost += 1
                result.notes.append(f"{subject.key}: lost: `{other}` -> `{test}`")


def _polluters_or_setters(label: Mapping[str, Any], subject: Subject) -> list[NodeId]:
    """The known polluters or state-setters; if the matrix is not reliable, only the confirmed ones.

    A test that several others together make fail or pass has no pair: a matrix of pairs cannot find it.
    """
    known = label.get("polluters") if subject.key not in UNRELIABLE_MATRIX else None
    single = label["minimal_set"] if len(label["minimal_set"]) == 1 else []
    return [NodeId(test) for test in known or single]


def _may_change_state_of(traces: Mapping[NodeId, StateTrace], other: NodeId, test: NodeId) -> bool:
    return other not in traces or any(may_read(change, traces.get(test)) for change in traces[other].left)


def _text(changes: list[StateChange]) -> str:
    return "; ".join(map(str, changes)) or "nothing"


def rows(results: list[SubjectResult]) -> list[Row]:
    """One row per subject, then the goals."""
    subject_rows = [
        Row(
            job=f"{result.key}, {result.tests} tests",
            ours=f"{result.named} of {result.known} named, {result.left} pairs left, {result.lost} known lost",
            peer=f"{result.pairs} pairs",
            measured=f"{result.pairs / max(1, result.left):.1f} × fewer; each test alone {result.plain_s:.1f} s, "
            f"compared {result.compared_s:.1f} s",
            is_detail=True,
        )
        for result in results
    ]
    known, named, lost, pairs, left = (
        sum(getattr(result, name) for result in results) for name in ("known", "named", "lost", "pairs", "left")
    )
    return [
        *subject_rows,
        Row(
            job="known pairs whose shared state is named",
            ours=f"{named}",
            peer=f"{known}",
            measured=f"{100 * named / max(1, known):.0f} %",
            goal=f"≥ {100 * MIN_NAMED_SHARE:.0f} %",
            met=named >= MIN_NAMED_SHARE * known,
        ),
        Row(
            job="pairs to run",
            ours=f"{left}, {lost} known pairs lost",
            peer=f"{pairs}",
            measured=f"{pairs / max(1, left):.1f} × fewer",
            goal=f"≥ {MIN_PAIR_RATIO:g} ×, none lost",
            met=pairs >= MIN_PAIR_RATIO * left and not lost,
        ),
    ]


def cost_note(results: list[SubjectResult]) -> str:
    """The cost per test, as a range over the subjects; `core/costs.py` has estimates from it."""
    alone_ms = [1e3 * result.plain_s / result.tests for result in results]
    added_ms = [1e3 * (result.compared_s - result.plain_s) / result.tests for result in results]
    alone, added = (f"{min(values):.0f}–{max(values):.0f} ms" for values in (alone_ms, added_ms))
    return f"each test alone in its process: {alone} per test; comparing the process adds {added} per test"


def main() -> None:
    parser = benchmark_parser(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all with forks and labels)")
    parser.add_argument(
        "--subjects", type=Path, default=SUBJECTS_FOLDER, help="prepared subjects (default %(default)s)"
    )
    options = parser.parse_args()
    results = []
    default = (*SHARED_STATE, "blinker-1.9.0", "pythondi-1.2.4")
    for key in selected_keys(options.keys) if options.keys else default:
        results.append(measure(prepare_subject(key, options.subjects)))
        print(rows(results)[len(results) - 1], flush=True)
    notes = [note for result in results for note in result.notes]
    report_results(rows(results), options.json, [*notes, cost_note(results)])


if __name__ == "__main__":
    main()
