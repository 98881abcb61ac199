"""Ranks and overlaps of pipelines, for predictions that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation import metric_statistics
from flakehound.learn.evaluation.comparison import pipeline_overlaps, pipeline_ranks


def figures(found, f1_by_project):
    """The figures of one repeat; each project has one positive test, or none if F1 is None."""
    projects = {name: {"tp": 0, "fn": int(f1 is not None), "f1": f1} for name, f1 in f1_by_project.items()}
    known = [f1 for f1 in f1_by_project.values() if f1 is not None]
    return {"f1": sum(known) / len(known), "projects": projects, "found": found}


REPEATS = {
    "good": [figures([1, 2, 3, 7], {"a": 0.9, "b": 0.8, "c": 0.7, "no positive test": None})],
    "fair": [figures([1, 2, 5], {"a": 0.8, "b": 0.7, "c": 0.7, "no positive test": None})],
    "bad": [figures([1], {"a": 0.1, "b": 0.2, "c": 0.3, "no positive test": None})],
}


def test_pipelines_are_ranked_over_the_projects_with_a_positive_test():
    ranks = pipeline_ranks(REPEATS)

    assert ranks["projects"] == 3
    assert [(pipeline["name"], pipeline["rank"]) for pipeline in ranks["pipelines"]] == [
        ("good", pytest.approx(3.5 / 3, abs=1e-4)),
        ("fair", pytest.approx(5.5 / 3, abs=1e-4)),
        ("bad", 3),
    ]
    assert [pipeline["top"] for pipeline in ranks["pipelines"]] == pytest.approx([1, 1 / 3, 0], abs=1e-4)
    assert [pipeline["as_good"] for pipeline in ranks["pipelines"]] == [True, True, True]


def test_an_overlap_has_the_shares_found_by_both_and_by_one_alone():
    overlap = pipeline_overlaps(REPEATS)

    first = overlap["pairs"][0]
    assert (first["first"], first["second"]) == ("good", "fair")
    assert [first[share] for share in ("both", "first_alone", "second_alone")] == pytest.approx([0.4, 0.4, 0.2])
    assert overlap["alone"] == pytest.approx({"good": 0.4, "fair": 0.2, "bad": 0})
    assert overlap["all"] == pytest.approx(0.2)


def test_repeats_are_averaged():
    two_repeats = {
        "one": [figures([1], {"a": 1.0, "b": 0.0}), figures([1, 2], {"a": 0.0, "b": 0.0})],
        "two": [figures([1], {"a": 0.4, "b": 0.1}), figures([1], {"a": 0.4, "b": 0.1})],
    }

    ranks, overlap = pipeline_ranks(two_repeats), pipeline_overlaps(two_repeats)

    assert [pipeline["name"] for pipeline in ranks["pipelines"]] == ["one", "two"]
    assert ranks["pipelines"][0]["rank"] == 1.5
    assert overlap["pairs"][0]["both"] == pytest.approx((1 + 0.5) / 2)


def test_pipelines_that_cannot_be_compared_have_no_ranks_or_overlaps():
    one_project = {"one": [figures([1], {"a": 1.0})], "two": [figures([1], {"a": 1.0})]}
    without_found = {
        name: [{key: value for key, value in one.items() if key != "found"}] for name, (one,) in REPEATS.items()
    }

    assert pipeline_ranks(one_project) is None
    assert pipeline_overlaps(without_found) is None
    assert pipeline_ranks(without_found)["projects"] == 3


@pytest.mark.parametrize("pipelines", [2, 3])
def test_equal_pipelines_have_no_p_value(pipelines):
    equal = {str(number): [figures([1], {"a": 0.5, "b": 0.5})] for number in range(pipelines)}

    assert pipeline_ranks(equal)["friedman_p"] is None


def test_ranks_further_apart_than_the_critical_distance_are_significant_by_a_library():
    posthocs = pytest.importorskip("scikit_posthocs", reason="needs flakehound[dev]")
    table = np.random.default_rng(3).normal(size=(12, 5)) + np.linspace(0, 2, 5)
    names = [str(number) for number in range(5)]

    found = metric_statistics.nemenyi_ranks(
        {name: column.tolist() for name, column in zip(names, table.T, strict=True)}
    )

    p = posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    means = np.array([found.mean[name] for name in names])
    apart = np.abs(means[:, None] - means[None, :]) > found.critical_distance
    assert 0 < apart.sum() < 20
    assert (apart == (p < 0.05)).all()
