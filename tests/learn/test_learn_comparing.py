"""Ranks and overlaps of pipelines, on predictions that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation import metric_statistics
from flakehound.learn.evaluation.comparison import pipeline_overlaps, pipeline_ranks


def answer(found, f1_by_project):
    """What a study keeps of one repeat; each project has one positive test, or none where F1 is None."""
    projects = {name: {"tp": 0, "fn": int(f1 is not None), "f1": f1} for name, f1 in f1_by_project.items()}
    known = [f1 for f1 in f1_by_project.values() if f1 is not None]
    return {"f1": sum(known) / len(known), "projects": projects, "found": found}


ANSWERS = {
    "good": [answer([1, 2, 3, 7], {"a": 0.9, "b": 0.8, "c": 0.7, "nothing to find": None})],
    "fair": [answer([1, 2, 5], {"a": 0.8, "b": 0.7, "c": 0.7, "nothing to find": None})],
    "bad": [answer([1], {"a": 0.1, "b": 0.2, "c": 0.3, "nothing to find": None})],
}


def test_pipelines_are_ranked_over_the_projects_that_have_something_to_find():
    ranks = pipeline_ranks(ANSWERS)

    assert ranks["projects"] == 3
    assert [(one["name"], one["rank"]) for one in ranks["pipelines"]] == [
        ("good", pytest.approx(3.5 / 3, abs=1e-4)),
        ("fair", pytest.approx(5.5 / 3, abs=1e-4)),
        ("bad", 3),
    ]
    assert [one["top"] for one in ranks["pipelines"]] == pytest.approx([1, 1 / 3, 0], abs=1e-4)
    assert [one["as_good"] for one in ranks["pipelines"]] == [True, True, True]


def test_an_overlap_tells_what_both_find_and_what_one_finds_alone():
    overlap = pipeline_overlaps(ANSWERS)

    first = overlap["pairs"][0]
    assert (first["first"], first["second"]) == ("good", "fair")
    assert [first[share] for share in ("both", "first_alone", "second_alone")] == pytest.approx([0.4, 0.4, 0.2])
    assert overlap["alone"] == pytest.approx({"good": 0.4, "fair": 0.2, "bad": 0})
    assert overlap["all"] == pytest.approx(0.2)


def test_repeats_are_averaged():
    twice = {
        "one": [answer([1], {"a": 1.0, "b": 0.0}), answer([1, 2], {"a": 0.0, "b": 0.0})],
        "two": [answer([1], {"a": 0.4, "b": 0.1}), answer([1], {"a": 0.4, "b": 0.1})],
    }

    ranks, overlap = pipeline_ranks(twice), pipeline_overlaps(twice)

    assert [one["name"] for one in ranks["pipelines"]] == ["one", "two"]
    assert ranks["pipelines"][0]["rank"] == 1.5
    assert overlap["pairs"][0]["both"] == pytest.approx((1 + 0.5) / 2)


def test_what_cannot_be_compared_is_left_out():
    alone = {"one": [answer([1], {"a": 1.0})], "two": [answer([1], {"a": 1.0})]}
    old = {
        name: [{key: value for key, value in one.items() if key != "found"}] for name, (one,) in ANSWERS.items()
    }

    assert pipeline_ranks(alone) is None
    assert pipeline_overlaps(old) is None
    assert pipeline_ranks(old)["projects"] == 3


@pytest.mark.parametrize("pipelines", [2, 3])
def test_pipelines_that_are_alike_have_no_p_value(pipelines):
    alike = {str(number): [answer([1], {"a": 0.5, "b": 0.5})] for number in range(pipelines)}

    assert pipeline_ranks(alike)["friedman_p"] is None


def test_ranks_further_apart_than_the_distance_are_those_a_library_calls_significant():
    posthocs = pytest.importorskip("scikit_posthocs", reason="needs flakehound[dev]")
    table = np.random.default_rng(3).normal(size=(12, 5)) + np.linspace(0, 2, 5)
    names = [str(number) for number in range(5)]

    found = metric_statistics.nemenyi({name: column.tolist() for name, column in zip(names, table.T, strict=True)})

    p = posthocs.posthoc_nemenyi_friedman(table).to_numpy()
    means = np.array([found.mean[name] for name in names])
    apart = np.abs(means[:, None] - means[None, :]) > found.critical
    assert 0 < apart.sum() < 20
    assert (apart == (p < 0.05)).all()
