"""The sources' experiments on the published Java tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from flakehound.app.data.tables import published_table, read_table
from flakehound.learn.evaluation.model_choice import BY_AREA, CHOICE_RULES, ChoiceRule
from flakehound.learn.evaluation.unseen_projects import BOTH, METRICS, WORDS
from flakehound.learn.models.pipelines import Pipeline
from flakehound.learn.models.validation import BY_CHANCE, BY_PROJECT
from flakehound.learn.models.voting import Vote, three_learners, two_forests
from flakehound.learn.tables.column_mapping import FLAKEFLAGGER, STATIC
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import OutcomeCounts
from flakehound.learn.tables.word_features import with_words


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedExperiment:
    """A row of the table of results."""

    title: str  # begins with the tests; experiments that begin alike are compared
    tests: str  # which tests, a name that `tests_named` knows
    pipeline: Pipeline | Vote | None  # None: the model for unseen projects, chosen by the other projects
    splits: tuple[str, ...] = (BY_CHANCE, BY_PROJECT)
    inputs: tuple[str, ...] = ()  # of the model for unseen projects
    rules: tuple[ChoiceRule, ...] = (BY_AREA,)  # of its choice; of several ones the other projects take one
    paper: str = ""  # precision/recall/F1 of the source, in percent
    compared: bool = True  # False: it has its own way to learn, where the others differ in their features


_SMOTE = Pipeline(classifier="random-forest", trees=100, balancing="smote")
_OVER = replace(_SMOTE, balancing="random-over")
_TEN = "iDFlakies data, 10 of 13 projects"
EXPERIMENTS = (
    PublishedExperiment(
        title="FlakeFlagger data, 25 static metrics", tests="static", pipeline=_SMOTE, paper="74/66/70"
    ),
    PublishedExperiment(
        title=f"{_TEN}, 25 static metrics",
        tests="idflakies",
        pipeline=_OVER,
        paper="69/69/68",
    ),
    PublishedExperiment(title="common tests, 25 static metrics", tests="common static", pipeline=_SMOTE),
    PublishedExperiment(
        title="common tests, FlakeFlagger's features",
        tests="common flakeflagger",
        pipeline=_SMOTE,
        paper="80/66/72",
    ),
    PublishedExperiment(title="common tests, words", tests="common words", pipeline=_SMOTE, paper="80/63/70"),
    PublishedExperiment(
        title="common tests, FlakeFlagger's features and words", tests="common combined", pipeline=_SMOTE
    ),
    PublishedExperiment(
        title="common tests, static metrics and FlakeFlagger's features", tests="common", pipeline=_SMOTE
    ),
    *(
        PublishedExperiment(
            title=f"{title}, {vote.name}", tests=tests, pipeline=vote, splits=(BY_CHANCE,), compared=False
        )
        for vote in (two_forests(), three_learners())
        for title, tests in (
            ("FlakeFlagger data, 25 static metrics", "static"),
            (f"{_TEN}, 25 static metrics", "idflakies"),
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
            compared=tests != "idflakies",  # not the projects that the rules were found on; decision 0021
        )
        for title, tests, what, inputs in (
            ("FlakeFlagger data", "static", "static metrics", (METRICS,)),
            (_TEN, "idflakies", "static metrics", (METRICS,)),
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
        return _with_texts(_read("java_static_flakeflagger"))
    common = _with_texts(_read("java_static_and_dynamic_flakeflagger"))
    wanted = {"common static": STATIC, "common flakeflagger": FLAKEFLAGGER, "common combined": FLAKEFLAGGER}
    if name == "common words":
        return with_words(common.with_features(()))
    chosen = common.with_features(wanted[name]) if name in wanted else common
    return with_words(chosen) if name == "common combined" else chosen


def _read(name: str) -> Dataset:
    return read_table(published_table(name))


def _with_texts(data: Dataset) -> Dataset:
    """The same tests with the words of their source, which another table has under the id in small letters."""
    texts = _read("java_tokens_flakeflagger")
    assert texts.words is not None
    known = dict(zip(texts.ids, texts.words, strict=True))
    return replace(data, words=tuple(known.get(test.lower(), "") for test in data.ids))


def rerun_java_tests() -> Dataset:
    """Static metrics, FlakeFlagger's features and times, and counts of 10,000 runs, joined by id."""
    import numpy as np

    data = read_table(published_table("java_static_and_dynamic_flakeflagger"))
    reruns = read_table(published_table("java_reruns_10000_flakeflagger"))
    assert reruns.counts is not None
    place = {test.lower().replace("#", "."): number for number, test in enumerate(reruns.ids)}
    kept = np.array([number for number, test in enumerate(data.ids) if test.lower() in place])
    joined = data.rows(kept)
    at = np.array([place[test.lower()] for test in joined.ids])
    none = np.zeros(len(at))
    counts = OutcomeCounts(
        original_runs=reruns.counts.original_runs[at],
        original_failed=reruns.counts.original_failed[at],
        shuffled_runs=none,
        shuffled_failed=none,
    )
    seconds = joined.values[:, joined.features.index("ExecutionTime")]
    return replace(joined, counts=counts, cost_s=seconds)
