"""Libraries with threads outside of Python that cannot work in a fork, which has none of these threads.

Others, such as OpenBLAS, start their threads again after a fork. So a library counts only if it is known not to.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import read_file

if TYPE_CHECKING:
    from typing import Iterable

# The names that libraries give their threads; Linux keeps 15 characters. Forks of processes in which polars 2.1,
# JAX and scikit-learn 1.9 had computed hung when they used them again. torch and TensorFlow were not tried.
_THREAD_NAMES = {
    "polars": re.compile(r"polars-\d"),  # not polars-ooc-cleaner, which merely importing it starts
    "grpc": re.compile(r"grpc_|event_engine"),
    "torch": re.compile(r"pt_"),
    "tensorflow": re.compile(r"tf_"),
    "jaxlib": re.compile(r"tf_"),
}
_WITH_OPENMP = ("torch", "sklearn", "lightgbm", "xgboost", "faiss")  # whose threads have no name of their own
_WITH_OPENBLAS = ("numpy.linalg", "scipy.linalg")  # each has its own copy
_MAX_OPENBLAS_THREADS = 64
_hidden_limits: dict[str, str] = {}  # variables that were removed from the environment


def libraries_with_native_threads() -> list[str]:
    """The libraries whose threads a fork would miss; empty on systems without /proc."""
    named = [library for library in _THREAD_NAMES if library in sys.modules]
    openmp = [library for library in _WITH_OPENMP if library in sys.modules]
    if not named and not openmp:
        return []
    names = _thread_names()
    libraries = [library for library in named if any(map(_THREAD_NAMES[library].match, names))]
    if _torch_uses_a_gpu() and "torch" not in libraries:
        libraries.append("torch")
    if openmp and _openmp_has_threads(names) and not set(openmp) & set(libraries):
        libraries.append(" or ".join(openmp))
    return libraries


def _thread_names() -> list[str]:
    """The names of all threads of this process, the first thread first."""
    try:
        numbers = sorted(map(int, isolated_os.listdir("/proc/self/task")))
    except OSError:
        return []
    names = []
    for number in numbers:
        try:
            names.append(read_file("/proc/self/task/%d/comm" % number).decode("utf-8", "replace").strip())
        except OSError:  # noqa: PERF203 (the thread has just ended)
            continue
    return names


def _torch_uses_a_gpu() -> bool:
    cuda = sys.modules.get("torch.cuda")
    try:
        return cuda is not None and bool(cuda.is_initialized())
    except Exception:
        return False


def _openmp_has_threads(names: list[str]) -> bool:
    """Whether there are more threads without a name of their own than OpenBLAS starts.

    Threads of Python have none either, but they are a reason against forks by themselves.
    """
    of_openblas = sum(module in sys.modules for module in _WITH_OPENBLAS) * (_openblas_threads() - 1)
    return names[1:].count(names[0]) > of_openblas if names else False


def hide_limits(names: Iterable[str]) -> None:
    """Remove the limits that flakehound has set from the environment; loaded libraries keep them."""
    for name in names:
        limit = os.environ.pop(name, None)
        if limit is not None:
            _hidden_limits[name] = limit


def _openblas_threads() -> int:
    """How many threads each copy of OpenBLAS uses, the calling one included."""
    known = {**os.environ, **_hidden_limits}
    limits = [known.get(name, "") for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")]
    chosen = [int(limit) for limit in limits if limit.isdigit() and int(limit) > 0]
    return min([_cores(), _MAX_OPENBLAS_THREADS, *chosen[:1]])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
