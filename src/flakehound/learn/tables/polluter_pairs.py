"""Which test pollutes which: what the sweep of PAIRWISE needs beside the tests' own labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.learn.evaluation.pareto import PairTask
from flakehound.learn.extras import Array
from flakehound.learn.models.validation import learnable_labels
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.problems import Problem

_PROBLEMS = (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)
_EXPECTED = "a pair is a victim and a polluter of the same project, by project and id as the table has them"
_Places = list[tuple[int, int]]  # of a victim and of its polluter


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A victim, or a brittle test, and one test that changes its outcome."""

    project: str
    victim: str
    polluter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTests:
    """The pairs of a table as places in it."""

    task: PairTask
    known: bool  # False: no pair was told, so each polluter is paired with each victim of its project
    left_out: int  # pairs that were told of tests the table does not have


def paired_tests(data: Dataset, pairs: Sequence[Pair] | None) -> PairedTests:
    """What PAIRWISE would find and spend; an error that names everything the table lacks for it."""
    import numpy as np

    cost_s = _checked_costs(data)
    found = _all_pairs(data) if pairs is None else _told_pairs(data, pairs)
    if not found:
        raise UnusableData(f"there is no pair to be found in {data.name!r}", detail=_EXPECTED)
    _names, suites = np.unique(data.projects.astype(str), return_inverse=True)
    victims, polluters = np.array(found).T
    return PairedTests(
        task=PairTask(cost_s=cost_s, victims=victims, polluters=polluters, suites=suites),
        known=pairs is not None,
        left_out=0 if pairs is None else len(set(pairs)) - len(found),
    )


def _checked_costs(data: Dataset) -> Array:
    missing = list(_missing(data))
    if missing or data.cost_s is None:
        words = ", no ".join(missing)
        raise UnusableData(f"{data.name!r} cannot tell what pairs find and cost: it has no {words}")
    for problem in _PROBLEMS:
        learnable_labels(data, problem)
    return data.cost_s


def _missing(data: Dataset) -> Iterator[str]:
    if data.counts is None:
        yield "outcome counts, which tell victims"
    elif not data.counts.shuffled_runs.any():
        yield "outcome counts of shuffled orders, which tell victims"
    if data.polluter is None:
        yield "column that labels polluters"
    if data.cost_s is None:
        yield "column of costs"


def _told_pairs(data: Dataset, pairs: Sequence[Pair]) -> _Places:
    place = {key: at for at, key in enumerate(zip(data.projects, data.ids, strict=True))}
    both = ((place.get((one.project, one.victim)), place.get((one.project, one.polluter))) for one in pairs)
    return list(dict.fromkeys((v, p) for v, p in both if v is not None and p is not None and v != p))


def _all_pairs(data: Dataset) -> _Places:
    victims, polluters = (labels.domain[labels.positive == 1].tolist() for labels in map(data.labels, _PROBLEMS))
    return [(v, p) for v in victims for p in polluters if v != p and data.projects[v] == data.projects[p]]
