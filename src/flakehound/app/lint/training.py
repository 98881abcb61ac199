"""Train a model on a team's own tests and the default data."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flakehound.app.data.export import RecordedTest, read_recorded_tests, table_text
from flakehound.app.data.tables import open_table
from flakehound.app.lint.model_file import PROJECT_MODEL
from flakehound.app.lint.run import all_cases, analyse_project
from flakehound.app.lint.scoring import model_inputs
from flakehound.app.output_files import write_output
from flakehound.app.sessions.default_paths import DEFAULT_STORE, current_folder
from flakehound.core.errors import same_command
from flakehound.learn.static.fit import Sample, fit_static_model
from flakehound.learn.static.model import KINDS, StaticModel, as_text
from flakehound.learn.static.table import VERSION, digest_of, shipped_bytes, shipped_samples, training_table
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.problems import OutcomeCounts
from flakehound.report.formatting import counted

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """Validated options of one `flakehound train`."""

    stores: tuple[Path, ...]
    tables: tuple[Path, ...]  # CSV files that `--rows` of another training wrote
    out: Path | None  # the model's file; None: where lint looks for it
    rows: Path | None  # where to write the training data of the stores as a table
    least_runs: int  # tests that never flaked in fewer runs are left out
    weight: float  # of each of the user's projects; one project of the default data has weight 1
    with_default: bool  # whether to train on the default data, too


@dataclass(slots=True)
class _OwnData:
    """The training data in the stores and tables that the user names."""

    samples: list[Sample] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)  # hashed to identify the data
    left_out: Counter[str] = field(default_factory=Counter)  # reason -> number of tests

    def add(self, name: str, header: Sequence[str], rows: Sequence[Mapping[str, str]]) -> None:
        table = training_table(name, header, rows, own=True)
        self.samples += table.samples
        self.left_out += table.left_out


def train_model(options: TrainOptions) -> str:
    """Train a model and write it to its file; returns a summary for the user."""
    own = _OwnData()
    stores = options.stores or (() if options.tables else (DEFAULT_STORE,))
    if stores:
        _add_stores(own, stores, options)
    for path in options.tables:
        with open_table(path) as reader:
            own.add(str(path), reader.fieldnames or (), list(reader))
        own.contents.append(path.read_bytes())
    packed = shipped_bytes() if options.with_default else b""
    samples = [*(shipped_samples(packed) if packed else ()), *own.samples]
    model = _fit(samples, digest_of(packed, *own.contents), options)
    out = options.out or current_folder() / PROJECT_MODEL
    with suppress(OSError):  # the write below reports the error
        out.parent.mkdir(parents=True, exist_ok=True)
    write_output(out, as_text(model), "out")
    return "\n".join(_summary(model, own, out, is_default_place=options.out is None))


def _fit(samples: Sequence[Sample], digest: str, options: TrainOptions) -> StaticModel:
    try:
        return fit_static_model(samples, digest, own_weight=options.weight)
    except UnusableData as problem:
        raise UnusableData(problem.what, remedy=same_command(without_default=None)) from problem


def _add_stores(own: _OwnData, stores: Sequence[Path], options: TrainOptions) -> None:
    rows = list(_rows(stores, options.least_runs, own.left_out))
    if not any(row[kind] != "" for row in rows for kind in KINDS):
        reasons = "; ".join(f"{number} {why}" for why, number in sorted(own.left_out.items()))
        raise UnusableData(
            "the stores hold no test to learn from",
            detail=reasons and f"left out: {reasons}",
            remedy="flakehound hunt",
        )
    text = table_text(list(rows[0]), rows)
    write_output(options.rows, text, "rows")
    # Read back like a table, so a store and the table written from it give the same model.
    reader = csv.DictReader(io.StringIO(text, newline=""))
    own.add("the stores", reader.fieldnames or (), list(reader))
    own.contents.append(text.encode())


def _rows(stores: Sequence[Path], least_runs: int, left_out: Counter[str]) -> Iterator[Row]:
    """One row per test function: what the stores saw of it, and what lint reads in it."""
    known, rootdirs = read_recorded_tests(stores)
    seen: dict[tuple[str, str], list[RecordedTest]] = {}
    for (project, case), one in known.items():
        seen.setdefault((project, case.partition("[")[0]), []).append(one)
    for project in dict.fromkeys(project for project, _test in seen):
        folder = _source_of(project, rootdirs[project])
        read = _read(folder) if folder is not None else {}
        for (_project, test), several in ((key, one) for key, one in seen.items() if key[0] == project):
            labels = _labels(several, least_runs)
            if test not in read:
                left_out["whose source is not at hand"] += 1
            else:
                if labels is None:
                    left_out[f"that never flaked in fewer than {least_runs} runs"] += 1
                kinds: Row = {kind: labels[kind] if labels else "" for kind in KINDS}
                yield {"version": VERSION, "id": test, "project": project, **kinds, **read[test]}


def _source_of(project: str, rootdir: str) -> Path | None:
    """Where the tests of a hunt are; in the current folder if it has the name of one that is gone."""
    here = current_folder()
    if os.path.isdir(rootdir):
        return Path(rootdir)
    return here if here.name == project else None


def _read(folder: Path) -> dict[str, dict[str, float | None]]:
    cases = all_cases(analyse_project((), cwd=folder))
    return {case.row.test_id: model_inputs(case, case.findings) for case in cases}


def _labels(several: Sequence[RecordedTest], least_runs: int) -> dict[str, int] | None:
    """A function is flaky if it is with one of its parameters; None where too little is known."""
    found = [
        OutcomeCounts(
            original_runs=one.counts["original_passed"] + one.counts["original_failed"],
            original_failed=one.counts["original_failed"],
            shuffled_runs=one.counts["shuffled_passed"] + one.counts["shuffled_failed"],
            shuffled_failed=one.counts["shuffled_failed"],
        )
        for one in several
    ]
    nod = any(bool(one.is_nod) for one in found)
    victim = not nod and any(bool(one.is_victim) for one in found)
    runs = max(one.original_runs + one.shuffled_runs for one in found)
    if not nod and not victim and runs < least_runs:
        return None
    return {"nod": int(nod), "order_dependent": int(victim)}


def _summary(model: StaticModel, own: _OwnData, out: Path, *, is_default_place: bool) -> Iterator[str]:
    seen = model.trained_on
    flaky = [sample for sample in own.samples if sample.nod or sample.order_dependent]
    yours = f"{counted(seen.own_tests, 'test')} of {counted(seen.own_projects, 'project')}"
    yield f"Learned from {yours} of yours, {len(flaky)} of them flaky, and {seen.tests - seen.own_tests} others."
    for why, number in sorted(own.left_out.items()):
        yield f"Left out: {counted(number, 'test')} {why}."
    yield f"Model: {out}"
    if is_default_place:
        yield "From now on it scores: flakehound lint"
