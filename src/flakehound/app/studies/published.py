"""The experiments of STATIC and FlakeFlagger on the published Java tables, and our own on the same tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from flakehound.app.data.tables import published_table, read_table
from flakehound.learn.evaluation.model_choice import BY_AREA, CHOICE_RULES, ChoiceRule
from flakehound.learn.evaluation.unseen_projects import BOTH, METRICS, WORDS
from flakehound.learn.models.pipelines import Pipeline
from flakehound.learn.models.validation import BY_CHANCE, BY_PROJECT
from flakehound.learn.models.voting import Vote, three_learners, two_forests
from flakehound.learn.tables.column_mapping import FLAKEFLAGGER_FEATURES, STATIC_FEATURES
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import OutcomeCounts
from flakehound.learn.tables.word_features import with_words


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedExperiment:
    """A row of the table of results."""

    title: str  # starts with the tests; experiments with the same start are compared
    tests: str  # a name that `published_tests` accepts
    pipeline: Pipeline | Vote | None  # None: the model for unseen projects, chosen by the other projects
    splits: tuple[str, ...] = (BY_CHANCE, BY_PROJECT)
    inputs: tuple[str, ...] = ()  # of the model for unseen projects
    rules: tuple[ChoiceRule, ...] = (BY_AREA,)  # that choose this model; the other projects choose one of several
    paper: str = ""  # published precision/recall/F1, in percent
    compared: bool = True  # False: its models differ, while those of the others differ only in their features


_FOREST_WITH_SMOTE = Pipeline(classifier="random-forest", trees=100, balancing="smote")
_FOREST_WITH_OVERSAMPLING = replace(_FOREST_WITH_SMOTE, balancing="random-over")
_IDFLAKIES = "iDFlakies data, 10 of 13 projects"
EXPERIMENTS = (
    PublishedExperiment(
        title="FlakeFlagger data, 25 static metrics", tests="static", pipeline=_FOREST_WITH_SMOTE, paper="74/66/70"
    ),
    PublishedExperiment(
        title=f"{_IDFLAKIES}, 25 static metrics",
        tests="idflakies",
        pipeline=_FOREST_WITH_OVERSAMPLING,
        paper="69/69/68",
    ),
    PublishedExperiment(
        title="common tests, 25 static metrics", tests="common static", pipeline=_FOREST_WITH_SMOTE
    ),
    PublishedExperiment(
        title="common tests, FlakeFlagger's features",
        tests="common flakeflagger",
        pipeline=_FOREST_WITH_SMOTE,
        paper="80/66/72",
    ),
    PublishedExperiment(
        title="common tests, words", tests="common words", pipeline=_FOREST_WITH_SMOTE, paper="80/63/70"
    ),
    PublishedExperiment(
        title="common tests, FlakeFlagger's features and words",
        tests="common combined",
        pipeline=_FOREST_WITH_SMOTE,
    ),
    PublishedExperiment(
        title="common tests, static metrics and FlakeFlagger's features",
        tests="common",
        pipeline=_FOREST_WITH_SMOTE,
    ),
    *(
        PublishedExperiment(
            title=f"{title}, {vote.name}", tests=tests, pipeline=vote, splits=(BY_CHANCE,), compared=False
        )
        for vote in (two_forests(), three_learners())
        for title, tests in (
            ("FlakeFlagger data, 25 static metrics", "static"),
            (f"{_IDFLAKIES}, 25 static metrics", "idflakies"),
            ("common tests, static metrics and FlakeFlagger's features", "common"),
        )
    ),
    *(
        PublishedExperiment(
            title=f"{title}, model for unseen projects, {what}{how}",
            tests=tests,
            pipeline=None,
            splits=(BY_PROJECT,),
            inputs=inputs,
            rules=rules,
            compared=tests != "idflakies",  # the rules were developed on other projects; decision 0021
        )
        for title, tests, what, inputs in (
            ("FlakeFlagger data", "static", "static metrics", (METRICS,)),
            (_IDFLAKIES, "idflakies", "static metrics", (METRICS,)),
            ("FlakeFlagger data", "static with words", "static metrics or words", (METRICS, WORDS, BOTH)),
        )
        for how, rules in (("", (BY_AREA,)), (", rule chosen inside", CHOICE_RULES))
    ),
)


@cache
def published_tests(name: str) -> Dataset:
    """The tests of an experiment."""
    if name == "idflakies":
        return _read("java_static_idflakies")
    if name == "static":
        return _read("java_static_flakeflagger")
    if name == "static with words":
        return _with_source_words(_read("java_static_flakeflagger"))
    common = _with_source_words(_read("java_static_and_dynamic_flakeflagger"))
    features = {
        "common static": STATIC_FEATURES,
        "common flakeflagger": FLAKEFLAGGER_FEATURES,
        "common combined": FLAKEFLAGGER_FEATURES,
    }
    if name == "common words":
        return with_words(common.with_features(()))
    chosen = common.with_features(features[name]) if name in features else common
    return with_words(chosen) if name == "common combined" else chosen


def _read(name: str) -> Dataset:
    return read_table(published_table(name))


def _with_source_words(data: Dataset) -> Dataset:
    """The same tests with the words of their source; the table of words has ids in lower case."""
    tokens = _read("java_tokens_flakeflagger")
    assert tokens.words is not None
    words_by_id = dict(zip(tokens.ids, tokens.words, strict=True))
    return replace(data, words=tuple(words_by_id.get(test.lower(), "") for test in data.ids))


def rerun_java_tests() -> Dataset:
    """Java tests with static metrics, FlakeFlagger's features and times, and counts of 10,000 runs."""
    import numpy as np

    data = read_table(published_table("java_static_and_dynamic_flakeflagger"))
    reruns = read_table(published_table("java_reruns_10000_flakeflagger"))
    assert reruns.counts is not None
    rerun_rows = {test.lower().replace("#", "."): row for row, test in enumerate(reruns.ids)}
    common = data.select_rows(np.array([row for row, test in enumerate(data.ids) if test.lower() in rerun_rows]))
    rows = np.array([rerun_rows[test.lower()] for test in common.ids])
    zeros = np.zeros(len(rows))
    counts = OutcomeCounts(
        original_runs=reruns.counts.original_runs[rows],
        original_failed=reruns.counts.original_failed[rows],
        shuffled_runs=zeros,
        shuffled_failed=zeros,
    )
    seconds = common.values[:, common.features.index("ExecutionTime")]
    return replace(common, counts=counts, cost_s=seconds)
