"""Compare pipelines that predicted the same tests: ranks over projects, and what each finds that others miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from statistics import mean
from typing import Any, TypeAlias

from flakehound.learn.evaluation.metric_statistics import nemenyi, overlap
from flakehound.learn.extras import Array

MOST_OVERLAPS = 6  # pipelines, the best by F1; their pairs grow with the square
# By pipeline its repeats, each as `figures_of` gives it.
Answers: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]


def pipeline_ranks(answers: Answers) -> dict[str, Any] | None:
    """Nemenyi ranks of the F1 scores over the projects that have something to find; 1 is the best.

    Plain values for JSON; None with fewer than two pipelines or projects.
    """
    import numpy as np

    blocks = [project for project in _projects(answers) if _can_be_found(answers, project)]
    if len(answers) < 2 or len(blocks) < 2:
        return None
    scores = {name: [_score(several, project) for project in blocks] for name, several in answers.items()}
    found = nemenyi(scores)
    best = np.array(list(scores.values())).max(axis=0)
    order = sorted(found.mean, key=lambda name: found.mean[name])
    return {
        "projects": len(blocks),
        "critical": round(found.critical, 4),
        "friedman_p": None if found.friedman_p != found.friedman_p else found.friedman_p,
        "pipelines": [
            {
                "name": name,
                "rank": round(found.mean[name], 4),
                "top": round(float((np.array(scores[name]) >= best).mean()), 4),
                "as_good": found.mean[name] - found.mean[order[0]] <= found.critical,
            }
            for name in order
        ],
    }


def _projects(answers: Answers) -> list[str]:
    """Those that every repeat of every pipeline predicted."""
    named = [set(one["projects"]) for several in answers.values() for one in several]
    return sorted(set.intersection(*named)) if named else []


def _can_be_found(answers: Answers, project: str) -> bool:
    counts = next(iter(answers.values()))[0]["projects"][project]
    return bool(counts["tp"] + counts["fn"])


def _score(repeats: Sequence[Mapping[str, Any]], project: str) -> float:
    # Defined, as there is a positive test.
    return float(mean(one["projects"][project]["f1"] for one in repeats))


def pipeline_overlaps(answers: Answers) -> dict[str, Any] | None:
    """Table 11 of STATIC: of the positive tests that are found, by whom; means over the repeats.

    Plain values for JSON; None where fewer than two pipelines say which tests they found.
    """
    known = [name for name, several in answers.items() if all("found" in one for one in several)]
    best = sorted(known, key=lambda name: -mean(one["f1"] or 0.0 for one in answers[name]))[:MOST_OVERLAPS]
    if len(best) < 2:
        return None
    repeats = [
        _hits({name: answers[name][turn]["found"] for name in best}) for turn in range(_turns(answers, best))
    ]
    return {
        "pairs": [
            {"first": one, "second": other, **_mean([asdict(overlap(hits[one], hits[other])) for hits in repeats])}
            for one, other in combinations(best, 2)
        ],
        "alone": _mean([_alone(hits) for hits in repeats]),
        "all": _mean([{"all": _share(_by_all(hits), hits)} for hits in repeats])["all"],
    }


def _turns(answers: Answers, names: Sequence[str]) -> int:
    return min(len(answers[name]) for name in names)


def _hits(found: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    import numpy as np

    size = 1 + max((place for places in found.values() for place in places), default=0)
    return {name: np.isin(np.arange(size), places) for name, places in found.items()}


def _alone(hits: Mapping[str, Array]) -> dict[str, float]:
    """By pipeline, the share that no other one finds."""
    times = sum(one.astype(int) for one in hits.values())
    return {name: _share(one & (times == 1), hits) for name, one in hits.items()}


def _by_all(hits: Mapping[str, Array]) -> Array:
    import numpy as np

    return np.asarray(np.logical_and.reduce(list(hits.values())))


def _share(part: Array, hits: Mapping[str, Array]) -> float:
    import numpy as np

    return float(part.sum()) / (int(np.logical_or.reduce(list(hits.values())).sum()) or 1)


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(mean(one[name] for one in several), 4) for name in several[0]}
