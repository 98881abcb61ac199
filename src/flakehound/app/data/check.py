"""`flakehound data check`: what a table contains, and what can be learned from it."""

from __future__ import annotations

from pathlib import Path

from flakehound.app.data.tables import read_table
from flakehound.learn.tables.checking import constant_features, learning_obstacle, positives_by_project
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem
from flakehound.report.study.tables import DatasetFacts, ProblemFacts


def check_table(table: Path, columns: str | None) -> DatasetFacts:
    """The facts about the table in a file: sizes, exclusions, constant features and problems."""
    data = read_table(table, columns)
    return DatasetFacts(
        name=data.name,
        tests=len(data),
        projects=len(set(data.projects)),
        features=len(data.features),
        exclusions={exclusion.why: exclusion.rows for exclusion in data.exclusions},
        constant=constant_features(data),
        problems=tuple(_problem_facts(data, problem) for problem in Problem),
    )


def _problem_facts(data: Dataset, problem: Problem) -> ProblemFacts:
    obstacle = learning_obstacle(data, problem)
    if obstacle:
        return ProblemFacts(name=problem.value, obstacle=obstacle)
    labels = data.labels(problem)
    by_project = positives_by_project(data, labels)
    return ProblemFacts(
        name=problem.value,
        obstacle="",
        tests=len(labels.domain),
        positive=int(labels.positive.sum()),
        projects=len(by_project),
        single=sum(times == 1 for times in by_project.values()),
    )
