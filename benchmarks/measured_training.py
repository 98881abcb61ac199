"""Add to the table of measured tests: features that our runs measure, labels that Gruber et al. (2021) saw.

`cannier_training.py` hunts, so its labels are what a few dozen runs here could see. NOD tests fail too seldom for
that. The study ran every test 200 times in one order and 200 times in others; here the same tests are only
measured, in three runs. Projects with NOD tests come first, then those with order-dependent ones. Sdists and
packages are of the study's time. A test counts where it passed in all three runs: one that the network or a
missing program breaks is not the test that the study ran. A project counts where at least one of its flaky tests
does. Of polluters the study says nothing, so that their column is empty.

    python benchmarks/measured_training.py --work DIR [--most 150] [--seconds 7200] [NAME ...]
    python benchmarks/measured_training.py --work DIR --calls     then trace once what was measured
    python benchmarks/measured_training.py --work DIR --join      add what was measured to the table we ship
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

from cannier_training import (
    DAY,
    OUT,
    Maker,
    Skipped,
    Suite,
    clean_environment,
    collected,
    run,
    skipped_before,
)
from index_of_day import index_before
from lint_recall import DATA, Key, key_of, table
from running import own_environment

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
MEASURE_S = 240.0  # limit
RUNS = 200  # of the study, in either way


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the study saw of one flaky test."""

    original: tuple[int, int]  # passed, failed
    shuffled: tuple[int, int]
    infrastructure: bool


Labels = Mapping[tuple[Key, str], Seen]  # by file, class, function and parameters


def labels(data: Path) -> dict[str, Labels]:
    """By project."""
    found: dict[str, dict[tuple[Key, str], Seen]] = {}
    for row in table(data, "python_flaky"):
        seen = Seen(
            original=_counts(row, "sameOrder"),
            shuffled=_counts(row, "randomOrder"),
            infrastructure=row["Flaky_Infrastructure"] == "True",
        )
        found.setdefault(row["Project_Name"], {})[key_of(row), row["Test_parametrization"]] = seen
    return found


def _counts(row: Mapping[str, str], order: str) -> tuple[int, int]:
    return int(row[f"Passed_{order}"] or 0), int(row[f"Failed_{order}"] or 0) + int(row[f"Error_{order}"] or 0)


def projects() -> list[str]:
    """Those whose sdist ships a flaky test, those with NOD tests first, the most first."""
    nod, dependent = Counter[str](), Counter[str]()
    for sample in shipped_samples(shipped_bytes()):
        nod[sample.project] += sample.nod
        dependent[sample.project] += sample.order_dependent
    return sorted(nod, key=lambda name: (-nod[name], -dependent[name], name))


def name_in_study(test: NodeId) -> tuple[Key, str]:
    """How the study would name a test of ours."""
    inner, bracket, parameters = test.partition("[")
    path, *classes, last = inner.split("::")
    return (path, classes[-1] if classes else "", last), bracket + parameters


def measured(suite: Suite, known: Labels, work: Path) -> str:
    """Measure in a fresh copy and write its rows; gives a sentence on them."""
    place = work / "tables" / suite.name
    rows = list(_rows(suite.name, _ran("features", suite, known, work), known))
    if not any(row["original_failed"] or row["shuffled_failed"] for row in rows):
        raise Skipped(f"none of its flaky tests passes here; {len(rows)} others do")
    with (place / "tests.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*TEST_COLUMNS, *FEATURES])
        writer.writeheader()
        writer.writerows(rows)
    nod = [bool(row["original_failed"] and row["original_passed"]) for row in rows]
    dependent = sum(bool(row["shuffled_failed"]) and not one for row, one in zip(rows, nod, strict=True))
    return f"{len(rows)} tests, {sum(nod)} NOD, {dependent} order-dependent"


def traced(suite: Suite, known: Labels, work: Path) -> str:
    """Trace in a fresh copy and write which tests call a characteristic function; gives a sentence on them."""
    found: dict[NodeId, bool] = {}
    with Store.open(_ran("calls", suite, known, work), create=False) as store:
        for session in store.sessions():
            for record in store.traced_records(session.id or 0):
                for at, trace in record.calls.items():
                    found[record.order[at]] = bool(likely_causes([trace], default_functions()))
    with (work / "tables" / suite.name / "calls.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "calls"), *((test, int(calls)) for test, calls in found.items())])
    return f"{len(found)} tests, {sum(found.values())} of which call a characteristic function"


def _ran(command: str, suite: Suite, known: Labels, work: Path) -> Path:
    """The store after a command of ours in a fresh copy of a suite."""
    place, trees = work / "tables" / suite.name, work / "trees" / suite.name
    shutil.rmtree(trees, ignore_errors=True)
    place.mkdir(parents=True, exist_ok=True)
    tree, home = trees / suite.name, trees / "home"
    home.mkdir(parents=True)
    shutil.copytree(suite.tree, tree, symlinks=True)
    env = {**clean_environment(), **suite.env, "HOME": str(home)}
    ours = {**own_environment({}), **env, "PYTHONPATH": own_environment({})["PYTHONPATH"]}
    store = place / f"{command}.db"
    store.unlink(missing_ok=True)
    words = [command, "-q", "--jobs", "1", "--seed", "1", "--python", suite.python, "--store", str(store)]
    wanted = (*suite.pytest_args, "--continue-on-collection-errors", *_files(tree, known))
    done = run([sys.executable, "-m", "flakehound", *words, "--", *wanted], MEASURE_S, cwd=tree, env=ours)
    shutil.rmtree(trees, ignore_errors=True)
    if not store.exists():
        raise Skipped(f"{command}: {(done.stdout.strip() or str(done.returncode)).splitlines()[0][:160]}")
    return store


def _files(tree: Path, known: Labels) -> list[str]:
    """What pytest collects by itself, and the files that the study names, whatever the project's patterns are."""
    named = {key[0] for key, _parameters in known}
    odd = sorted(file for file in named if (tree / file).is_file() and not Path(file).name.startswith("test_"))
    return [".", *odd] if odd else []


def _rows(project: str, store_path: Path, known: Labels) -> Iterator[dict[str, object]]:
    with Store.open(store_path, create=False) as store:
        for session in store.sessions():
            assert session.id is not None
            looks = stored_runs(store, session.id).observations
            passed = Counter[NodeId]()
            for record in looks:
                passed.update(test for _place, test, outcome in record if outcome is Outcome.PASSED)
            order = store.suite(session.id).order
            for vector in mean_vectors(order, looks, store.source_features(session.id)):
                values = {name: vector.values[name] for name in FEATURES}
                seen = known.get(name_in_study(vector.id))
                if vector.runs < 1 or passed[vector.id] < vector.runs or None in values.values():
                    continue
                if seen is None or not seen.infrastructure:
                    yield _row(project, vector.id, seen, values)


def _row(project: str, test: NodeId, seen: Seen | None, values: Mapping[str, float | None]) -> dict[str, object]:
    original, shuffled = (seen.original, seen.shuffled) if seen else ((RUNS, 0), (RUNS, 0))
    counts = zip(COUNT_COLUMNS, (*original, *shuffled), strict=True)
    return {
        "id": test,
        "project": project,
        **dict(counts),
        "polluter": "",
        "cost_s": round(values["run_time_s"] or 0.0, 6),
        **values,
    }


def joined(work: Path, out: Path) -> str:
    """The hunted tests of the table as it is, and the measured ones; a project comes from one of them.

    Hunts know who pollutes whom, so a hunted project gives way only where its hunt named no victim.
    """
    rows, pairs = unpack_table(out.read_bytes())
    with_victims = {pair.project for pair in pairs}
    measured_rows = []
    for path in sorted((work / "tables").glob("*/tests.csv")):
        if path.parent.name not in with_victims:
            with path.open(newline="", encoding="utf-8") as file:
                measured_rows += list(csv.DictReader(file))
    taken = {row["project"] for row in measured_rows}
    hunted = [row for row in rows if row["polluter"] and row["project"] not in taken]
    every = [*hunted, *({name: row[name] for name in rows[0]} for row in measured_rows)]
    out.write_bytes(pack_table(every, [asdict(pair) for pair in pairs]))
    return f"{len(hunted)} hunted and {len(measured_rows)} measured tests: {out}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects on PyPI (default: those of the study)")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is fetched and measured")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--most", type=int, default=150, help="projects to try (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=7200, help="start no suite later (default %(default)s)")
    parser.add_argument("--pause", type=Path, help="start nothing while this file is there")
    parser.add_argument("--calls", action="store_true", help="trace the suites that were measured")
    parser.add_argument("--join", action="store_true", help="only join what was measured")
    parser.add_argument("--out", type=Path, default=OUT, help="the table (default %(default)s)")
    asked = parser.parse_args()
    work = asked.work.resolve()
    if asked.join:
        print(joined(work, asked.out))
        return
    work.mkdir(parents=True, exist_ok=True)
    known = labels(asked.data)
    there = {path.parent.name for path in (work / "tables").glob("*/tests.csv")}
    if asked.calls:
        done = {path.parent.name for path in (work / "tables").glob("*/calls.csv")}
        names, step = sorted(there), traced
    else:
        done, step = there | skipped_before(work), measured
        names = asked.names or projects()[: asked.most]
    with index_before(DAY) as index:
        maker = Maker(work, index, asked.pause)
        suites = [(name, partial(maker.sdist, name)) for name in names if name not in done and name in known]
        collected(suites, lambda suite: step(suite, known[suite.name], work), work, asked.seconds, asked.pause)


if __name__ == "__main__":
    main()
