"""Whether `flakehound train` ranks later tests of a project better than the default model does.

A project's tests are split into an earlier and a later part, by their order in each file (new tests are mostly
added below old ones), or by the order of the files. The labels of the earlier part stand for what a team's own
hunts have found. Both models are fitted without the other tests of the project's split; the team's also on the
earlier part, as `train` does. Figures are those of the later part only, with 95 % bootstrap intervals over
projects. Uses the splits design and choice, never report.

    python benchmarks/lint_train_gain.py [--by tests|files]
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from flaky_sources import DATA
from lint_corpus import SOURCES
from lint_figures import KIND_NAMES, KINDS, Judged, Ranking, rankings_of
from lint_labels import CHOICE, DESIGN
from lint_rows import LabelledTest, read_corpus
from lint_yardstick import (
    RESAMPLES,
    SEED,
    TRAINED_ON,
    RefittedModel,
    model_scores,
    refitted_model,
    sample_of,
    training_samples,
)

from flakehound.learn.static.fit import Sample, fit_static_model

MIN_EARLIER_FLAKY = 2
OWN_WEIGHT = 10.0  # what `flakehound train` uses
BEFORE, AFTER = "default model", "with own runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterScores:
    """The later tests of one project, with their chances by both models."""

    tests: list[LabelledTest]
    chances: dict[tuple[str, str], list[float]]  # by model and kind


def split_by_time(tests: Sequence[LabelledTest], by: str) -> tuple[list[LabelledTest], list[LabelledTest]]:
    """The earlier and the later half of a project's tests."""
    files = [list(group) for _path, group in itertools.groupby(tests, key=lambda test: test.analysis.row.path)]
    if by == "files":
        half = (len(files) + 1) // 2
        return [test for file in files[:half] for test in file], [test for file in files[half:] for test in file]
    earlier = [test for file in files for test in file[: (len(file) + 1) // 2]]
    return earlier, [test for file in files for test in file[(len(file) + 1) // 2 :]]


def later_scores(
    tests: Sequence[LabelledTest], base: RefittedModel, train: Sequence[Sample], by: str
) -> LaterScores | None:
    """Score a project's later tests by both models; None if there is too little to learn or to judge."""
    earlier, later = split_by_time(tests, by)
    if sum(test.is_nod or test.is_order_dependent for test in earlier) < MIN_EARLIER_FLAKY:
        return None
    if not any(test.is_nod or test.is_order_dependent for test in later):
        return None
    own = [replace(sample_of(test, base.word_weights), own=True) for test in earlier]
    trained = fit_static_model([*train, *own], "train gain", own_weight=OWN_WEIGHT)
    is_later = {id(test) for test in later}
    chances: dict[tuple[str, str], list[float]] = {}
    for name, model in ((BEFORE, base.model), (AFTER, trained)):
        scores = model_scores(model, tests, base.word_weights)
        for kind in KINDS:
            chances[name, kind] = [
                getattr(score, kind) for test, score in zip(tests, scores, strict=True) if id(test) in is_later
            ]
    return LaterScores(tests=[test for test in tests if id(test) in is_later], chances=chances)


def all_later_scores(by: str, cache: Path, data: Path) -> Iterator[LaterScores]:
    """The later tests of all projects of both splits."""
    for split in (CHOICE, DESIGN):
        train = read_corpus(TRAINED_ON[split][0], cache=cache, data=data).tests
        base, samples = refitted_model(train), training_samples(train)
        tests = read_corpus(split, cache=cache, data=data).tests
        for _project, group in itertools.groupby(tests, key=lambda test: test.project):
            scores = later_scores(list(group), base, samples, by)
            if scores is not None:
                yield scores


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--by", choices=("tests", "files"), default="tests")
    parser.add_argument("--cache", type=Path, default=SOURCES, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    projects = list(all_later_scores(options.by, options.cache, options.data))
    print("\n".join(gain_table(projects, options.by)))


def gain_table(projects: Sequence[LaterScores], by: str) -> Iterator[str]:
    """The figures of both models and their differences, in Markdown."""
    tests = [test for project in projects for test in project.tests]
    is_judged = np.array([test.is_judged for test in tests])
    judged = Judged.of(tests, RESAMPLES, SEED)
    yield f"{len(judged.tests)} later tests of {len(judged.names)} projects, split by {by}\n"
    yield "| kind | model | AUC within projects | top 10 %, mean of projects | top 10 %, pooled |"
    yield "|---|---|---|---|---|"
    for kind in KINDS:
        rankings = []
        for name in (BEFORE, AFTER):
            chances = np.array([chance for project in projects for chance in project.chances[name, kind]])
            rankings.append(Ranking(name=name, kind=kind, chances=chances[is_judged]))
        before, after, *_others = rankings_of(judged, rankings)
        for figure in (before, after):
            cells = (figure.auc_within, figure.top_mean, figure.top_pooled)
            yield f"| {KIND_NAMES[kind]} | {figure.name} | " + " | ".join(cell.text() for cell in cells) + " |"
        gains = [
            getattr(after, name).minus(getattr(before, name)) for name in ("auc_within", "top_mean", "top_pooled")
        ]
        yield f"| {KIND_NAMES[kind]} | gain | " + " | ".join(gain.text(signed=True) for gain in gains) + " |"


if __name__ == "__main__":
    main()
