"""Scores of lint's model for the tests of a suite, in hunts that have the time for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.app.limited_step import attempt_within
from flakehound.app.lint.model_file import is_model_ready, model_for
from flakehound.app.progress import SILENT, Progress
from flakehound.core.errors import FailedStep, FlakehoundError
from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import NOD_SHARE, ORDER_DEPENDENT_SHARE, with_odds_ratio
from flakehound.hunt.limits import MAX_SCORES_SHARE, MODEL_FIT_S, SCORES_START_S, SCORES_TEST_S

_MAX_TIMES_EXPECTED = 5.0  # times the share of the budget that the scores may take: the expectation is rough


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticScores:
    """Probabilities by test; a test that is not named has none."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)


def static_scores(
    rootdir: Path, tests: Sequence[NodeId], time_s: float | None, progress: Progress = SILENT
) -> StaticScores:
    """The model's scores; none if reading the tests takes too large a share of the hunt, or fails.

    A failure, such as a damaged model file of the project, is reported, and the hunt goes on without scores.
    """
    reading_s = SCORES_START_S + SCORES_TEST_S * len(tests)
    if time_s is None or reading_s > MAX_SCORES_SHARE * time_s:
        return StaticScores()
    if reading_s + MODEL_FIT_S > MAX_SCORES_SHARE * time_s and not is_model_ready(rootdir):
        return StaticScores()
    found = attempt_within(
        lambda: _scores_or_own_fault(rootdir, tests),
        _MAX_TIMES_EXPECTED * MAX_SCORES_SHARE * time_s,
        while_waiting=lambda: progress.show_state(lambda: f"scoring the source of {len(tests)} tests"),
    )
    if isinstance(found, FailedStep):
        progress.message(f"hunting without the scores of lint: {found.what}")
        return StaticScores()
    return found


def _scores_or_own_fault(rootdir: Path, tests: Sequence[NodeId]) -> StaticScores | FailedStep:
    """The scores; lint reads any source there is, and a fault of ours in it must not end the hunt."""
    try:
        return _scores(rootdir, tests)
    except FlakehoundError:
        raise
    except Exception as error:
        return FailedStep(what=f"lint failed, which is a fault of flakehound: {type(error).__name__}: {error}")


def _scores(rootdir: Path, tests: Sequence[NodeId]) -> StaticScores:
    from flakehound.app.lint.run import all_cases, analyse_project
    from flakehound.app.lint.scoring import ModelScorer

    files = dict.fromkeys(str(rootdir / test.partition("::")[0]) for test in tests)
    cases = all_cases(analyse_project(list(files), cwd=rootdir))
    named = model_for(rootdir)
    scores = ModelScorer(named).scores(cases, [case.findings for case in cases])
    trained = named.model.trained_on
    nod, order_dependent = {}, {}
    for case, score in zip(cases, scores, strict=True):
        nod[case.row.test_id] = with_usual_share(
            score.nod or 0.0, trained_share=trained.nod / trained.tests, usual_share=NOD_SHARE
        )
        order_dependent[case.row.test_id] = with_usual_share(
            score.order_dependent or 0.0,
            trained_share=trained.order_dependent / trained.tests,
            usual_share=ORDER_DEPENDENT_SHARE,
        )
    return StaticScores(nod=_by_test(nod, tests), order_dependent=_by_test(order_dependent, tests))


def with_usual_share(probability: float, *, trained_share: float, usual_share: float) -> float:
    """Correct the probability of a model for the share of flaky tests in usual suites.

    The model was trained on projects with known flaky tests, where the share is higher.
    """
    usual_odds, trained_odds = usual_share / (1 - usual_share), trained_share / (1 - trained_share)
    return with_odds_ratio(probability, usual_odds / trained_odds)


def _by_test(found: Mapping[str, float], tests: Sequence[NodeId]) -> dict[NodeId, float]:
    """The scores by node id. Lint leaves parameters out of an id if it cannot read them from the source."""
    known = {test: found.get(test, found.get(test.partition("[")[0])) for test in tests}
    return {test: score for test, score in known.items() if score is not None}
