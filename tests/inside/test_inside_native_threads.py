"""Libraries whose native threads a fork would miss are named, and others are not."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from flakehound_inside.worker import native_threads
from flakehound_inside.worker.native_threads import libraries_with_native_threads

CORES = 4
MAIN = "python"


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the process's threads; no library is loaded, and there are four cores."""
    names = [MAIN]
    monkeypatch.setattr(native_threads, "_thread_names", lambda: names)
    monkeypatch.setattr(native_threads, "_cores", lambda: CORES)
    for module in (*native_threads._THREAD_NAMES, *native_threads._WITH_OPENMP, *native_threads._WITH_OPENBLAS):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delitem(sys.modules, "torch.cuda", raising=False)
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    return names


def load(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, ModuleType(module))


@pytest.mark.parametrize(
    ("library", "thread"),
    [
        ("polars", "polars-1"),
        ("grpc", "grpc_global_tim"),
        ("grpc", "event_engine"),
        ("torch", "pt_autograd_0"),
        ("jaxlib", "tf_XLAEigen"),
        ("tensorflow", "tf_Compute"),
    ],
)
def test_a_loaded_library_with_running_threads_is_named(threads, monkeypatch, library, thread):
    load(monkeypatch, library)
    threads.append(thread)

    assert libraries_with_native_threads() == [library]


def test_threads_of_a_library_that_is_not_known_to_need_them_do_not_count(threads, monkeypatch):
    load(monkeypatch, "numpy.linalg", "polars")
    threads += [MAIN] * (CORES - 1) + ["polars-ooc-clea", "jemalloc_bg_thd"]

    assert libraries_with_native_threads() == []


@pytest.mark.parametrize(("extra", "expected"), [(0, []), (1, ["torch or sklearn"])])
def test_openmp_counts_if_there_are_more_threads_than_those_of_openblas(threads, monkeypatch, extra, expected):
    load(monkeypatch, "sklearn", "torch", "numpy.linalg", "scipy.linalg")
    threads += [MAIN] * (2 * (CORES - 1) + extra)

    assert libraries_with_native_threads() == expected


def test_a_limit_of_openblas_threads_is_regarded(threads, monkeypatch):
    load(monkeypatch, "sklearn", "numpy.linalg")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    threads.append(MAIN)

    assert libraries_with_native_threads() == ["sklearn"]


def test_a_model_that_scikit_learn_fits_leaves_threads_and_importing_it_does_not():
    pytest.importorskip("sklearn", reason="fits a model")
    if native_threads._openblas_threads() < 2:
        pytest.skip("libraries start no threads on one core")
    code = (
        "import numpy, scipy.linalg, sklearn.ensemble\n"
        "from flakehound_inside.worker.native_threads import libraries_with_native_threads\n"
        "print(libraries_with_native_threads())\n"
        "model = sklearn.ensemble.HistGradientBoostingClassifier(max_iter=2)\n"
        "model.fit(numpy.random.rand(2000, 5), numpy.arange(2000) % 2)\n"
        "print(libraries_with_native_threads())\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "['sklearn']"]


@pytest.mark.parametrize(("used", "expected"), [(False, []), (True, ["torch"])])
def test_torch_counts_if_it_uses_a_gpu(threads, monkeypatch, used, expected):
    load(monkeypatch, "torch", "torch.cuda")
    sys.modules["torch.cuda"].is_initialized = lambda: used

    assert libraries_with_native_threads() == expected


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the names of threads are read from /proc")
def test_threads_are_read_with_the_first_thread_first():
    code = (
        "import threading\n"
        "from flakehound_inside.worker.native_threads import _thread_names\n"
        "held = threading.Event()\n"
        "threading.Thread(target=held.wait, daemon=True).start()\n"
        "open('/proc/self/comm', 'w').write('first')\n"
        "print(_thread_names())\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    names = eval(done.stdout)
    assert names[0] == "first"
    assert len(names) == 2
