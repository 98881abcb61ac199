"""Which problem of a table is meant: the one that was named, or the first that can be learned."""

from __future__ import annotations

import shlex
from pathlib import Path

from flakehound.core.errors import UsageError, same_command
from flakehound.learn.tables.checking import learning_obstacle
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

_FIRST = (Problem.LABELLED, *(one for one in Problem if one is not Problem.LABELLED))


def chosen_problem(data: Dataset, named: str | None, table: Path) -> Problem:
    """The named problem; without a name the table's own label, or the first of CANNIER's that can be learned."""
    troubles = {problem: _trouble(data, problem) for problem in (_FIRST if named is None else (Problem(named),))}
    found = next((problem for problem, trouble in troubles.items() if not trouble), None)
    if found is not None:
        return found
    told = "; ".join(f"{problem.value}: {trouble}" for problem, trouble in troubles.items())
    other = None if named is None else next((one for one in _FIRST if not _trouble(data, one)), None)
    check = shlex.join(["flakehound", "data", "check", str(table)])
    raise UsageError(
        f"nothing can be learned from {data.name!r}: {told}",
        remedy=same_command(problem=other.value) if other else check,
    )


def _trouble(data: Dataset, problem: Problem) -> str:
    """Why a problem cannot be learned; empty where it can."""
    return learning_obstacle(data, problem) if data.features else "it has no features"
