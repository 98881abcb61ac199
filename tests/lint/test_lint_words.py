"""The weights of words are learned within projects, and lint scores the words of a test by them."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from lint_samples import project_with

from flakehound.app.lint.scoring import model_inputs
from flakehound.lint.analyse import analyse_file

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
TESTS = """
    def helper():
        return sleep

    def test_waits():
        # a random comment
        assert helper().max("wait")
"""


@pytest.fixture
def word_weights(monkeypatch):
    """The script's module, importable as benchmarks import each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import word_weights

    yield word_weights
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(BENCHMARKS):
            del sys.modules[name]


def labelled(project, *words, nod=False):
    """A test with these words."""
    analysis = SimpleNamespace(words=frozenset(words))
    return SimpleNamespace(project=project, is_nod=nod, is_judged=True, analysis=analysis)


def corpus(*, flaky_word="sleep"):
    """Ten projects with a NOD test each, and two without; each has words of its own."""
    for number in range(10):
        name = f"p{number}"
        yield labelled(name, flaky_word, "test", f"only{name}", nod=True)
        yield from (labelled(name, "assert", "test", f"only{name}") for _ in range(9))
    for name in ("steady", "calm"):
        yield from (labelled(name, "sleep", "assert", "test") for _ in range(30))


def test_lint_scores_the_words_of_a_test_by_the_weights():
    project = project_with(test_it=TESTS)
    (analysis,) = analyse_file(project, project.module("test_it.py"))
    weights = {"wait": 0.5, "helper": 0.25, "sleep": 8.0, "random": 8.0}

    assert model_inputs(analysis, (), weights)["words_nod"] == 0.75
    assert model_inputs(analysis, ())["words_nod"] != 0


def test_words_of_nod_tests_weigh_more_and_projects_without_nod_tests_say_nothing(word_weights):
    weights = word_weights.fit_word_weights(list(corpus()))

    assert weights["sleep"] > 0.1 > 0 > weights["assert"]
    assert weights["test"] == pytest.approx(0, abs=1e-3)


def test_words_of_few_projects_have_no_weight(word_weights):
    assert set(word_weights.fit_word_weights(list(corpus()))) == {"sleep", "test", "assert"}


def test_the_words_of_a_project_are_weighted_by_the_others(word_weights):
    tests = list(corpus())
    inverted = [
        SimpleNamespace(**{**vars(test), "is_nod": not test.is_nod}) if test.project == "p3" else test
        for test in tests
    ]

    before, after = (word_weights.crossfitted_word_weights(own) for own in (tests, inverted))

    assert before["p3"] == after["p3"]
    assert before["p4"] != after["p4"]


def test_equal_weights_are_shipped_as_equal_bytes_without_words_that_say_nothing(word_weights):
    packed = word_weights.packed_weights({"wait": -0.5, "sleep": 0.25, "test": 0.0})

    assert packed == word_weights.packed_weights({"sleep": 0.25, "wait": -0.5})
    assert gzip.decompress(packed).decode().splitlines() == ["word,nod", "sleep,0.25", "wait,-0.5"]
