"""`flakehound study models`: how well pipelines predict flaky tests, in random folds and in unseen projects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from flakehound.app.data.tables import read_table
from flakehound.app.progress import Progress
from flakehound.app.studies.published import EXPERIMENTS, PublishedExperiment, published_tests
from flakehound.app.studies.steps import Answer, StudyJournal, StudyStep, run_steps
from flakehound.core.errors import UsageError, same_command
from flakehound.learn.evaluation.comparison import pipeline_overlaps, pipeline_ranks
from flakehound.learn.evaluation.model_choice import ChoiceRule
from flakehound.learn.evaluation.unseen_projects import UnseenProjects
from flakehound.learn.extras import requires_libraries
from flakehound.learn.models.pipelines import Pipeline, cannier_pipelines, static_pipelines
from flakehound.learn.models.validation import BY_CHANCE, BY_PROJECT, Predictions, cross_validate, figures_of
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.checking import learning_obstacle
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.mean_features import check_same_tests, mean_features
from flakehound.learn.tables.problems import Problem
from flakehound.report.study.models import ModelRow, ModelStudy, PipelineComparison

SCHEMA = "flakehound/study-models/1"
SPLITS = (BY_CHANCE, BY_PROJECT)
_PROGRESS_FIGURES = ("f1", "mcc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStudyOptions:
    """The options of `flakehound study models`."""

    published: bool  # repeat the published experiments; then `tables` is empty
    tables: tuple[Path, ...]
    columns: str | None
    problems: tuple[str, ...]
    pipelines: str
    splits: tuple[str, ...]  # empty: both
    repeats: int
    samples: int
    draws: int
    seed: int
    jobs: int
    journal: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row of the result, and its steps: one per repeat."""

    title: str
    split: str
    paper: str  # published figures; empty: not published
    steps: tuple[StudyStep, ...]
    tests: str  # rows with the same tests and the same split are compared
    name: str  # in the comparison


@requires_libraries("numpy", "sklearn", "imblearn", "scipy")
def run_model_study(options: ModelStudyOptions, progress: Progress) -> ModelStudy:
    """The figures as `flakehound/study-models/1`."""
    if options.published == bool(options.tables):
        raise UsageError(
            "either --published or the name of a table" + (", not both" if options.published else " is needed"),
            remedy=same_command(published=True, tables=None),
        )
    journal = StudyJournal(path=options.journal)
    journal.read()
    notes: list[str] = []
    rows = list(_table_rows(options, notes) if options.tables else _published_rows(options))
    steps = [step for row in rows for step in row.steps]
    answers = run_steps(steps, journal, jobs=options.jobs, describe=_main_figures, progress=progress)
    return {
        "schema": SCHEMA,
        "seed": options.seed,
        "repeats": options.repeats,
        "notes": notes,
        "rows": [_row_figures(row, answers) for row in rows],
        "comparisons": list(_comparisons(rows, answers)),
    }


def _row_figures(row: _Row, answers: Mapping[str, Answer]) -> ModelRow:
    repeats = [answers[step.key] for step in row.steps]
    return {"title": row.title, "split": row.split, "paper": row.paper, "repeats": repeats}


def _comparisons(rows: Sequence[_Row], answers: Mapping[str, Answer]) -> Iterator[PipelineComparison]:
    groups: dict[tuple[str, str], dict[str, list[Answer]]] = {}
    for row in rows:
        repeats = groups.setdefault((row.tests, row.split), {})
        repeats[row.name] = [answers[step.key] for step in row.steps]
    for (tests, split), repeats in groups.items():
        if len(repeats) > 1:
            ranks, overlap = pipeline_ranks(repeats), pipeline_overlaps(repeats)
            yield {"tests": tests, "split": split, "ranks": ranks, "overlap": overlap}


def _main_figures(key: str, answer: Answer) -> str:
    return f"{key}: " + ", ".join(f"{name} {answer[name]}" for name in _PROGRESS_FIGURES)


def _published_rows(options: ModelStudyOptions) -> Iterator[_Row]:
    for experiment in EXPERIMENTS:
        published_tests(experiment.tests)  # raises the error for missing tables before any step runs
        for split in experiment.splits:
            if split in (options.splits or SPLITS):
                repeats = options.repeats if experiment.pipeline else 1  # the other model has nothing random
                yield _Row(
                    title=experiment.title,
                    split=split,
                    paper=experiment.paper,
                    steps=tuple(_published_step(experiment, split, options.seed, n) for n in range(repeats)),
                    tests=experiment.title.partition(", ")[0] if experiment.compared else experiment.title,
                    name=experiment.title.partition(", ")[2],
                )


def _published_step(experiment: PublishedExperiment, split: str, seed: int, repeat: int) -> StudyStep:
    work = partial(_published_answer, experiment, split, seed, repeat)
    return StudyStep(key=f"{experiment.title}, {split}, seed {seed}, repeat {repeat}", work=work)


def _published_answer(experiment: PublishedExperiment, split: str, seed: int, repeat: int) -> Answer:
    data = published_tests(experiment.tests)
    if experiment.pipeline is None:
        return unseen_answer(data, experiment.inputs, experiment.rules)
    predictions = cross_validate(
        data, Problem.LABELLED, experiment.pipeline, split=split, seed=seed, repeat=repeat
    )
    return figures_of(predictions)


def unseen_answer(data: Dataset, inputs: tuple[str, ...], rules: tuple[ChoiceRule, ...]) -> Answer:
    """Figures of the model for unseen projects, and the model chosen for each project."""
    labels = data.labels(Problem.LABELLED)
    unseen = UnseenProjects(data=data, positive=labels.positive, inputs=inputs, rules=rules).predict()
    predictions = Predictions(
        labels=labels, projects=data.projects, probability=unseen.probability, predicted=unseen.predicted
    )
    chosen = [
        {
            "project": choice.project,
            "rule": choice.rule,
            "model": choice.candidate.name,
            "threshold": round(choice.threshold, 4),
        }
        for choice in unseen.choices
    ]
    return {**figures_of(predictions), "chosen": chosen}


def _table_rows(options: ModelStudyOptions, notes: list[str]) -> Iterator[_Row]:
    tables = _tables(options.tables, options.columns)
    check_same_tests(tables)
    notes += [f"left out: {exclusion.rows} rows {exclusion.why}" for exclusion in tables[0].exclusions]
    problems = list(_problems(tables[0], options.problems, notes))
    if not problems:
        raise UnusableData(f"nothing can be learned from {tables[0].name!r}", detail="\n".join(notes))
    if not tables[0].features:
        raise UnusableData(f"{tables[0].name!r} has no features")
    for problem in problems:
        for pipeline in _pipelines(options):
            for split in options.splits or SPLITS:
                yield _Row(
                    title=f"{problem.value}, {pipeline.name}",
                    split=split,
                    paper="",
                    steps=tuple(_table_steps(options, problem, pipeline, split)),
                    tests=problem.value,
                    name=pipeline.name,
                )


def _problems(data: Dataset, requested: Sequence[str], notes: list[str]) -> Iterator[Problem]:
    """The requested problems that can be learned; without a request, all of them."""
    for problem in Problem:
        if requested and problem.value not in requested:
            continue
        obstacle = learning_obstacle(data, problem)
        if obstacle:
            notes.append(f"{problem.value} cannot be learned: {obstacle}")
        else:
            yield problem


def _pipelines(options: ModelStudyOptions) -> Sequence[Pipeline]:
    """The pipelines that the user named one by one, or by the name of a study."""
    by_study = {"cannier": cannier_pipelines(), "static": static_pipelines(options.draws)}
    by_name = {pipeline.name: pipeline for pipelines in by_study.values() for pipeline in pipelines}
    chosen: dict[str, Pipeline] = {}
    for word in options.pipelines.split(","):
        if word not in by_study and word not in by_name:
            raise UsageError(
                f"{word!r} is not a pipeline; examples: random-forest-100/smote, svm/adasyn",
                remedy=same_command(pipelines="random-forest-100/smote"),
            )
        chosen |= {pipeline.name: pipeline for pipeline in by_study.get(word) or (by_name[word],)}
    return list(chosen.values())


def _table_steps(
    options: ModelStudyOptions, problem: Problem, pipeline: Pipeline, split: str
) -> Iterator[StudyStep]:
    for repeat in range(options.repeats):
        words = (problem.value, pipeline.name, f"{pipeline.draws} draws", split, f"{options.samples} samples")
        names = " ".join(path.name for path in options.tables)
        yield StudyStep(
            key=f"{names}: {', '.join(words)}, seed {options.seed}, repeat {repeat}",
            work=partial(_table_answer, options, problem, pipeline, split, repeat),
        )


def _table_answer(
    options: ModelStudyOptions, problem: Problem, pipeline: Pipeline, split: str, repeat: int
) -> Answer:
    tables = _tables(options.tables, options.columns)
    data = mean_features(tables, options.samples, seed_for(options.seed, "samples", repeat))
    return figures_of(cross_validate(data, problem, pipeline, split=split, seed=options.seed, repeat=repeat))


@cache
def _tables(paths: tuple[Path, ...], columns: str | None) -> tuple[Dataset, ...]:
    return tuple(read_table(path, columns) for path in paths)
