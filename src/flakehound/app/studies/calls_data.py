"""The data set of a study of calls: traced tests and their labels, from files or from the store."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.sessions.default_paths import current_folder
from flakehound.calls.selection import TracedTest
from flakehound.core.calls import Function
from flakehound.core.errors import UsageError
from flakehound.core.statistics.rerun_model import OutcomeChances
from flakehound.core.verdicts import Cause
from flakehound.store import SessionCommand, Store

NEEDED = ("id", "phase", "file", "class", "function", "kind")
_YES = ("1", "true", "yes", "nod")
_CAUSES = {cause.value: cause for cause in Cause}
Key = tuple[str, str]  # project and test


@dataclass(frozen=True, slots=True, kw_only=True)
class TestLabel:
    """What is known about a test beside its calls."""

    is_flaky: bool
    cause: Cause | None = None
    chances: OutcomeChances | None = None  # None: not counted
    run_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCalls:
    """Tests, and their labels in the same order."""

    tests: tuple[TracedTest, ...]
    labels: tuple[TestLabel, ...]


def calls_from_files(calls: Sequence[Path], labels: Path, remedy: str) -> LabelledCalls:
    """Tables as `flakehound calls --csv` writes them, and a table of labels."""
    functions: dict[Key, set[Function]] = {}
    known: dict[Function, Function] = {}
    for path in calls:
        for row in _rows(path, NEEDED, remedy):
            called = functions.setdefault((row.get("project") or path.stem, row["id"]), set())
            if row["phase"] == "call" and row["kind"] in ("python", "c") and not _is_pytests(row["file"]):
                function = Function(file=row["file"], owner=row["class"], name=row["function"], kind=row["kind"])
                called.add(known.setdefault(function, function))
    told = {
        (row.get("project") or "", row["id"]): _label(row, labels, remedy)
        for row in _rows(labels, ("id", "flaky"), remedy)
    }
    named = {test for _project, test in functions}
    for project, test in told:
        if test not in named:
            functions[project, test] = set()  # it calls nothing, so no row tells of it
    return _joined(functions, told)


def _is_pytests(file: str) -> bool:
    """How pytest shows a failure says nothing about why there is one."""
    return "/_pytest/" in file or "/pluggy/" in file


def _joined(functions: Mapping[Key, set[Function]], told: Mapping[Key, TestLabel]) -> LabelledCalls:
    labels = [told.get(key) or told.get(("", key[1])) or TestLabel(is_flaky=False) for key in functions]
    tests = [
        TracedTest(
            project=project,
            is_flaky=label.is_flaky,
            functions=frozenset(functions[project, test]),
            cause=label.cause,
        )
        for (project, test), label in zip(functions, labels, strict=True)
    ]
    return LabelledCalls(tests=tuple(tests), labels=tuple(labels))


def _rows(path: Path, needed: Sequence[str], remedy: str) -> Iterator[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{str(path)!r} has no column {missing[0]!r}", remedy=remedy)
            yield from reader
    except (OSError, UnicodeDecodeError) as problem:
        raise UsageError(f"cannot read {str(path)!r}: {problem}", remedy=remedy) from problem


def _label(row: Mapping[str, str], path: Path, remedy: str) -> TestLabel:
    cause = (row.get("cause") or "").strip()
    if cause and cause not in _CAUSES:
        what = f"{str(path)!r}: {cause!r} is no cause; known: {', '.join(_CAUSES)}"
        raise UsageError(what, remedy=remedy)
    try:
        counts = [int(row.get(name) or 0) for name in ("passed", "failed", "runs")]
        chances = _chances(*counts)
        run_s = float(row["run_s"]) if row.get("run_s") else None
    except ValueError as problem:
        raise UsageError(f"{str(path)!r}: test {row['id']!r}: {problem}", remedy=remedy) from problem
    flaky = row["flaky"].strip().lower() in _YES
    return TestLabel(is_flaky=flaky, cause=_CAUSES.get(cause), chances=chances, run_s=run_s)


def _chances(passed: int, failed: int, runs: int) -> OutcomeChances | None:
    return OutcomeChances.from_counts(passed=passed, failed=failed, runs=runs or None) if passed + failed else None


def calls_from_store(store: Store, remedy: str) -> LabelledCalls:
    """The newest traced run of this folder, labelled by what its newest hunt says."""
    here = [info for info in store.sessions() if info.rootdir == str(current_folder())]
    traced = [info for info in here if info.settings.command is SessionCommand.CALLS]
    hunt = store.latest_hunt(str(current_folder()))
    report = store.report(hunt.id) if hunt is not None and hunt.id is not None else None
    if not traced or traced[-1].id is None or report is None:
        lacking = "traced run" if not traced else "finished hunt"
        raise UsageError(f"the store has no {lacking} of this folder to study", remedy=remedy)
    functions: dict[Key, set[Function]] = {}
    durations: dict[str, float] = {}
    for record in store.traced_records(traced[-1].id):
        for place, trace in record.calls.items():
            own = {function for function in trace.functions if not _is_pytests(function.file)}
            functions[current_folder().name, record.order[place]] = own
            durations[record.order[place]] = record.durations_s[place]
    told = {("", test["id"]): _judged(test, durations) for test in json.loads(report)["tests"]}
    return _joined(functions, told)


def _judged(test: Mapping[str, object], durations: Mapping[str, float]) -> TestLabel:
    runs = test["runs"]
    assert isinstance(runs, dict)
    counted = [runs[setting] for setting in ("original", "alone")]
    n, failed = (sum(one[name] for one in counted) for name in ("n", "failed"))
    causes = test["causes"]
    assert isinstance(causes, list)
    return TestLabel(
        is_flaky=test["kind"] == "nod",
        cause=_CAUSES.get(causes[0]["cause"]) if causes and test["kind"] == "nod" else None,
        chances=_chances(n - failed, failed, n),
        run_s=durations.get(str(test["id"])),
    )
