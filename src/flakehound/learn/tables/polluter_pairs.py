"""Pairs of victims and polluters, for the sweep of PAIRWISE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.learn.evaluation.pareto import PairTask
from flakehound.learn.extras import Array
from flakehound.learn.models.validation import learnable_labels
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.problems import Problem

_PROBLEMS = (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)
_PAIR_FORMAT = "a pair is a victim and a polluter of the same project, by project and id as the table has them"
_RowPairs = list[tuple[int, int]]  # rows of a victim and of its polluter


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A victim or a brittle test, and one test that changes its outcome."""

    project: str
    victim: str
    polluter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTests:
    """The pairs of a table, as rows of it."""

    task: PairTask
    known: bool  # False: no pairs were given, so each polluter is paired with each victim of its project
    left_out: int  # given pairs with a test that is not in the table


def paired_tests(data: Dataset, pairs: Sequence[Pair] | None) -> PairedTests:
    """The task of PAIRWISE for a table; raises UnusableData with everything that the table lacks for it."""
    import numpy as np

    cost_s = _require_costs_and_labels(data)
    row_pairs = _all_pairs(data) if pairs is None else _given_pairs(data, pairs)
    if not row_pairs:
        raise UnusableData(f"there is no pair to be found in {data.name!r}", detail=_PAIR_FORMAT)
    _names, suites = np.unique(data.projects.astype(str), return_inverse=True)
    victims, polluters = np.array(row_pairs).T
    return PairedTests(
        task=PairTask(cost_s=cost_s, victims=victims, polluters=polluters, suites=suites),
        known=pairs is not None,
        left_out=0 if pairs is None else len(set(pairs)) - len(row_pairs),
    )


def _require_costs_and_labels(data: Dataset) -> Array:
    missing = list(_missing_columns(data))
    if missing or data.cost_s is None:
        words = ", no ".join(missing)
        raise UnusableData(f"{data.name!r} cannot be used for pairs: it has no {words}")
    for problem in _PROBLEMS:
        learnable_labels(data, problem)
    return data.cost_s


def _missing_columns(data: Dataset) -> Iterator[str]:
    if data.counts is None:
        yield "outcome counts, which identify victims"
    elif not data.counts.shuffled_runs.any():
        yield "outcome counts of shuffled orders, which identify victims"
    if data.polluter is None:
        yield "column that labels polluters"
    if data.cost_s is None:
        yield "column of costs"


def _given_pairs(data: Dataset, pairs: Sequence[Pair]) -> _RowPairs:
    rows = {key: row for row, key in enumerate(zip(data.projects, data.ids, strict=True))}
    row_pairs = (
        (rows.get((pair.project, pair.victim)), rows.get((pair.project, pair.polluter))) for pair in pairs
    )
    return list(dict.fromkeys((v, p) for v, p in row_pairs if v is not None and p is not None and v != p))


def _all_pairs(data: Dataset) -> _RowPairs:
    victims, polluters = (labels.domain[labels.positive == 1].tolist() for labels in map(data.labels, _PROBLEMS))
    return [(v, p) for v in victims for p in polluters if v != p and data.projects[v] == data.projects[p]]
