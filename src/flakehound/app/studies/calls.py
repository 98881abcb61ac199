"""The experiments of a study of calls, one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flakehound.app.studies.calls_data import StudiedCalls
from flakehound.calls.characteristic_functions import Characteristic, assigned_cause
from flakehound.calls.selection import (
    Columns,
    Exposure,
    cross_validated,
    exposure,
    select_by_cause,
    select_flaky,
    sense_of,
)
from flakehound.core.calls import Function
from flakehound.core.statistics.rerun_model import (
    RerunTest,
    expected_of_all,
    expected_of_marked,
    expected_of_size_split,
)

SCHEMA = "flakehound/study-calls/1"
MOST_RERUNS = 170  # the source's


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionWishes:
    """How to select."""

    beta_causes: float
    beta_c: float
    folds: int
    seed: int
    slowdown: float  # of a traced run, for the model of reruns


def studied(
    data: StudiedCalls, sets: Mapping[str, Characteristic], wishes: SelectionWishes, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The figures as `flakehound/study-calls/1`."""
    tests = data.tests
    columns = Columns(tests)
    tell(f"{len(tests)} tests, {len(columns.callers)} functions")
    approaches = [_known_set(name, known, data, columns) for name, known in sets.items()]
    tell("selecting by cause ...")
    by_cause = select_by_cause(tests, columns, wishes.beta_causes)
    approaches.append(_approach("selected by cause", [one.function for one in by_cause], data, columns))
    tell("selecting C functions ...")
    of_c = Columns(tests, kinds=("c",))
    approaches.append(_approach("selected C functions", select_flaky(of_c, wishes.beta_c), data, columns))
    folds = cross_validated(
        of_c, wishes.beta_c, wishes.folds, wishes.seed, lambda fold: tell(f"fold {fold} of {wishes.folds}")
    )
    ours = list(sets.values())[-1]
    return {
        "schema": SCHEMA,
        "tests": len(tests),
        "flaky": sum(test.is_flaky for test in tests),
        "functions": len(columns.callers),
        "seed": wishes.seed,
        "beta": {"causes": wishes.beta_causes, "c": wishes.beta_c},
        "approaches": approaches,
        "folds": [{"functions": [one.text for one in fold.functions], **_shares(fold.held_out)} for fold in folds],
        "reruns": _reruns(data, ours, wishes.slowdown),
    }


def _known_set(name: str, known: Characteristic, data: StudiedCalls, columns: Columns) -> dict[str, Any]:
    functions = [function for function in columns.callers if known.cause_of(function) is not None]
    return _approach(name, functions, data, columns)


def _approach(name: str, functions: Sequence[Function], data: StudiedCalls, columns: Columns) -> dict[str, Any]:
    sense = sense_of(functions, data.tests, columns)
    return {
        "name": name,
        **_shares(exposure(columns, functions)),
        "original": sense.original,
        "solo": sense.solo,
        "cryptic": sense.cryptic,
        "remaining": len(sense.remaining),
        "remaining_shares": _shares(exposure(columns, sense.remaining)),
        "functions": [{"function": one.text, "file": one.file, "cause": _word(one)} for one in functions],
    }


def _word(function: Function) -> str | None:
    cause = assigned_cause(function)
    return None if cause is None else cause.value


def _shares(found: Exposure) -> dict[str, float]:
    return {"flaky_share": found.flaky_share, "share": found.share}


def _reruns(data: StudiedCalls, known: Characteristic, slowdown: float) -> list[dict[str, Any]]:
    """What the model expects of three ways to rerun; empty without counts and times."""
    tests = [
        RerunTest(
            chances=label.chances,
            run_s=label.run_s,
            is_marked=any(known.cause_of(function) is not None for function in test.functions),
        )
        for test, label in zip(data.tests, data.labels, strict=True)
        if label.chances is not None and label.run_s is not None
    ]
    if not tests:
        return []
    ways = {
        "all tests": expected_of_all(tests, MOST_RERUNS),
        "characteristic ones": expected_of_marked(tests, MOST_RERUNS, slowdown),
        "small ones, and characteristic ones": expected_of_size_split(tests, MOST_RERUNS, slowdown),
    }
    return [{"way": way, **asdict(expected)} for way, expected in ways.items()]
