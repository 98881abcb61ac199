"""Choose the problem of a table: the one that the user named, or the first that can be learned."""

from __future__ import annotations

import shlex
from pathlib import Path

from flakehound.core.errors import UsageError, same_command
from flakehound.learn.tables.checking import learning_obstacle
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

_PREFERENCE = (Problem.LABELLED, *(problem for problem in Problem if problem is not Problem.LABELLED))


def choose_problem(data: Dataset, name: str | None, table: Path) -> Problem:
    """The named problem; without a name, the table's own label or the first of CANNIER's that can be learned."""
    candidates = _PREFERENCE if name is None else (Problem(name),)
    obstacles = {problem: _obstacle(data, problem) for problem in candidates}
    learnable = next((problem for problem, obstacle in obstacles.items() if not obstacle), None)
    if learnable is not None:
        return learnable
    reasons = "; ".join(f"{problem.value}: {obstacle}" for problem, obstacle in obstacles.items())
    other = None if name is None else next((one for one in _PREFERENCE if not _obstacle(data, one)), None)
    check = shlex.join(["flakehound", "data", "check", str(table)])
    raise UsageError(
        f"nothing can be learned from {data.name!r}: {reasons}",
        remedy=same_command(problem=other.value) if other else check,
    )


def _obstacle(data: Dataset, problem: Problem) -> str:
    """Why a problem cannot be learned; empty: it can."""
    return learning_obstacle(data, problem) if data.features else "it has no features"
