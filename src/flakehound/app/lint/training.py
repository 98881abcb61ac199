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
from flakehound.app.progress import SILENT, Progress
from flakehound.app.sessions.default_paths import DEFAULT_STORE, current_folder
from flakehound.core.errors import same_command
from flakehound.core.outcomes import NodeId
from flakehound.learn.static.fit import Sample, fit_static_model
from flakehound.learn.static.model import KINDS, StaticModel, to_json
from flakehound.learn.static.table import VERSION, digest_of, shipped_bytes, shipped_samples, training_table
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.problems import OutcomeCounts
from flakehound.report.formatting import counted
from flakehound.store.folder import create_folder

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


def train_model(options: TrainOptions, progress: Progress = SILENT) -> str:
    """Train a model and write it to its file; returns a summary for the user."""
    own = _read_own_data(options, progress)
    packed = shipped_bytes() if options.with_default else b""
    samples = [*(shipped_samples(packed) if packed else ()), *own.samples]
    progress.message(f"fitting a model to {counted(len(samples), 'test')} ...")
    model = _fit(samples, digest_of(packed, *own.contents), options)
    out = options.out or current_folder() / PROJECT_MODEL
    with suppress(OSError):  # the write below reports the error
        create_folder(out.parent)
    write_output(out, to_json(model), "out")
    return "\n".join(_summary(model, own, out, is_default_place=options.out is None))


def _read_own_data(options: TrainOptions, progress: Progress) -> _OwnData:
    own = _OwnData()
    stores = options.stores or (() if options.tables else (DEFAULT_STORE,))
    if stores:
        _add_stores(own, stores, options, progress)
    for number, path in enumerate(options.tables):
        progress.show_steps("reading tables", number, len(options.tables))
        with open_table(path) as reader:
            own.add(str(path), reader.fieldnames or (), list(reader))
        own.contents.append(path.read_bytes())
    return own


def _fit(samples: Sequence[Sample], digest: str, options: TrainOptions) -> StaticModel:
    try:
        return fit_static_model(samples, digest, own_weight=options.weight)
    except UnusableData as problem:
        raise UnusableData(problem.what, remedy=same_command(without_default=None)) from problem


def _add_stores(own: _OwnData, stores: Sequence[Path], options: TrainOptions, progress: Progress) -> None:
    rows = list(_rows(stores, options.least_runs, own.left_out, progress))
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


def _rows(stores: Sequence[Path], least_runs: int, left_out: Counter[str], progress: Progress) -> Iterator[Row]:
    """One row for each test function: its kind by the outcomes in the stores, and the inputs of the model."""
    progress.show_steps("reading stores", 0, len(stores))
    recorded, rootdirs = read_recorded_tests(stores)
    projects = _records_by_function(recorded)
    progress.message(
        f"{counted(len(recorded), 'test')} of {counted(len(projects), 'project')}, reading their source ..."
    )
    for project, functions in projects.items():
        folder = _source_folder(project, rootdirs[project])
        inputs = _inputs_by_test(folder, progress) if folder is not None else {}
        for test_id, records in functions.items():
            if test_id not in inputs:
                left_out["whose source is not at hand"] += 1
                continue
            labels = _labels(records, least_runs)
            if labels is None:
                left_out[f"that never flaked in fewer than {least_runs} runs"] += 1
            kinds: Row = {kind: labels[kind] if labels else "" for kind in KINDS}
            yield {"version": VERSION, "id": test_id, "project": project, **kinds, **inputs[test_id]}


def _records_by_function(
    recorded: Mapping[tuple[str, NodeId], RecordedTest],
) -> dict[str, dict[str, list[RecordedTest]]]:
    """Project -> id of the test function -> the records of its parameters."""
    projects: dict[str, dict[str, list[RecordedTest]]] = {}
    for (project, test_id), record in recorded.items():
        projects.setdefault(project, {}).setdefault(test_id.partition("[")[0], []).append(record)
    return projects


def _source_folder(project: str, rootdir: str) -> Path | None:
    """The folder of a hunted project; the current folder if that is gone and the name is the same."""
    here = current_folder()
    if os.path.isdir(rootdir):
        return Path(rootdir)
    return here if here.name == project else None


def _inputs_by_test(folder: Path, progress: Progress) -> dict[str, dict[str, float | None]]:
    """The inputs of the model for each test in a folder, by test id."""
    cases = all_cases(analyse_project((), cwd=folder, progress=progress))
    return {case.row.test_id: model_inputs(case, case.findings) for case in cases}


def _labels(records: Sequence[RecordedTest], least_runs: int) -> dict[str, int] | None:
    """The kind of a test function, which is flaky if it is with some parameters; None if it ran too rarely."""
    outcomes = [
        OutcomeCounts(
            original_runs=record.counts["original_passed"] + record.counts["original_failed"],
            original_failed=record.counts["original_failed"],
            shuffled_runs=record.counts["shuffled_passed"] + record.counts["shuffled_failed"],
            shuffled_failed=record.counts["shuffled_failed"],
        )
        for record in records
    ]
    is_nod = any(bool(counts.is_nod) for counts in outcomes)
    is_victim = not is_nod and any(bool(counts.is_victim) for counts in outcomes)
    runs = max(counts.original_runs + counts.shuffled_runs for counts in outcomes)
    if not is_nod and not is_victim and runs < least_runs:
        return None
    return {"nod": int(is_nod), "order_dependent": int(is_victim)}


def _summary(model: StaticModel, own: _OwnData, out: Path, *, is_default_place: bool) -> Iterator[str]:
    data = model.trained_on
    flaky = [sample for sample in own.samples if sample.nod or sample.order_dependent]
    yours = f"{counted(data.own_tests, 'test')} of {counted(data.own_projects, 'project')}"
    yield f"Learned from {yours} of yours, {len(flaky)} of them flaky, and {data.tests - data.own_tests} others."
    for why, number in sorted(own.left_out.items()):
        yield f"Left out: {counted(number, 'test')} {why}."
    yield f"Model: {out}"
    if is_default_place:
        yield "From now on it scores: flakehound lint"
