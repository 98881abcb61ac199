"""What lint's model says of a suite's tests, for hunts that have the time to ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.app.lint.model_file import is_model_ready, model_for
from flakehound.app.progress import SILENT, Progress
from flakehound.core.errors import FailedStep, attempted
from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import NOD, ORDER_DEPENDENT, likelier

SHARE = 0.02  # of a hunt's time that may be spent on reading sources
START_S = 1.5
FIT_S = 4.0  # for a model that is used for the first time
PER_TEST_S = 0.002


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The chances by test; a test that is not named has none."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)


def static_scores(
    rootdir: Path, tests: Sequence[NodeId], time_s: float | None, progress: Progress = SILENT
) -> Scores:
    """The model's scores; none where reading would take too large a part of the hunt, or fails.

    A failure, such as a damaged model of the project, is reported, and the hunt goes on without scores.
    """
    reading_s = START_S + PER_TEST_S * len(tests)
    if time_s is None or reading_s > SHARE * time_s:
        return Scores()
    if reading_s + FIT_S > SHARE * time_s and not is_model_ready(rootdir):
        return Scores()
    found = attempted(lambda: _scores(rootdir, tests))
    if isinstance(found, FailedStep):
        progress.message(f"hunting without the scores of lint: {found.what}")
        return Scores()
    return found


def _scores(rootdir: Path, tests: Sequence[NodeId]) -> Scores:
    from flakehound.app.lint.run import all_cases, analyse_project
    from flakehound.app.lint.scoring import ModelScorer

    files = dict.fromkeys(str(rootdir / test.partition("::")[0]) for test in tests)
    cases = all_cases(analyse_project(list(files), cwd=rootdir))
    named = model_for(rootdir)
    scores = ModelScorer(named).scores(cases, [case.findings for case in cases])
    trained = named.model.trained_on
    nod, order_dependent = {}, {}
    for case, score in zip(cases, scores, strict=True):
        nod[case.row.test_id] = rebased(score.nod or 0.0, trained.nod / trained.tests, NOD)
        base = trained.order_dependent / trained.tests
        order_dependent[case.row.test_id] = rebased(score.order_dependent or 0.0, base, ORDER_DEPENDENT)
    return Scores(nod=_by_test(nod, tests), order_dependent=_by_test(order_dependent, tests))


def rebased(chance: float, here: float, there: float) -> float:
    """A chance learned where `here` is the share of such tests, among tests where it is `there`.

    Projects with a known flaky test taught the model; in the suites of this world such tests are rarer.
    """
    return likelier(chance, (there / (1 - there)) / (here / (1 - here)))


def _by_test(found: Mapping[str, float], tests: Sequence[NodeId]) -> dict[NodeId, float]:
    """As the suite names its tests: a parameter that cannot be read from the source is not in ours."""
    known = {test: found.get(test, found.get(test.partition("[")[0])) for test in tests}
    return {test: chance for test, chance in known.items() if chance is not None}
