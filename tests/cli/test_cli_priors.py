"""What is known of a suite before a hunt, put together."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from flakehound.app.hunt.measured_priors import OddsRatios
from flakehound.app.hunt.priors import StoredKnowledge, priors_of, time_ranks
from flakehound.app.hunt.static_priors import StaticScores, static_scores, with_usual_share
from flakehound.app.progress import SilentProgress
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Setting, Suite
from flakehound.core.statistics.prevalence import NOD_SHARE, ORDER_DEPENDENT_SHARE, PRIOR_IF_SEEN_FLAKY, FlakyWay
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Kind, Verdict

A, B, C = (NodeId(f"t.py::{name}") for name in "abc")
SUITE = Suite(tests=tuple(CollectedTest(id=test, module="t.py", parent="t.py") for test in (A, B, C)))
NOTHING = StoredKnowledge()


def verdict(kind, passed=0):
    settings = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)
    tallies = {setting: Tally(n=passed) for setting in settings}
    return Verdict(id=A, kind=Kind(kind), tallies=tallies, rate=failure_rate(0, passed))


def test_without_any_knowledge_every_test_has_the_rates_of_the_literature():
    priors = priors_of(SUITE, NOTHING, StaticScores())

    assert set(priors.nod.values()) == {NOD_SHARE}
    assert set(priors.order_dependent.values()) == {ORDER_DEPENDENT_SHARE}


def test_a_score_stands_in_place_of_the_literature_and_is_never_believed_entirely():
    priors = priors_of(SUITE, NOTHING, StaticScores(nod={A: 0.2, B: 1.0}))

    assert priors.nod[A] == 0.2
    assert 0.9 < priors.nod[B] < 1
    assert priors.nod[C] == NOD_SHARE


def test_calls_move_a_score_and_the_literature_alike():
    priors = priors_of(SUITE, StoredKnowledge(calls={A: True, B: False}), StaticScores(nod={A: 0.2, B: 0.2}))

    assert priors.nod[B] < 0.2 < priors.nod[A]
    assert priors.nod[C] == NOD_SHARE


@pytest.mark.parametrize(
    ("kind", "where"), [("nod", "nod"), ("victim", "order_dependent"), ("brittle", "order_dependent")]
)
def test_what_was_flaky_in_the_last_hunt_is_looked_at_first(kind, where):
    priors = priors_of(SUITE, StoredKnowledge(verdicts={A: verdict(kind)}), StaticScores())

    assert getattr(priors, where)[A] == PRIOR_IF_SEEN_FLAKY
    assert priors.flaky(A) > 50 * priors.flaky(B)


def test_what_passed_often_in_the_last_hunt_can_wait():
    priors = priors_of(SUITE, StoredKnowledge(verdicts={A: verdict("steady", passed=100)}), StaticScores())

    assert priors.nod[A] < 0.5 * NOD_SHARE
    assert priors.order_dependent[A] < 0.5 * ORDER_DEPENDENT_SHARE


def test_a_chance_learned_among_many_flaky_tests_is_smaller_where_they_are_rare():
    assert with_usual_share(0.01, trained_share=0.01, usual_share=0.001) == pytest.approx(0.001)
    assert 0.01 < with_usual_share(0.2, trained_share=0.01, usual_share=0.001) < 0.2


def test_the_models_scores_tell_a_risky_test_from_a_calm_one(tmp_path):
    source = """
        import random, time

        def test_risky():
            time.sleep(random.random())
            assert random.random() > 0.1

        def test_calm():
            assert 1 + 1 == 2
    """
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_risk.py").write_text(textwrap.dedent(source))
    risky, calm = (NodeId(f"test_risk.py::test_{name}") for name in ("risky", "calm"))

    scores = static_scores(tmp_path, [risky, calm], time_s=600.0)

    assert scores.nod[risky] > scores.nod[calm]
    assert set(scores.order_dependent) == {risky, calm}


def test_a_short_hunt_reads_no_sources(tmp_path):
    assert static_scores(tmp_path, [A], time_s=20.0) == StaticScores()


class Messages(SilentProgress):
    def __init__(self):
        self.texts = []

    def message(self, text):
        self.texts.append(text)


@pytest.mark.parametrize("content", [b"{}", b"{", b"\xff", b'{"schema": "flakehound/model/1"}'])
def test_a_damaged_model_is_reported_and_the_hunt_goes_on_without_scores(content, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text("def test_one(): pass")
    (tmp_path / ".flakehound").mkdir()
    (tmp_path / ".flakehound" / "model.json").write_bytes(content)
    messages = Messages()

    scores = static_scores(tmp_path, [NodeId("test_a.py::test_one")], time_s=600.0, progress=messages)

    assert scores == StaticScores()
    (text,) = messages.texts
    assert text.startswith("hunting without the scores of lint: ")
    assert "model.json' is not a model that this flakehound can use" in text


def test_a_fault_of_lint_is_reported_and_the_hunt_goes_on_without_scores(tmp_path, monkeypatch):
    def fail(_files, *, cwd):
        raise OverflowError(f"in a test file of {cwd.name}")

    (tmp_path / "test_a.py").write_text("def test_one(): pass")
    monkeypatch.setattr("flakehound.app.lint.run.analyse_project", fail)
    messages = Messages()

    scores = static_scores(tmp_path, [NodeId("test_a.py::test_one")], time_s=600.0, progress=messages)

    assert scores == StaticScores()
    (text,) = messages.texts
    assert f"which is a fault of flakehound: OverflowError: in a test file of {tmp_path.name}" in text


def test_a_hunt_that_has_no_time_to_fit_the_model_waits_for_none(tmp_path, monkeypatch):
    (tmp_path / "test_a.py").write_text("def test_one(): pass")
    one = NodeId("test_a.py::test_one")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    in_vain = static_scores(tmp_path, [one], time_s=120.0)
    fit = "from flakehound.app.lint.model_file import default_model; default_model()"
    subprocess.run([sys.executable, "-c", fit], check=True, timeout=300)  # somebody else
    found = static_scores(tmp_path, [one], time_s=120.0)

    assert in_vain == StaticScores()
    assert set(found.nod) == {one}


def test_measured_features_move_a_score_and_the_literature_alike():
    ratios = OddsRatios(nod={A: 2.0, B: 0.5}, order_dependent={A: 3.0})
    priors = priors_of(SUITE, StoredKnowledge(ratios=ratios), StaticScores(nod={B: 0.2}))

    assert priors.nod[A] == pytest.approx(2 * NOD_SHARE, rel=0.01)
    assert 0.1 < priors.nod[B] < 0.2
    assert priors.nod[C] == NOD_SHARE
    assert priors.order_dependent[A] == pytest.approx(3 * ORDER_DEPENDENT_SHARE, rel=0.02)
    assert priors.order_dependent[B] == ORDER_DEPENDENT_SHARE


def test_features_say_less_of_a_test_that_a_score_and_calls_have_spoken_of():
    ratios = OddsRatios(nod=dict.fromkeys((A, B, C), 16.0))
    calls = {B: True, C: True}
    with_ratios = priors_of(SUITE, StoredKnowledge(calls=calls, ratios=ratios), StaticScores(nod={C: NOD_SHARE}))
    without = priors_of(SUITE, StoredKnowledge(calls=calls), StaticScores(nod={C: NOD_SHARE}))

    alone, beside_calls, beside_both = (with_ratios.nod[test] / without.nod[test] for test in (A, B, C))
    assert alone == pytest.approx(16, rel=0.02)
    assert alone > 1.5 * beside_calls > 2 * beside_both > 4


def test_calls_say_less_of_a_test_that_has_a_score():
    calls = StoredKnowledge(calls=dict.fromkeys((A, B), False))
    priors = priors_of(SUITE, calls, StaticScores(nod={B: NOD_SHARE}))

    assert priors.nod[A] < 0.5 * priors.nod[B] < 0.5 * NOD_SHARE


def test_a_test_that_takes_long_is_likelier_and_all_of_a_suite_are_together_as_likely_as_before():
    tests = tuple(NodeId(f"t.py::{number}") for number in range(100))
    suite = Suite(tests=tuple(CollectedTest(id=test, module="t.py", parent="t.py") for test in tests))
    seconds = {test: 1.0 + number for number, test in enumerate(tests)}
    priors = priors_of(suite, StoredKnowledge(time_ranks=time_ranks(seconds)), StaticScores())

    assert [priors.nod[test] for test in tests] == sorted(priors.nod.values())
    assert priors.nod[tests[-1]] > 10 * priors.nod[tests[0]]
    assert priors.order_dependent[tests[-1]] > 3 * priors.order_dependent[tests[0]]
    assert sum(priors.nod.values()) == pytest.approx(100 * NOD_SHARE, rel=0.01)
    assert sum(priors.order_dependent.values()) == pytest.approx(100 * ORDER_DEPENDENT_SHARE, rel=0.02)


def test_time_says_nothing_of_few_tests_or_where_features_were_measured_and_less_beside_others():
    ranks = {A: 1.0, B: 1.0, C: 1.0}
    measured = OddsRatios(nod={B: 1.0}, order_dependent={B: 1.0})
    known = StoredKnowledge(ratios=measured, time_ranks=ranks)
    priors = priors_of(SUITE, known, StaticScores(nod={C: NOD_SHARE}, order_dependent={C: ORDER_DEPENDENT_SHARE}))

    assert time_ranks({A: 1.0, B: 2.0}) == {}
    assert priors.nod[B] == pytest.approx(NOD_SHARE)
    assert priors.order_dependent[B] == pytest.approx(ORDER_DEPENDENT_SHARE)
    assert NOD_SHARE < priors.nod[C] < priors.nod[A]


def test_tests_that_take_equally_long_share_their_rank():
    seconds = {NodeId(f"t.py::{number}"): float(number // 10) for number in range(20)}

    assert set(time_ranks(seconds).values()) == {0.25, 0.75}


def test_calls_and_times_say_nothing_of_tests_that_a_hash_seed_decides():
    known = StoredKnowledge(calls={A: False, B: True}, time_ranks={A: 0.0, B: 1.0})
    priors = priors_of(SUITE, known, StaticScores())

    assert (
        priors.by_way(A)[FlakyWay.HASH_SEED]
        == priors.by_way(B)[FlakyWay.HASH_SEED]
        == priors.by_way(C)[FlakyWay.HASH_SEED]
    )
    assert priors.by_way(A)[FlakyWay.ANYWHERE] < priors.by_way(B)[FlakyWay.ANYWHERE]


def test_a_test_in_a_file_that_was_changed_lately_is_likelier():
    priors = priors_of(SUITE, StoredKnowledge(changed=frozenset([A])), StaticScores())

    assert priors.nod[A] > priors.nod[B]
    assert priors.order_dependent[A] > priors.order_dependent[B]
