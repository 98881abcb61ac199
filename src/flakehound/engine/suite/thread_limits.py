"""Limits the threads of numeric libraries where several runs go on at once.

OpenBLAS and OpenMP start one thread per core in every process, and threads without a core wait busily. Two runs of
statsmodels side by side on two cores took 2.8 times as much processor time as one after the other. Libraries read
their limits when they are loaded, so the variables are removed before the first test: all tests of joblib fail if
they see one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from flakehound.engine.processes.launch import Target
from flakehound.engine.suite.parallelism import usable_cores

# Not those of numba and polars: tests that ask for more threads than their limit would fail.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def with_thread_limits(target: Target, jobs: int | None, inherited: Mapping[str, str] = os.environ) -> Target:
    """The target with its share of the cores for each run; unchanged if the user has set such a limit."""
    cores = usable_cores()
    runs_at_once = min(cores, cores if jobs is None else jobs)
    if runs_at_once <= 1 or any(name in {**inherited, **target.env} for name in THREAD_VARIABLES):
        return target
    limits = dict.fromkeys(THREAD_VARIABLES, str(max(1, cores // runs_at_once)))
    return replace(target, env_of_collection=limits)
