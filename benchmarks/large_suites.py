"""Large suites from PyPI: packages whose wheels ship their tests, each in a project and an environment of its own.

A suite is prepared once: its requirements are installed with the versions of `large_constraints.txt`, and the
folder of the package is moved from the environment into a project folder, as if the project had been checked out.
One plain run in this project gives the facts about it: tests, outcomes, time.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from large_libraries import LIBRARIES, SNIPPETS
from planted_tests import PlantableSuite, plant
from side_by_side import on_cores

CACHE = Path(os.environ.get("FLAKEHOUND_LARGE_SUITES", Path.home() / ".cache" / "flakehound-large"))
HERE = Path(__file__).resolve().parent
PLAIN_RUN_LIMIT_S = 1800.0
MAX_FAILED = 0  # of a plain run; known failures are deselected
GIT = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeSuite:
    """One large suite: what to install and which of its tests to use."""

    name: str  # also that of the package
    requirements: tuple[str, ...]  # without versions
    paths: tuple[str, ...]  # the folders and files of tests
    ignored: tuple[str, ...] = ()  # files and folders below the paths
    deselected: tuple[str, ...] = ()  # beginnings of node ids: tests that fail here without any plant
    removed: tuple[str, ...] = ()  # files of the package that would change pytest's root folder
    seeds_random: bool = False  # its tests seed the global generator of `random`
    held_out: bool = False  # nothing may be tuned on it

    @property
    def folder(self) -> Path:
        """The folder of everything that belongs to the suite."""
        return CACHE / self.name

    @property
    def tree(self) -> Path:
        """The project without plants."""
        return self.folder / "tree"

    @property
    def python(self) -> str:
        """The interpreter of its environment."""
        return str(self.folder / "venv" / "bin" / "python")

    def planted_folder(self, seed: int) -> Path:
        """The folder of the project with the plants of one seed."""
        return self.folder / f"plants-{seed}-{planting_digest()}"


def planting_digest() -> str:
    """A digest of the code that plants: after a change of it, a seed gives other plants."""
    names = [*(f"planted_{part}.py" for part in ("tests", "code", "state", "modules")), "large_libraries.py"]
    code = [ast.dump(ast.parse((HERE / name).read_text(encoding="utf-8"))) for name in names]  # without comments
    return hashlib.sha256("".join(code).encode()).hexdigest()[:6]


SUITES = (
    LargeSuite(
        name="networkx",
        requirements=("networkx", "numpy", "scipy", "pandas", "matplotlib"),
        paths=("networkx",),
        seeds_random=True,
    ),
    LargeSuite(
        name="xarray",
        requirements=("xarray", "dask", "pyarrow", "scipy", "matplotlib", "hypothesis", "pytz"),
        paths=("xarray/tests",),
        ignored=(
            # Nearly all of their tests are skipped without optional packages; the last two need a network and
            # draw random examples.
            *("xarray/tests/test_backends.py", "xarray/tests/test_backends_datatree.py"),
            *("xarray/tests/test_cftimeindex.py", "xarray/tests/test_coding_times.py"),
            *("xarray/tests/test_tutorial.py", "xarray/tests/test_strategies.py"),
        ),
        deselected=(
            "xarray/tests/test_dask.py::test_auto_chunk_da_cftime",
            "xarray/tests/test_dask.py::test_rechunk_multi_dimensional_da_cftime",
            "xarray/tests/test_indexes.py::TestPandasMultiIndex::test_sel",
            "xarray/tests/test_indexing.py::TestMemoryCachedArray::test_async_wrapper",
            "xarray/tests/test_indexing.py::TestMemoryCachedArray::test_async_sub_array",
            "xarray/tests/test_variable.py::TestBackendIndexing",
        ),
    ),
    LargeSuite(
        name="statsmodels",
        requirements=("statsmodels", "matplotlib"),
        paths=tuple(
            f"statsmodels/{folder}"
            for folder in (
                *("base", "discrete", "distributions", "formula", "genmod", "iolib", "multivariate"),
                *("nonparametric", "regression", "robust", "stats", "tools"),
            )
        ),
        ignored=(
            # The slowest files: without them one run takes less than five minutes.
            "statsmodels/discrete/tests/test_count_model.py",
            "statsmodels/nonparametric/tests/test_kernel_regression.py",
            "statsmodels/regression/tests/test_lme.py",
            "statsmodels/regression/tests/test_processreg.py",
            "statsmodels/regression/tests/test_rolling.py",
            "statsmodels/robust/tests/test_tools.py",
            "statsmodels/stats/tests/test_mediation.py",
            "statsmodels/stats/tests/test_proportion.py",
        ),
        removed=("pyproject.toml",),
    ),
    LargeSuite(
        name="dask",
        requirements=("dask", "numpy", "scipy", "pandas", "pyarrow"),
        paths=("dask/array", "dask/bytes", "dask/diagnostics", "dask/tests"),
        deselected=(
            "dask/array/_array_expr/tests/test_collection.py::test_blockwise",
            "dask/array/_array_expr/tests/test_collection.py::test_is_dask_collection_doesnt_materialize",
            "dask/array/tests/test_reductions.py::test_nanquantile_all_nan",
            "dask/array/tests/test_array_core.py::test_binary_operator_delegation",
            "dask/tests/test_config.py::test_collect_yaml_permission_errors",
            "dask/tests/test_threaded.py::test_interrupt",  # sometimes hangs
        ),
    ),
    LargeSuite(
        name="sympy",
        requirements=("sympy", "numpy", "hypothesis"),
        paths=("sympy/core", "sympy/sets", "sympy/logic", "sympy/matrices"),
        ignored=(
            # The slowest files: without them one run takes about three minutes.
            "sympy/matrices/tests/test_decompositions.py",
            "sympy/matrices/tests/test_eigen.py",
            "sympy/matrices/tests/test_matrices.py",
        ),
        held_out=True,
    ),
    LargeSuite(
        name="pandas",
        requirements=("pandas", "scipy", "hypothesis"),
        paths=("pandas/tests/frame", "pandas/tests/reshape", "pandas/tests/resample"),
        deselected=("pandas/tests/reshape/test_qcut.py::test_qcut_binning_issues",),
        removed=("pyproject.toml",),
        held_out=True,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFacts:
    """What one plain run of a suite showed."""

    wall_s: float
    cpu_s: float  # nearly the wall time on an idle machine, because the run has one core
    load: float  # of the machine when the run began
    outcomes: Mapping[str, str]  # passed, skipped or failed by node id, in the original order

    @property
    def files(self) -> dict[str, int]:
        """The files with passing tests and their number, in the original order."""
        passed = (test for test, outcome in self.outcomes.items() if outcome == "passed")
        return dict(Counter(test.partition("::")[0] for test in passed))

    def number_of(self, outcome: str) -> int:
        """How many tests had this outcome."""
        return sum(value == outcome for value in self.outcomes.values())


def prepare_suite(suite: LargeSuite) -> None:
    """Install the suite and make its project, unless that was done before with the same settings."""
    ready = suite.folder / "ready"
    settings = repr(suite)
    if ready.exists() and ready.read_text() == settings:
        return
    print(f"installing {suite.name} into {suite.folder}", flush=True)
    shutil.rmtree(suite.folder, ignore_errors=True)
    suite.tree.mkdir(parents=True)
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "-q", "--python", sys.executable, str(suite.folder / "venv")], check=True)
    install = [*uv, "pip", "install", "-q", "--python", suite.python, "-c", str(HERE / "large_constraints.txt")]
    subprocess.run([*install, "pytest", *suite.requirements], check=True)
    installed = next((suite.folder / "venv").glob(f"lib/python*/site-packages/{suite.name}"))
    package = Path(shutil.move(installed, suite.tree / suite.name))
    for name in suite.removed:
        (package / name).unlink()
    (suite.tree / "pytest.ini").write_text(_pytest_settings(suite))
    (suite.tree / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.flakehound/\n.hypothesis/\n")
    ready.write_text(settings)


def _pytest_settings(suite: LargeSuite) -> str:
    options = [f"--ignore={path}" for path in suite.ignored] + [f"--deselect={test}" for test in suite.deselected]
    lists = {"testpaths": suite.paths, "addopts": options}
    parts = [f"{name} =\n" + "".join(f"    {line}\n" for line in lines) for name, lines in lists.items() if lines]
    return "[pytest]\n" + "".join(parts)


def facts_of(suite: LargeSuite) -> SuiteFacts:
    """The facts about a prepared suite; makes one plain run on one core the first time."""
    prepare_suite(suite)
    path = suite.folder / "facts.json"
    if not path.exists():
        print(f"one plain run of {suite.name} ...", flush=True)
        facts = whole_plain_run(suite, suite.tree, suite.folder / "plain")
        failed = [test for test, outcome in facts.outcomes.items() if outcome == "failed"]
        assert len(failed) <= MAX_FAILED, f"{suite.name}: tests fail without any plant: {failed}"
        path.write_text(json.dumps(asdict(facts), indent=0))
    return SuiteFacts(**json.loads(path.read_text()))


def whole_plain_run(
    suite: LargeSuite, tree: Path, folder: Path, plugins: Sequence[str] = (), cores: int | None = 1
) -> SuiteFacts:
    """Run the whole suite once with plain pytest and plugins of ours, in a fresh copy of `tree` below `folder`."""
    copy, notes = fresh_copy(tree, folder), folder / "notes"
    env = {**environment_of(copy), "PYTHONPATH": str(HERE), "OUTCOME_NOTES": str(notes)}
    load = os.getloadavg()[0]
    began, cpu_before_s = time.perf_counter(), _cpu_of_children_s()
    with on_cores(cores):
        subprocess.run(
            [suite.python, "-m", "pytest", "-q", *(f"-p{name}" for name in ("outcome_notes", *plugins))],
            cwd=copy,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=PLAIN_RUN_LIMIT_S,
            check=False,
        )
    wall_s, cpu_s = time.perf_counter() - began, _cpu_of_children_s() - cpu_before_s
    outcomes = outcomes_by_test(notes.read_text().splitlines())
    shutil.rmtree(folder)
    return SuiteFacts(wall_s=round(wall_s, 1), cpu_s=round(cpu_s, 1), load=round(load, 2), outcomes=outcomes)


def _cpu_of_children_s() -> float:
    """CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def outcomes_by_test(lines: Sequence[str]) -> dict[str, str]:
    """Passed, skipped or failed for each test, from the lines of `outcome_notes.py`."""
    outcomes: dict[str, str] = {}
    for line in lines:
        test, _phase, outcome = json.loads(line)
        if outcomes.get(test, "passed") == "passed":
            outcomes[test] = outcome
    return outcomes


def fresh_copy(tree: Path, folder: Path) -> Path:
    """Copy a project to `folder/tree`, with empty folders for home and temporary files next to it.

    The compiled files are left out: those of pytest contain the path of their source.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("home", "tmp"):
        (folder / name).mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    return Path(shutil.copytree(tree, folder / "tree", symlinks=True, ignore=ignored))


def environment_of(tree: Path) -> dict[str, str]:
    """The environment of processes in a fresh copy."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    own = {"HOME": str(tree.parent / "home"), "TMPDIR": str(tree.parent / "tmp")}
    return {**inherited, **own}


def planted_project(suite: LargeSuite, seed: int) -> Path:
    """The folder of the project with the plants of this seed (`tree`, `truth.json`); made if necessary."""
    folder = suite.planted_folder(seed)
    if (folder / "ready").exists():
        return folder
    facts = facts_of(suite)
    tree = fresh_copy(suite.tree, folder)
    plantable = PlantableSuite(
        library=LIBRARIES[suite.name],
        snippets=SNIPPETS[suite.name],
        files=facts.files,
        seeds_random=suite.seeds_random,
    )
    plant(tree, plantable, seed)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "The project with its tests")):
        subprocess.run([*GIT, *words], cwd=tree, check=True)
    # The checks run in many copies, which would compile the whole package each time.
    subprocess.run([suite.python, "-m", "compileall", "-q", suite.name], cwd=tree, check=True)
    (folder / "ready").touch()
    return folder
