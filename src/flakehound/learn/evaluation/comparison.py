"""Compare pipelines that predicted the same tests: ranks over projects, and what each finds that others miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from statistics import mean
from typing import Any, TypeAlias

from flakehound.learn.evaluation.metric_statistics import nemenyi_ranks, overlap
from flakehound.learn.extras import Array

MAX_OVERLAP_PIPELINES = 6  # the best by F1; the number of pairs grows with the square
# By pipeline, the result of `figures_of` for each repeat.
RepeatsByPipeline: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


def pipeline_ranks(repeats: RepeatsByPipeline) -> dict[str, Any] | None:
    """Nemenyi ranks of the F1 scores over the projects with a positive test; 1 is the best.

    Plain values for JSON; None with fewer than two pipelines or projects.
    """
    import numpy as np

    projects = [project for project in _common_projects(repeats) if _has_positive_test(repeats, project)]
    if len(repeats) < 2 or len(projects) < 2:
        return None
    scores = {name: [_mean_f1(own, project) for project in projects] for name, own in repeats.items()}
    ranks = nemenyi_ranks(scores)
    best_scores = np.array(list(scores.values())).max(axis=0)
    order = sorted(ranks.mean, key=lambda name: ranks.mean[name])
    return {
        "projects": len(projects),
        "critical": round(ranks.critical_distance, 4),
        "friedman_p": None if ranks.friedman_p != ranks.friedman_p else ranks.friedman_p,
        "pipelines": [
            {
                "name": name,
                "rank": round(ranks.mean[name], 4),
                "top": round(float((np.array(scores[name]) >= best_scores).mean()), 4),
                "as_good": ranks.mean[name] - ranks.mean[order[0]] <= ranks.critical_distance,
            }
            for name in order
        ],
    }


def _common_projects(repeats: RepeatsByPipeline) -> list[str]:
    """The projects that every repeat of every pipeline predicted."""
    projects = [set(figures["projects"]) for own in repeats.values() for figures in own]
    return sorted(set.intersection(*projects)) if projects else []


def _has_positive_test(repeats: RepeatsByPipeline, project: str) -> bool:
    counts = next(iter(repeats.values()))[0]["projects"][project]
    return bool(counts["tp"] + counts["fn"])


def _mean_f1(repeats: Sequence[Mapping[str, Any]], project: str) -> float:
    # F1 is defined, because the project has a positive test.
    return float(mean(figures["projects"][project]["f1"] for figures in repeats))


def pipeline_overlaps(repeats: RepeatsByPipeline) -> dict[str, Any] | None:
    """Table 11 of STATIC: which share of the found positive tests each pipeline finds; means over the repeats.

    Plain values for JSON; None if fewer than two pipelines say which tests they found.
    """
    usable = [name for name, own in repeats.items() if all("found" in figures for figures in own)]
    best = sorted(usable, key=lambda name: -mean(figures["f1"] or 0.0 for figures in repeats[name]))
    best = best[:MAX_OVERLAP_PIPELINES]
    if len(best) < 2:
        return None
    count = min(len(repeats[name]) for name in best)
    hits_by_repeat = [_hits({name: repeats[name][number]["found"] for name in best}) for number in range(count)]
    return {
        "pairs": [
            {
                "first": first,
                "second": second,
                **_means([asdict(overlap(hits[first], hits[second])) for hits in hits_by_repeat]),
            }
            for first, second in combinations(best, 2)
        ],
        "alone": _means([_shares_found_alone(hits) for hits in hits_by_repeat]),
        "all": _means([{"all": _share_found_by_all(hits)} for hits in hits_by_repeat])["all"],
    }


def _hits(found_tests: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    """By pipeline, whether it found the test of each number."""
    import numpy as np

    size = 1 + max((test for tests in found_tests.values() for test in tests), default=0)
    return {name: np.isin(np.arange(size), tests) for name, tests in found_tests.items()}


def _shares_found_alone(hits: Mapping[str, Array]) -> dict[str, float]:
    """By pipeline, the share of tests that no other pipeline finds."""
    finders = sum(own.astype(int) for own in hits.values())
    return {name: _share_of_found(own & (finders == 1), hits) for name, own in hits.items()}


def _share_found_by_all(hits: Mapping[str, Array]) -> float:
    import numpy as np

    return _share_of_found(np.asarray(np.logical_and.reduce(list(hits.values()))), hits)


def _share_of_found(selected: Array, hits: Mapping[str, Array]) -> float:
    """The selected tests as a share of those that any pipeline finds."""
    import numpy as np

    return float(selected.sum()) / (int(np.logical_or.reduce(list(hits.values())).sum()) or 1)


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(mean(row[name] for row in rows), 4) for name in rows[0]}
