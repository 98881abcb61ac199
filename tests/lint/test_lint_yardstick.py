"""The yardstick of lint is right: its figures match scikit-learn, and labels and splits are what they say."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture
def yardstick(monkeypatch):
    """The modules of the benchmarks, importable as they import each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import lint_corpus
    import lint_intervals
    import lint_labels

    yield lint_intervals, lint_labels, lint_corpus
    for name in [name for name, module in sys.modules.items() if _is_benchmark(module)]:
        del sys.modules[name]


def _is_benchmark(module) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(BENCHMARKS)


@pytest.fixture
def ranked(yardstick):
    intervals, _labels, _corpus = yardstick
    rng = np.random.default_rng(1)
    positive = rng.random(600) < 0.1
    return intervals.RankedTests(
        scores=np.round(rng.random(600) + 0.3 * positive, 1),
        positive=positive,
        project=rng.integers(0, 12, 600),
        projects=12,
    )


def test_the_pooled_auc_of_a_resample_is_that_of_its_tests(yardstick, ranked):
    intervals, _labels, _corpus = yardstick
    draws = intervals.Draws.of(12, 5, seed=3)

    figure = intervals.pooled_auc(draws, ranked, intervals.won_pairs(ranked))

    for weights, value in zip(draws.weights, figure.values, strict=True):
        rows = np.concatenate(
            [np.flatnonzero(ranked.project == p) for p in np.repeat(range(12), weights.astype(int))]
        )
        assert value == pytest.approx(roc_auc_score(ranked.positive[rows], ranked.scores[rows]))


def test_the_auc_within_projects_is_the_mean_over_projects_with_both_classes(yardstick, ranked):
    intervals, _labels, _corpus = yardstick

    figure = intervals.auc_within_projects(intervals.Draws.of(12, 1, 0), ranked, intervals.won_pairs(ranked))

    areas = [
        roc_auc_score(ranked.positive[rows], ranked.scores[rows])
        for rows in (ranked.project == number for number in range(12))
        if 0 < ranked.positive[rows].sum() < rows.sum()
    ]
    assert figure.estimate == pytest.approx(np.mean(areas))


def test_equal_scores_put_a_tenth_of_the_positives_into_the_top(yardstick):
    intervals, _labels, _corpus = yardstick
    tied = intervals.RankedTests(
        scores=np.zeros(20),
        positive=np.arange(20) < 10,
        project=np.zeros(20, dtype=int),
        projects=1,
    )

    assert intervals.positives_in_top(tied) == pytest.approx([1.0])


def test_the_more_important_of_two_labels_counts(yardstick):
    _intervals, labels, _corpus = yardstick
    project = labels.LabelledProject(name="a", index_name="A", split="design", before="2021")

    for label in (labels.INFRASTRUCTURE, labels.VICTIM, labels.OD):
        project.add(("test_a.py", "", "test_b"), label)

    assert project.labels == {("test_a.py", "", "test_b"): labels.VICTIM}


def test_a_label_is_found_in_an_sdist_of_a_part_of_its_repository(yardstick):
    _intervals, labels, _corpus = yardstick
    known = {("python/tests/test_a.py", "", "test_b"): "nod", ("deep/test_c.py", "", "test_d"): "nod"}

    found = labels.located(known, frozenset({"tests/test_a.py", "test_c.py"}))

    assert found == {("tests/test_a.py", "", "test_b"): "nod"}


def test_no_listed_project_is_in_two_splits(yardstick):
    _intervals, labels, corpus = yardstick
    projects = corpus.read_projects()

    assert len({project.project for project in projects}) == len(projects)
    assert {p.split for p in projects if labels.tuning_split(p.project) == labels.DESIGN} <= {"design", "report"}
    assert {p.split for p in projects if labels.tuning_split(p.project) == labels.CHOICE} <= {"choice", "report"}
