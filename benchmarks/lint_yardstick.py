"""Judge lint's ranking and findings on projects that its model was not trained on, against simple predictors.

The tests of `lint_projects.csv` are scored by lint's model after refitting it without the scored projects: on
choice for design, on design for choice, on both for report. The baselines are trained on the same projects. A
further one knows nothing but the number of tests of the project: a project is in the corpus because it has a
labelled test, so the tests of small projects are likelier to be flaky. What is not better than that, pooled over
projects, says nothing; the figures within projects are free of it. All figures have 95 % bootstrap intervals over
projects. Only figures are printed, nothing about a single test. Each use of report is written to
`lint_report_uses.csv`, with the reason that was given for it.

    python benchmarks/lint_yardstick.py --split design|choice
    python benchmarks/lint_yardstick.py --split report --reason "release 1.4"
    python benchmarks/lint_yardstick.py --analyse      only fill the cache, for all splits
    PYTHONPATH=/other/checkout/src python benchmarks/lint_yardstick.py …      judge another checkout
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flaky_sources import DATA
from lint_baselines import cached_baselines
from lint_corpus import SOURCES
from lint_figures import (
    COMMON,
    KINDS,
    OURS,
    PROJECT_SIZE,
    RULES,
    SHIPPED,
    Judged,
    Ranking,
    findings_figures,
    rankings_of,
    tables,
)
from lint_labels import CHOICE, DESIGN, REPORT, SPLITS
from lint_report_uses import append_use, commit_of_checkout
from lint_rows import Corpus, LabelledTest, read_corpus
from numpy.typing import NDArray
from word_weights import crossfitted_word_weights, fit_word_weights

from flakehound.app.lint.model_file import NamedModel, default_model
from flakehound.app.lint.scoring import FlakinessScore, ModelScorer, model_inputs
from flakehound.learn.static.fit import COLUMNS, Sample, fit_static_model
from flakehound.learn.static.model import StaticModel
from flakehound.learn.static.words import WordWeights
from flakehound.lint.scoring.rule_weights import rule_score

TRAINED_ON = {DESIGN: (CHOICE,), CHOICE: (DESIGN,), REPORT: (DESIGN, CHOICE)}
RESAMPLES = 2000
SEED = 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The tests that are scored and the tests that everything is trained on."""

    scored: Corpus
    train: list[LabelledTest]


def read_setting(split: str, cache: Path, data: Path) -> Setting:
    """Read the corpus of a split and of the splits to train on."""
    train = [test for name in TRAINED_ON[split] for test in read_corpus(name, cache=cache, data=data).tests]
    scored = read_corpus(split, cache=cache, data=data)
    common = {test.project for test in train} & set(scored.projects)
    if common:
        sys.exit(f"{len(common)} projects are both in {split} and in the training data")
    return Setting(scored=scored, train=train)


# ------------------------------------------------------------------ lint's scores


@dataclass(frozen=True, slots=True, kw_only=True)
class RefittedModel:
    """Lint's model with the weights of words that it needs, both learned from the same tests."""

    model: StaticModel
    word_weights: WordWeights


def refitted_model(train: Sequence[LabelledTest]) -> RefittedModel:
    """Lint's model, fitted to these tests as the default model is fitted to those that flakehound ships."""
    samples = training_samples(train)
    return RefittedModel(model=fit_static_model(samples, digest="yardstick"), word_weights=fit_word_weights(train))


def training_samples(tests: Sequence[LabelledTest]) -> list[Sample]:
    """These tests as training data; the words of each are weighted by what other projects say."""
    weights = crossfitted_word_weights(tests)
    return [sample_of(test, weights[test.project]) for test in tests]


def sample_of(test: LabelledTest, word_weights: WordWeights) -> Sample:
    """A labelled test as training data of lint's model."""
    values = model_inputs(test.analysis, test.findings, word_weights)
    return Sample(
        project=test.project,
        file=test.analysis.row.path,
        values={column: float(values[column] or 0.0) for column in COLUMNS},
        nod=test.is_nod,
        order_dependent=test.is_order_dependent,
        learned=test.is_judged,
    )


def model_scores(
    model: StaticModel, tests: Sequence[LabelledTest], word_weights: WordWeights | None = None
) -> list[FlakinessScore]:
    """The scores of tests by a model, project by project as `flakehound lint` computes them.

    Without weights of words, those that flakehound ships are used.
    """
    named = NamedModel(name="yardstick", model=model)
    scores: list[FlakinessScore] = []
    for _project, group in itertools.groupby(tests, key=lambda test: test.project):
        members = list(group)
        scorer = ModelScorer(named, project_tests=len(members), word_weights=word_weights)
        scores += scorer.scores([test.analysis for test in members], [test.findings for test in members])
    return scores


def _chances(scores: Sequence[FlakinessScore], kind: str) -> NDArray[np.float64]:
    return np.array([getattr(score, kind) for score in scores], dtype=np.float64)


def rankings(setting: Setting, judged: Judged, cache: Path) -> Iterator[Ranking]:
    """The chances of the judged tests by lint and by every baseline, for each kind."""
    tests = setting.scored.tests
    is_judged = np.array([test.is_judged for test in tests])
    refitted = refitted_model(setting.train)
    by_model = {OURS: model_scores(refitted.model, tests, refitted.word_weights)}
    if setting.scored.split == REPORT:
        # The shipped model was trained on projects of the other splits, so only here it is fair.
        by_model[SHIPPED] = model_scores(default_model(), tests)
    by_rules = np.array([rule_score(test.findings, test.analysis.row.metric_cells()) for test in judged.tests])
    train = [test for test in setting.train if test.is_judged]
    common = _chances(by_model[OURS], "flaky")[is_judged]
    by_size = 1 / np.bincount(judged.project)[judged.project]
    for kind in KINDS:
        for name, scores in by_model.items():
            yield Ranking(name=name, kind=kind, chances=_chances(scores, kind)[is_judged])
        yield Ranking(name=COMMON, kind=kind, chances=common)
        yield Ranking(name=RULES, kind=kind, chances=by_rules)
        yield Ranking(name=PROJECT_SIZE, kind=kind, chances=by_size)
        positive = Judged.positives(train, kind)
        for name, chances in cached_baselines(train, positive, judged.tests, cache).items():
            yield Ranking(name=name, kind=kind, chances=chances)


# ------------------------------------------------------------------ command


def judge(options: argparse.Namespace) -> None:
    """Print all figures of a split; a use of report is written down first."""
    setting = read_setting(options.split, options.cache, options.data)
    judged = Judged.of(setting.scored.tests, RESAMPLES, SEED)
    shares = findings_figures(judged)
    ranked = rankings_of(judged, rankings(setting, judged, options.cache))
    if options.split == REPORT:
        append_use(options.reason, judged, shares, ranked)
    print(f"\n# {options.split}, flakehound {commit_of_checkout()}, {RESAMPLES} resamples, seed {SEED}\n")
    scored = setting.scored
    print(f"Lint crashed on {scored.crashed} projects and collects no labelled test of {scored.without_labels}.\n")
    print("\n".join(tables(judged, shares, ranked)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--split", choices=SPLITS)
    parser.add_argument("--reason", default="", help="what report is used for; needed for it")
    parser.add_argument("--analyse", action="store_true", help="only analyse all projects, and print no figure")
    parser.add_argument("--cache", type=Path, default=SOURCES, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if options.analyse:
        for split in SPLITS:
            read_corpus(split, cache=options.cache, data=options.data)
    elif options.split is None:
        parser.error("name a --split")
    elif options.split == REPORT and not options.reason.strip():
        parser.error("--split report needs --reason TEXT: each use is written to lint_report_uses.csv")
    else:
        judge(options)


if __name__ == "__main__":
    main()
