"""What tests leave in their process, in real suites with known victims and polluters.

For each subject every test runs once alone in a fork, with a look at its process before and after it. Then:
whether what a known polluter or state-setter leaves names the state that it shares with its victim (read from the
subjects' sources, see TRUTH), how many pairs are left when a test is paired only with those that can share some
state with it, and how many known pairs that would lose. The peer is the whole matrix of pairs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_check import PlainCheck
from prepared import SUBJECTS, Subject, prepared_subject
from running import temporary_folder
from side_by_side import Row, arguments, told
from subjects import chosen_keys

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, Setting
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import OpenSuite, open_suite
from flakehound.hunt.limits import MAX_SHARED_CHANGES_SHOWN
from flakehound.hunt.shared_state import changes_that_matter, may_read, traces_of_runs

LEAST_NAMED, LEAST_CUT = 0.8, 5.0
# Subject -> the state that its victims share with their polluters, as its source has it.
TRUTH = {
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
# Whose labels say that the matrix of pairs is not to be trusted: their tests share a file in the home folder.
UNRELIABLE = ("devtracker-0.1.0",)


@dataclass(slots=True)
class Seen:
    """One subject."""

    key: str
    tests: int = 0
    named: int = 0  # known pairs whose shared state is among what is named
    known: int = 0  # known pairs
    lost: int = 0  # known pairs that would not be run
    pairs: int = 0  # of every test with every other one
    left: int = 0  # of these, that would be run
    plain_s: float = 0.0
    looked_s: float = 0.0
    notes: list[str] = field(default_factory=list)


def looked_at(subject: Subject) -> Seen:
    """Run each test alone, plainly and looked at, and compare with the labels."""
    check = PlainCheck(subject)
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        env = dict(check.environment_of(tree))
        target = Target(python=subject.python, cwd=tree, pytest_args=subject.pytest_args, env=env)
        opened = open_suite(target, jobs=1, isolation=Isolation.FORK, hash_seed=0, limits=Limits())
        try:
            _once(opened, states=True)  # imports and first pages are nobody's cost
            _traces, plain_s = _once(opened, states=False)
            traces, looked_s = _once(opened, states=True)
        finally:
            opened.close()
    seen = Seen(key=subject.key, tests=len(opened.suite.tests), plain_s=plain_s, looked_s=looked_s)
    _compare(seen, subject, opened.suite.order, traces)
    return seen


def _once(opened: OpenSuite, *, states: bool) -> tuple[dict[NodeId, StateTrace], float]:
    """Each test alone; files that the suite writes are put back before each, as in a hunt."""
    guard = opened.guard
    orders = tuple((test,) for test in opened.suite.order)
    serial = guard is not None and guard.is_active
    batches = [orders[n : n + 1] for n in range(len(orders))] if serial else [orders]
    began, found = time.perf_counter(), {}
    for batch in batches:
        if guard is not None:
            guard.restore_for_fork()
        plan = Batch(orders=batch, why="alone", setting=Setting.ALONE, compare_state=states, seed=1)
        found |= traces_of_runs(opened.pool.run_now(plan, Limits()))
    return found, time.perf_counter() - began


def _compare(seen: Seen, subject: Subject, order: Order, traces: Mapping[NodeId, StateTrace]) -> None:
    can = {test: {other for other in order if other != test and _can(traces, other, test)} for test in order}
    seen.pairs, seen.left = len(order) * (len(order) - 1), sum(map(len, can.values()))
    for label in subject.labels:
        if label["kind"] not in ("victim", "brittle"):
            continue
        test = NodeId(label["test"])
        for culprit in _culprits(label, subject):
            seen.known += 1
            shared = changes_that_matter(test, [culprit], [], traces)[:MAX_SHARED_CHANGES_SHOWN]
            if any(re.search(TRUTH[subject.key], str(change)) for change in shared):
                seen.named += 1
            else:
                seen.notes.append(f"{subject.key}: not named: `{culprit}` -> `{test}`: {_words(shared)}")
            if culprit not in can.get(test, ()):
                seen.lost += 1
                seen.notes.append(f"{subject.key}: lost: `{culprit}` -> `{test}`")


def _culprits(label: Mapping[str, Any], subject: Subject) -> list[NodeId]:
    """The known polluters or state-setters; where the matrix is not complete, those confirmed one by one.

    Tests that only several others together make fail or pass are no pairs: no matrix of pairs finds them.
    """
    known = label.get("polluters") if subject.key not in UNRELIABLE else None
    single = label["minimal_set"] if len(label["minimal_set"]) == 1 else []
    return [NodeId(test) for test in known or single]


def _can(traces: Mapping[NodeId, StateTrace], other: NodeId, test: NodeId) -> bool:
    return other not in traces or any(may_read(change, traces.get(test)) for change in traces[other].left)


def _words(changes: list[StateChange]) -> str:
    return "; ".join(map(str, changes)) or "nothing"


def rows(found: list[Seen]) -> list[Row]:
    """A line per subject, then the goals."""
    lines = [
        Row(
            job=f"{seen.key}, {seen.tests} tests",
            ours=f"{seen.named} of {seen.known} named, {seen.left} pairs left, {seen.lost} known lost",
            peer=f"{seen.pairs} pairs",
            measured=f"pairs cut {seen.pairs / max(1, seen.left):.1f} ×; each test alone {seen.plain_s:.1f} s, "
            f"looked at {seen.looked_s:.1f} s",
        )
        for seen in found
    ]
    known, named, lost = (sum(getattr(seen, name) for seen in found) for name in ("known", "named", "lost"))
    pairs, left = sum(seen.pairs for seen in found), sum(seen.left for seen in found)
    return [
        *lines,
        Row(
            job="known pairs whose shared state is named",
            ours=f"{named}",
            peer=f"{known}",
            measured=f"{100 * named / max(1, known):.0f} %",
            goal=f"≥ {100 * LEAST_NAMED:.0f} %",
            met=named >= LEAST_NAMED * known,
        ),
        Row(
            job="pairs to be run",
            ours=f"{left}, {lost} known pairs lost",
            peer=f"{pairs}",
            measured=f"{pairs / max(1, left):.1f} × fewer",
            goal=f"≥ {LEAST_CUT:g} ×, none lost",
            met=pairs >= LEAST_CUT * left and not lost,
        ),
    ]


def main() -> None:
    parser = arguments(__doc__, repeats=1)
    parser.add_argument("keys", nargs="*", metavar="KEY", help="subjects (default: all with forks and labels)")
    parser.add_argument("--subjects", type=Path, default=SUBJECTS, help="prepared ones (default %(default)s)")
    chosen = parser.parse_args()
    found = []
    for key in chosen_keys(chosen.keys) if chosen.keys else (*TRUTH, "blinker-1.9.0", "pythondi-1.2.4"):
        found.append(looked_at(prepared_subject(key, chosen.subjects)))
        print(rows(found)[len(found) - 1], flush=True)
    told(rows(found), chosen.json, [note for seen in found for note in seen.notes])


if __name__ == "__main__":
    main()
