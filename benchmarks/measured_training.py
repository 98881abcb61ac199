"""Add tests to the table of measured tests: features from our runs, labels from Gruber et al. (2021).

`cannier_training.py` hunts, so its labels come from a few dozen runs, and NOD tests fail too rarely for that. The
study ran every test 200 times in one order and 200 times in others; here the same tests are only measured, in
three runs. Projects with NOD tests come first, then those with order-dependent ones. Sdists and packages are of
the study's time. A test is added if it passed in all three runs: a test that the network or a missing program
breaks is not the test that the study ran. A project is added if at least one of its flaky tests is. The study does
not name polluters, so their column is empty.

    python benchmarks/measured_training.py --work DIR [--most 150] [--seconds 7200] [NAME ...]
    python benchmarks/measured_training.py --work DIR --calls     then trace the measured suites once
    python benchmarks/measured_training.py --work DIR --join      add the measured tests to the table we ship
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from cannier_training import OUT
from flaky_sources import DATA, Key, key_of, read_table
from old_sdist_suites import (
    STUDY_DATE,
    Suite,
    SuiteMaker,
    SuiteSkipped,
    clean_environment,
    process_suites,
    run_with_limit,
    skipped_suites,
)
from pypi_before_date import serve_index_before
from running import environment_with_flakehound

from flakehound.app.data.export import COUNT_COLUMNS, TEST_COLUMNS
from flakehound.app.sessions.stored_runs import stored_runs
from flakehound.calls.causes import likely_causes
from flakehound.calls.characteristic_functions import default_functions
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.features.table import FEATURE_NAMES
from flakehound.features.vectors import mean_vectors
from flakehound.learn.measured.table import pack_table, unpack_table
from flakehound.learn.static.table import shipped_bytes, shipped_samples
from flakehound.store import Store

FEATURES = tuple(name for name in FEATURE_NAMES if name != "covered_changes")  # sdists have no history
MEASURE_LIMIT_S = 240.0
STUDY_RUNS = 200  # of each test, in the original order and in other orders


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCounts:
    """The outcomes that the study counted for one flaky test."""

    original: tuple[int, int]  # passed, failed
    shuffled: tuple[int, int]
    infrastructure: bool


Labels = Mapping[tuple[Key, str], StudyCounts]  # by file, class, function and parameters


def labels_by_project(data: Path) -> dict[str, Labels]:
    """The counts of the study's flaky tests, by project."""
    labels: dict[str, dict[tuple[Key, str], StudyCounts]] = {}
    for row in read_table(data, "python_flaky"):
        counts = StudyCounts(
            original=_counts(row, "sameOrder"),
            shuffled=_counts(row, "randomOrder"),
            infrastructure=row["Flaky_Infrastructure"] == "True",
        )
        labels.setdefault(row["Project_Name"], {})[key_of(row), row["Test_parametrization"]] = counts
    return labels


def _counts(row: Mapping[str, str], order: str) -> tuple[int, int]:
    return int(row[f"Passed_{order}"] or 0), int(row[f"Failed_{order}"] or 0) + int(row[f"Error_{order}"] or 0)


def projects_of_study() -> list[str]:
    """Projects whose sdist contains a flaky test, sorted by their number of NOD tests."""
    nod, dependent = Counter[str](), Counter[str]()
    for sample in shipped_samples(shipped_bytes()):
        nod[sample.project] += sample.nod
        dependent[sample.project] += sample.order_dependent
    return sorted(nod, key=lambda name: (-nod[name], -dependent[name], name))


def name_in_study(test: NodeId) -> tuple[Key, str]:
    """The name that the study has for a test."""
    inner, bracket, parameters = test.partition("[")
    path, *classes, last = inner.split("::")
    return (path, classes[-1] if classes else "", last), bracket + parameters


def measure_suite(suite: Suite, labels: Labels, work: Path) -> str:
    """Measure in a fresh copy and write its rows; returns a sentence about them."""
    rows = list(_rows(suite.name, _store_after("features", suite, labels, work), labels))
    if not any(row["original_failed"] or row["shuffled_failed"] for row in rows):
        raise SuiteSkipped(f"none of its flaky tests passes here; {len(rows)} others do")
    with (work / "tables" / suite.name / "tests.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*TEST_COLUMNS, *FEATURES])
        writer.writeheader()
        writer.writerows(rows)
    nod = [bool(row["original_failed"] and row["original_passed"]) for row in rows]
    dependent = sum(bool(row["shuffled_failed"]) and not is_nod for row, is_nod in zip(rows, nod, strict=True))
    return f"{len(rows)} tests, {sum(nod)} NOD, {dependent} order-dependent"


def trace_suite(suite: Suite, labels: Labels, work: Path) -> str:
    """Trace in a fresh copy and write which tests call a characteristic function; returns a summary."""
    calls_one: dict[NodeId, bool] = {}
    with Store.open(_store_after("calls", suite, labels, work), create=False) as store:
        for session in store.sessions():
            for record in store.traced_records(session.id or 0):
                for index, trace in record.calls.items():
                    calls_one[record.order[index]] = bool(likely_causes([trace], default_functions()))
    with (work / "tables" / suite.name / "calls.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "calls"), *((test, int(calls)) for test, calls in calls_one.items())])
    return f"{len(calls_one)} tests, {sum(calls_one.values())} of which call a characteristic function"


def _store_after(command: str, suite: Suite, labels: Labels, work: Path) -> Path:
    """Run a flakehound command in a fresh copy of a suite, and return the store that it wrote."""
    tables, trees = work / "tables" / suite.name, work / "trees" / suite.name
    shutil.rmtree(trees, ignore_errors=True)
    tables.mkdir(parents=True, exist_ok=True)
    tree, home = trees / suite.name, trees / "home"
    home.mkdir(parents=True)
    shutil.copytree(suite.tree, tree, symlinks=True)
    env = {**clean_environment(), **suite.env, "HOME": str(home)}
    ours = {**environment_with_flakehound({}), **env, "PYTHONPATH": environment_with_flakehound({})["PYTHONPATH"]}
    store = tables / f"{command}.db"
    store.unlink(missing_ok=True)
    words = [command, "-q", "--jobs", "1", "--seed", "1", "--python", suite.python, "--store", str(store)]
    pytest_args = (*suite.pytest_args, "--continue-on-collection-errors", *_paths_to_collect(tree, labels))
    flakehound = [sys.executable, "-m", "flakehound", *words, "--", *pytest_args]
    done = run_with_limit(flakehound, MEASURE_LIMIT_S, cwd=tree, env=ours)
    shutil.rmtree(trees, ignore_errors=True)
    if not store.exists():
        raise SuiteSkipped(f"{command}: {(done.stdout.strip() or str(done.returncode)).splitlines()[0][:160]}")
    return store


def _paths_to_collect(tree: Path, labels: Labels) -> list[str]:
    """The files of the study that pytest's patterns would miss, and the folder; empty if there are none."""
    files = {key[0] for key, _parameters in labels}
    other = sorted(file for file in files if (tree / file).is_file() and not Path(file).name.startswith("test_"))
    return [".", *other] if other else []


def _rows(project: str, store_path: Path, labels: Labels) -> Iterator[dict[str, object]]:
    with Store.open(store_path, create=False) as store:
        for session in store.sessions():
            assert session.id is not None
            records = stored_runs(store, session.id).observations
            passed = Counter[NodeId]()
            for record in records:
                passed.update(test for _index, test, outcome in record if outcome is Outcome.PASSED)
            order = store.suite(session.id).order
            for vector in mean_vectors(order, records, store.source_features(session.id)):
                values = {name: vector.values[name] for name in FEATURES}
                counts = labels.get(name_in_study(vector.id))
                if vector.runs < 1 or passed[vector.id] < vector.runs or None in values.values():
                    continue
                if counts is None or not counts.infrastructure:
                    yield _row(project, vector.id, counts, values)


def _row(
    project: str, test: NodeId, counts: StudyCounts | None, values: Mapping[str, float | None]
) -> dict[str, object]:
    always_passed = (STUDY_RUNS, 0)
    original, shuffled = (counts.original, counts.shuffled) if counts else (always_passed, always_passed)
    return {
        "id": test,
        "project": project,
        **dict(zip(COUNT_COLUMNS, (*original, *shuffled), strict=True)),
        "polluter": "",
        "cost_s": round(values["run_time_s"] or 0.0, 6),
        **values,
    }


def join_tables(work: Path, out: Path) -> str:
    """Add the measured tests to the table `out`; each project comes either from a hunt or from here.

    A hunt also names polluters, so a hunted project is replaced only if its hunt found no victim.
    """
    rows, pairs = unpack_table(out.read_bytes())
    with_victims = {pair.project for pair in pairs}
    measured_rows = []
    for path in sorted((work / "tables").glob("*/tests.csv")):
        if path.parent.name not in with_victims:
            with path.open(newline="", encoding="utf-8") as file:
                measured_rows += list(csv.DictReader(file))
    measured = {row["project"] for row in measured_rows}
    hunted_rows = [row for row in rows if row["polluter"] and row["project"] not in measured]
    all_rows = [*hunted_rows, *({name: row[name] for name in rows[0]} for row in measured_rows)]
    out.write_bytes(pack_table(all_rows, [asdict(pair) for pair in pairs]))
    return f"{len(hunted_rows)} hunted and {len(measured_rows)} measured tests: {out}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects on PyPI (default: those of the study)")
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and measurements")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--most", type=int, default=150, help="projects to try (default %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=7200, help="start no suite after this time (default %(default)s)"
    )
    parser.add_argument("--pause", type=Path, help="start nothing while this file exists")
    parser.add_argument("--calls", action="store_true", help="trace the measured suites")
    parser.add_argument("--join", action="store_true", help="only join the tables that exist")
    parser.add_argument("--out", type=Path, default=OUT, help="the table (default %(default)s)")
    options = parser.parse_args()
    work = options.work.resolve()
    if options.join:
        print(join_tables(work, options.out))
        return
    work.mkdir(parents=True, exist_ok=True)
    labels = labels_by_project(options.data)
    measured = {path.parent.name for path in (work / "tables").glob("*/tests.csv")}
    if options.calls:
        done = {path.parent.name for path in (work / "tables").glob("*/calls.csv")}
        names, action = sorted(measured), trace_suite
    else:
        done, action = measured | skipped_suites(work), measure_suite
        names = options.names or projects_of_study()[: options.most]

    def step(suite: Suite) -> str:
        return action(suite, labels[suite.name], work)

    with serve_index_before(STUDY_DATE) as index:
        maker = SuiteMaker(work, index, options.pause)
        suites = [(name, partial(maker.sdist, name)) for name in names if name not in done and name in labels]
        process_suites(suites, step, work, options.seconds, options.pause)


if __name__ == "__main__":
    main()
