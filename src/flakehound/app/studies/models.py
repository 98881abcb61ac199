"""Plan a study of models as steps, and gather what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from flakehound.app.data.tables import read_table
from flakehound.app.studies.published import EXPERIMENTS, Experiment, tests_named
from flakehound.app.studies.steps import Answer, Journal, Step, carried_out
from flakehound.core.errors import UsageError, same_command
from flakehound.learn.evaluation.comparison import compared
from flakehound.learn.evaluation.model_choice import Rule
from flakehound.learn.evaluation.unseen_projects import Unseen
from flakehound.learn.extras import requires_libraries
from flakehound.learn.models.pipelines import Pipeline, cannier_pipelines, static_pipelines
from flakehound.learn.models.validation import Predicted, cross_validated, figures_of
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.checking import hindrance
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.mean_features import check_same_tests, mean_features
from flakehound.learn.tables.problems import Problem

SCHEMA = "flakehound/study-models/1"
_SHOWN = ("f1", "mcc")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWishes:
    """The options of `flakehound study models`."""

    tables: tuple[Path, ...]  # none: the published ones
    columns: str | None
    problems: tuple[str, ...]
    pipelines: str
    splits: tuple[str, ...]
    repeats: int
    samples: int
    draws: int
    seed: int
    jobs: int
    journal: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A row of the result: what it is called, and the steps it is the mean of."""

    head: Mapping[str, Any]
    steps: tuple[Step, ...]
    tests: str  # rows of the same tests and the same split are compared
    name: str  # in such a comparison


@requires_libraries("numpy", "sklearn", "imblearn", "scipy")
def studied(wishes: ModelWishes) -> dict[str, Any]:
    """The figures as `flakehound/study-models/1`."""
    journal = Journal(path=wishes.journal)
    journal.read()
    notes: list[str] = []
    rows = list(_table_rows(wishes, notes) if wishes.tables else _published_rows(wishes))
    steps = [step for row in rows for step in row.steps]
    answers = carried_out(steps, journal, jobs=wishes.jobs, say=_said)
    return {
        "schema": SCHEMA,
        "seed": wishes.seed,
        "repeats": wishes.repeats,
        "notes": notes,
        "rows": [{**row.head, "repeats": [answers[step.key] for step in row.steps]} for row in rows],
        "comparisons": list(_comparisons(rows, answers)),
    }


def _comparisons(rows: Sequence[_Row], answers: Mapping[str, Answer]) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[str, str], dict[str, list[Answer]]] = {}
    for row in rows:
        several = groups.setdefault((row.tests, row.head["split"]), {})
        several[row.name] = [answers[step.key] for step in row.steps]
    for (tests, split), several in groups.items():
        if len(several) > 1:
            yield {"tests": tests, "split": split, **compared(several)}


def _said(key: str, answer: Answer) -> str:
    return f"{key}: " + ", ".join(f"{name} {answer[name]}" for name in _SHOWN)


def _published_rows(wishes: ModelWishes) -> Iterator[_Row]:
    for experiment in EXPERIMENTS:
        tests_named(experiment.tests)  # an error now, where the tables are not at hand
        for split in experiment.splits:
            if split in wishes.splits:
                repeats = wishes.repeats if experiment.pipeline else 1  # nothing of the other one is random
                yield _Row(
                    head={"title": experiment.title, "split": split, "paper": experiment.paper},
                    steps=tuple(_published_step(experiment, split, wishes.seed, n) for n in range(repeats)),
                    tests=experiment.title.partition(", ")[0] if experiment.compared else experiment.title,
                    name=experiment.title.partition(", ")[2],
                )


def _published_step(experiment: Experiment, split: str, seed: int, repeat: int) -> Step:
    work = partial(_published_answer, experiment, split, seed, repeat)
    return Step(key=f"{experiment.title}, {split}, seed {seed}, repeat {repeat}", work=work)


def _published_answer(experiment: Experiment, split: str, seed: int, repeat: int) -> Answer:
    data = tests_named(experiment.tests)
    if experiment.pipeline is None:
        return unseen_answer(data, experiment.reads, experiment.rules)
    found = cross_validated(data, Problem.LABELLED, experiment.pipeline, split=split, seed=seed, repeat=repeat)
    return figures_of(found)


def unseen_answer(data: Dataset, reads: tuple[str, ...], rules: tuple[Rule, ...]) -> Answer:
    """Figures of the model for unseen projects, and what was chosen for each project."""
    labels = data.labels(Problem.LABELLED)
    probability, said, choices = Unseen(data=data, positive=labels.positive, reads=reads, rules=rules).predicted()
    predicted = Predicted(labels=labels, projects=data.projects, probability=probability, said=said)
    chosen = [
        {
            "project": one.project,
            "rule": one.rule,
            "model": one.candidate.name,
            "threshold": round(one.threshold, 4),
        }
        for one in choices
    ]
    return {**figures_of(predicted), "chosen": chosen}


def _table_rows(wishes: ModelWishes, notes: list[str]) -> Iterator[_Row]:
    tables = _tables(wishes.tables, wishes.columns)
    check_same_tests(tables)
    notes += [f"left out: {one.rows} rows {one.why}" for one in tables[0].exclusions]
    problems = list(_problems(tables[0], wishes.problems, notes))
    if not problems:
        raise UnusableData(f"nothing can be learned from {tables[0].name!r}", detail="\n".join(notes))
    if not tables[0].features:
        raise UnusableData(f"{tables[0].name!r} has no features")
    for problem in problems:
        for pipeline in _pipelines(wishes):
            for split in wishes.splits:
                head = {"title": f"{problem.value}, {pipeline.name}", "split": split, "paper": ""}
                steps = tuple(_table_steps(wishes, problem, pipeline, split))
                yield _Row(head=head, steps=steps, tests=problem.value, name=pipeline.name)


def _problems(data: Dataset, wanted: Sequence[str], notes: list[str]) -> Iterator[Problem]:
    for problem in Problem:
        if wanted and problem.value not in wanted:
            continue
        trouble = hindrance(data, problem)
        if trouble:
            notes.append(f"{problem.value} cannot be learned: {trouble}")
        else:
            yield problem


def _pipelines(wishes: ModelWishes) -> Sequence[Pipeline]:
    every = {"cannier": cannier_pipelines(), "static": static_pipelines(wishes.draws)}
    known = {one.name: one for several in every.values() for one in several}
    found: dict[str, Pipeline] = {}
    for word in wishes.pipelines.split(","):
        if word not in every and word not in known:
            raise UsageError(
                f"{word!r} is no pipeline: they are called like random-forest-100/smote and svm/adasyn",
                remedy=same_command(pipelines="random-forest-100/smote"),
            )
        found |= {one.name: one for one in every.get(word) or (known[word],)}
    return list(found.values())


def _table_steps(wishes: ModelWishes, problem: Problem, pipeline: Pipeline, split: str) -> Iterator[Step]:
    for repeat in range(wishes.repeats):
        words = (problem.value, pipeline.name, f"{pipeline.draws} draws", split, f"{wishes.samples} samples")
        names = " ".join(path.name for path in wishes.tables)
        yield Step(
            key=f"{names}: {', '.join(words)}, seed {wishes.seed}, repeat {repeat}",
            work=partial(_table_answer, wishes, problem, pipeline, split, repeat),
        )


def _table_answer(wishes: ModelWishes, problem: Problem, pipeline: Pipeline, split: str, repeat: int) -> Answer:
    tables = _tables(wishes.tables, wishes.columns)
    data = mean_features(tables, wishes.samples, seed_for(wishes.seed, "samples", repeat))
    return figures_of(cross_validated(data, problem, pipeline, split=split, seed=wishes.seed, repeat=repeat))


@cache
def _tables(paths: tuple[Path, ...], columns: str | None) -> tuple[Dataset, ...]:
    return tuple(read_table(path, columns) for path in paths)
