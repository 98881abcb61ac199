"""The data of `flakehound study calls`: traced tests and their labels, from files or from the store."""

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

REQUIRED_COLUMNS = ("id", "phase", "file", "class", "function", "kind")
_FLAKY_VALUES = ("1", "true", "yes", "nod")  # of the column `flaky`
_CAUSES = {cause.value: cause for cause in Cause}
Key = tuple[str, str]  # project and test


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakinessLabel:
    """What is known about a test, without its calls."""

    is_flaky: bool
    cause: Cause | None = None
    chances: OutcomeChances | None = None  # None: no counts of passes and failures
    run_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCalls:
    """Tests, and their labels in the same order."""

    tests: tuple[TracedTest, ...]
    labels: tuple[FlakinessLabel, ...]


def calls_from_files(calls: Sequence[Path], labels: Path, remedy: str) -> LabelledCalls:
    """Read tables that `flakehound calls --csv` writes, and a table of labels."""
    functions: dict[Key, set[Function]] = {}
    shared: dict[Function, Function] = {}  # one object per function saves memory
    for path in calls:
        for row in _rows(path, REQUIRED_COLUMNS, remedy):
            own_functions = functions.setdefault((row.get("project") or path.stem, row["id"]), set())
            if row["phase"] == "call" and row["kind"] in ("python", "c") and not _is_of_pytest(row["file"]):
                function = Function(file=row["file"], owner=row["class"], name=row["function"], kind=row["kind"])
                own_functions.add(shared.setdefault(function, function))
    labels_by_test = {
        (row.get("project") or "", row["id"]): _label(row, labels, remedy)
        for row in _rows(labels, ("id", "flaky"), remedy)
    }
    tests_with_calls = {test for _project, test in functions}
    for project, test in labels_by_test:
        if test not in tests_with_calls:
            functions[project, test] = set()  # a test that calls nothing has no row
    return _with_labels(functions, labels_by_test)


def _is_of_pytest(file: str) -> bool:
    """Whether a function belongs to pytest, which calls its own functions to show a failure."""
    return "/_pytest/" in file or "/pluggy/" in file


def _with_labels(
    functions: Mapping[Key, set[Function]], labels_by_test: Mapping[Key, FlakinessLabel]
) -> LabelledCalls:
    labels = [
        labels_by_test.get((project, test)) or labels_by_test.get(("", test)) or FlakinessLabel(is_flaky=False)
        for project, test in functions
    ]
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


def _rows(path: Path, required: Sequence[str], remedy: str) -> Iterator[dict[str, str]]:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in required if name not in (reader.fieldnames or ())]
            if missing:
                raise UsageError(f"{str(path)!r} has no column {missing[0]!r}", remedy=remedy)
            yield from reader
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {str(path)!r}: {error}", remedy=remedy) from error


def _label(row: Mapping[str, str], path: Path, remedy: str) -> FlakinessLabel:
    cause = (row.get("cause") or "").strip()
    if cause and cause not in _CAUSES:
        raise UsageError(f"{str(path)!r}: {cause!r} is not a cause; known: {', '.join(_CAUSES)}", remedy=remedy)
    try:
        counts = [int(row.get(name) or 0) for name in ("passed", "failed", "runs")]
        chances = _chances(*counts)
        run_s = float(row["run_s"]) if row.get("run_s") else None
    except ValueError as error:
        raise UsageError(f"{str(path)!r}: test {row['id']!r}: {error}", remedy=remedy) from error
    is_flaky = row["flaky"].strip().lower() in _FLAKY_VALUES
    return FlakinessLabel(is_flaky=is_flaky, cause=_CAUSES.get(cause), chances=chances, run_s=run_s)


def _chances(passed: int, failed: int, runs: int) -> OutcomeChances | None:
    return OutcomeChances.from_counts(passed=passed, failed=failed, runs=runs or None) if passed + failed else None


def calls_from_store(store: Store, remedy: str) -> LabelledCalls:
    """The newest traced session of this folder, with labels from its newest hunt."""
    sessions = [info for info in store.sessions() if info.rootdir == str(current_folder())]
    traced = [info for info in sessions if info.settings.command is SessionCommand.CALLS]
    hunt = store.latest_hunt(str(current_folder()))
    report = store.report(hunt.id) if hunt is not None and hunt.id is not None else None
    if not traced or traced[-1].id is None or report is None:
        missing = "traced run" if not traced else "finished hunt"
        raise UsageError(f"the store has no {missing} of this folder to study", remedy=remedy)
    functions: dict[Key, set[Function]] = {}
    durations: dict[str, float] = {}
    for record in store.traced_records(traced[-1].id):
        for position, trace in record.calls.items():
            test = record.order[position]
            own_functions = {function for function in trace.functions if not _is_of_pytest(function.file)}
            functions[current_folder().name, test] = own_functions
            durations[test] = record.durations_s[position]
    labels = {("", test["id"]): _label_from_report(test, durations) for test in json.loads(report)["tests"]}
    return _with_labels(functions, labels)


def _label_from_report(test: Mapping[str, object], durations: Mapping[str, float]) -> FlakinessLabel:
    runs = test["runs"]
    assert isinstance(runs, dict)
    tallies = [runs[setting] for setting in ("original", "alone")]
    n, failed = (sum(tally[name] for tally in tallies) for name in ("n", "failed"))
    causes = test["causes"]
    assert isinstance(causes, list)
    return FlakinessLabel(
        is_flaky=test["kind"] == "nod",
        cause=_CAUSES.get(causes[0]["cause"]) if causes and test["kind"] == "nod" else None,
        chances=_chances(n - failed, failed, n),
        run_s=durations.get(str(test["id"])),
    )
