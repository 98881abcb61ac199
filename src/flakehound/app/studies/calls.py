"""`flakehound study calls`: which functions mark flaky tests, and what rerunning only their callers saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flakehound.app.progress import Progress
from flakehound.app.sessions.default_paths import current_folder
from flakehound.app.sessions.project_settings import characteristic_functions_in
from flakehound.app.sessions.store_file import existing_store
from flakehound.app.studies.calls_data import LabelledCalls, calls_from_files, calls_from_store
from flakehound.calls.characteristic_functions import (
    CharacteristicFunctions,
    assigned_cause,
    default_functions,
    manual_selection,
)
from flakehound.calls.selection import (
    CallShares,
    CallTable,
    call_shares,
    cross_validate_selection,
    select_by_cause,
    select_for_flaky,
    selection_quality,
)
from flakehound.core.calls import Function
from flakehound.core.errors import UsageError, same_command
from flakehound.core.statistics.rerun_model import (
    ModelledTest,
    forecast_rerunning_all,
    forecast_rerunning_callers,
    forecast_rerunning_small_and_callers,
)
from flakehound.report.study.calls import CallApproach, CallsStudy

SCHEMA = "flakehound/study-calls/1"
MAX_RUNS = 170  # of one test, as in CALLS
TRACE_SLOWDOWN = 0.05  # how much longer a run takes that traces only characteristic functions


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsStudyOptions:
    """The options of `flakehound study calls`."""

    calls: tuple[Path, ...]  # tables of calls; empty: those of the current folder in the store
    labels: Path | None
    store_path: Path
    beta_causes: float
    beta_c: float
    folds: int
    seed: int


def run_calls_study(options: CallsStudyOptions, progress: Progress) -> CallsStudy:
    """The results of all experiments, as `flakehound/study-calls/1`."""
    data = _labelled_calls(options)
    if not any(test.is_flaky for test in data.tests):
        raise UsageError(
            "no test is flaky: there is nothing to select for", remedy="flakehound study calls --help"
        )
    own_functions = default_functions() if options.calls else characteristic_functions_in(current_folder())
    table = CallTable(data.tests)
    progress.message(f"{len(data.tests)} tests, {len(table.callers)} functions")
    c_table = CallTable(data.tests, kinds=("c",))
    approaches = [
        _given_functions("manual selection", manual_selection(), data, table),
        _given_functions("flakehound's set", own_functions, data, table),
        *_selected_functions(options, data, table, c_table, progress),
    ]
    folds = cross_validate_selection(
        c_table,
        options.beta_c,
        options.folds,
        options.seed,
        lambda fold: _show_fold(fold, options.folds, progress),
    )
    return {
        "schema": SCHEMA,
        "tests": len(data.tests),
        "flaky": sum(test.is_flaky for test in data.tests),
        "functions": len(table.callers),
        "seed": options.seed,
        "beta": {"causes": options.beta_causes, "c": options.beta_c},
        "approaches": approaches,
        "folds": [
            {"functions": [function.text for function in fold.functions], **_shares(fold.held_out)}
            for fold in folds
        ],
        "reruns": _rerun_forecasts(data, own_functions),
    }


def _show_fold(fold: int, folds: int, progress: Progress) -> None:
    progress.message(f"fold {fold} of {folds}")
    progress.show_steps("folds", fold, folds)


def _labelled_calls(options: CallsStudyOptions) -> LabelledCalls:
    if options.calls and options.labels is not None:
        return calls_from_files(options.calls, options.labels, remedy="flakehound calls --csv calls.csv")
    if options.calls or options.labels is not None:
        raise UsageError("--calls and --labels belong together", remedy=same_command(calls=None, labels=None))
    with existing_store(options.store_path) as store:
        return calls_from_store(store, remedy="flakehound calls && flakehound hunt && flakehound study calls")


def _selected_functions(
    options: CallsStudyOptions,
    data: LabelledCalls,
    table: CallTable,
    c_table: CallTable,
    progress: Progress,
) -> Iterator[CallApproach]:
    """The approaches that select functions from the data."""
    progress.message("selecting by cause ...")
    by_cause = select_by_cause(data.tests, table, options.beta_causes)
    yield _approach("selected by cause", [selected.function for selected in by_cause], data, table)
    progress.message("selecting C functions ...")
    yield _approach("selected C functions", select_for_flaky(c_table, options.beta_c), data, table)


def _given_functions(
    name: str, known: CharacteristicFunctions, data: LabelledCalls, table: CallTable
) -> CallApproach:
    functions = [function for function in table.callers if known.cause_of(function) is not None]
    return _approach(name, functions, data, table)


def _approach(name: str, functions: Sequence[Function], data: LabelledCalls, table: CallTable) -> CallApproach:
    shares = call_shares(table, functions)
    quality = selection_quality(functions, data.tests, table)
    return {
        "name": name,
        "flaky_share": shares.flaky_share,
        "share": shares.share,
        "original": quality.original,
        "solo": quality.solo,
        "cryptic": quality.cryptic,
        "remaining": len(quality.remaining),
        "remaining_shares": _shares(call_shares(table, quality.remaining)),
        "functions": [
            {"function": function.text, "file": function.file, "cause": _cause_name(function)}
            for function in functions
        ],
    }


def _cause_name(function: Function) -> str | None:
    cause = assigned_cause(function)
    return None if cause is None else cause.value


def _shares(shares: CallShares) -> dict[str, float]:
    return {"flaky_share": shares.flaky_share, "share": shares.share}


def _rerun_forecasts(data: LabelledCalls, known: CharacteristicFunctions) -> list[dict[str, Any]]:
    """The forecasts for three ways to rerun tests; empty without counts and times."""
    tests = [
        ModelledTest(
            chances=label.chances,
            run_s=label.run_s,
            calls_characteristic=any(known.cause_of(function) is not None for function in test.functions),
        )
        for test, label in zip(data.tests, data.labels, strict=True)
        if label.chances is not None and label.run_s is not None
    ]
    if not tests:
        return []
    forecasts = {
        "all tests": forecast_rerunning_all(tests, MAX_RUNS),
        "characteristic ones": forecast_rerunning_callers(tests, MAX_RUNS, TRACE_SLOWDOWN),
        "small ones, and characteristic ones": forecast_rerunning_small_and_callers(
            tests, MAX_RUNS, TRACE_SLOWDOWN
        ),
    }
    return [{"way": way, **asdict(forecast)} for way, forecast in forecasts.items()]
