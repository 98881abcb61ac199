"""Ranking of the tests of unseen projects by lint's model, its calibration, and its time.

Every project is scored by a model that was fitted without it. "Shipped form": with the signals and the penalty of
the shipped model. "Form chosen inside": in each of five folds by project the candidates are compared in four inner
folds of the other projects, and the best is fitted on all of these. "Held out": the projects of `is_held_out`.

    python benchmarks/static_model.py [--quick | --each] [--signals rules,state]
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import Pool
from pathlib import Path

from flaky_sources import is_held_out
from lint_recall import auc
from side_by_side import Row, benchmark_parser, report_results

from flakehound.app.lint.model_file import default_model
from flakehound.learn.models.logistic import constant_for
from flakehound.learn.static.fit import HEAD_SETTINGS, HeadSettings, Sample, fit_head, half_of_flaky
from flakehound.learn.static.model import KINDS, NOD, ORDER_DEPENDENT, FlakyChances, Head, chances_of, signals_of
from flakehound.learn.static.table import shipped_bytes, shipped_samples
from flakehound.learn.static.unseen import FOLDS, fold_of

_RULES = ("rules", "causes", "file rules", "file causes")
_STATE = ("file patches", "file state_in_tests", "file state_in_production", "file rules_test_order")
_NETWORK = ("rules_network", "file rules_network")
_TRACES = ("file paths", "set_at_import")
_WORDS = HEAD_SETTINGS[ORDER_DEPENDENT].words
SIGNALS = {
    "counts": (_RULES[:2], ()),
    "rules": (_RULES, ()),
    "network": ((*_RULES, *_NETWORK), ()),
    "state": ((*_RULES, *_STATE), ()),
    "traces": ((*_RULES, *_STATE, *_TRACES), ()),
    "words": ((*_RULES, *_STATE, *_TRACES), _WORDS),
}
_PENALTIES = (130.0, 1300.0)


INNER_FOLDS = 4


def candidate_forms(names: Sequence[str]) -> list[HeadSettings]:
    """Every named set of signals with every penalty."""
    return [
        HeadSettings(signals=signals, penalty=penalty, words=words)
        for signals, words in (SIGNALS[name] for name in names)
        for penalty in _PENALTIES
    ]


@cache
def samples() -> list[Sample]:
    """The training data that we ship."""
    return shipped_samples(shipped_bytes())


def signals_for(tests: Sequence[Sample], names: Iterable[str]) -> list[dict[str, float]]:
    """The signals of the tests whose kind is known; the others count in the means over their files."""
    files = [f"{test.project} {test.file}" for test in tests]
    signals = signals_of([test.values for test in tests], files, names)
    return [values for test, values in zip(tests, signals, strict=True) if test.learned]


def tests_of_known_kind(tests: Sequence[Sample]) -> list[Sample]:
    """The tests that a model may learn from and be judged on."""
    return [test for test in tests if test.learned]


def inner_auc(job: tuple[str, HeadSettings, frozenset[str]]) -> float:
    """The AUC of a candidate on these projects, each predicted by a model of the other ones."""
    kind, form, projects = job
    folds = fold_of(sorted(projects), INNER_FOLDS)
    scores: list[float] = []
    positive: list[bool] = []
    for fold in range(INNER_FOLDS):
        train = [sample for sample in samples() if sample.project in projects and folds[sample.project] != fold]
        test = [sample for sample in samples() if sample.project in projects and folds[sample.project] == fold]
        # Without the constant, which depends on the number of flaky tests in the other folds.
        model = fit_head(train, kind, form)
        scores += [model.evidence(signals) for signals in signals_for(test, model.weights)]
        positive += [sample.is_of(kind) for sample in tests_of_known_kind(test)]
    return auc(scores, positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Tests with the chances by models that were fitted without their projects."""

    tests: list[Sample]
    chances: list[FlakyChances]
    # The chances with constants for a common base rate, only to rank tests of several folds: the constant of one
    # fold depends on the number of flaky tests in the other folds, so it is low where many tests are flaky.
    ranking: list[FlakyChances]

    def auc(self, kind: str, by: str) -> float:
        """AUC for one kind, by one of the chances."""
        return auc([getattr(chances, by) for chances in self.ranking], [test.is_of(kind) for test in self.tests])

    def top_share(self, kind: str, by: str, share: float = 0.1) -> float:
        """Share of the tests of one kind that are among the top tests by one of the chances."""
        order = sorted(range(len(self.tests)), key=lambda row: -float(getattr(self.ranking[row], by)))
        top = order[: round(share * len(order))]
        return sum(self.tests[row].is_of(kind) for row in top) / sum(test.is_of(kind) for test in self.tests)

    def auc_within_projects(self, kind: str, by: str) -> float:
        """The mean over projects of the AUC within each project."""
        areas = []
        by_project = itertools.groupby(sorted(range(len(self.tests)), key=self._project), key=self._project)
        for _project, group in by_project:
            rows = list(group)
            area = auc([getattr(self.ranking[r], by) for r in rows], [self.tests[r].is_of(kind) for r in rows])
            areas += [] if math.isnan(area) else [area]
        return sum(areas) / len(areas)

    def _project(self, row: int) -> str:
        return self.tests[row].project

    def is_flaky(self) -> list[bool]:
        """Whether each test is NOD or order-dependent."""
        return [test.nod or test.order_dependent for test in self.tests]

    def brier(self) -> float:
        """The Brier score of the chance of being flaky."""
        pairs = zip(self.chances, self.is_flaky(), strict=True)
        return sum((chances.flaky - flaky) ** 2 for chances, flaky in pairs) / len(self.tests)

    def bins(self, number: int = 10) -> list[tuple[int, float, float]]:
        """Bins of equal size by score: number of tests, mean score, share of flaky tests."""
        pairs = sorted(
            (chances.flaky, flaky) for chances, flaky in zip(self.chances, self.is_flaky(), strict=True)
        )
        cuts = [len(pairs) * index // number for index in range(number + 1)]
        parts = [pairs[a:b] for a, b in itertools.pairwise(cuts)]
        return [
            (len(part), sum(score for score, _ in part) / len(part), sum(flaky for _, flaky in part) / len(part))
            for part in parts
        ]

    def calibration_error(self) -> float:
        """Mean difference of score and share of flaky tests in the bins."""
        return sum(n * abs(score - share) for n, score, share in self.bins()) / len(self.tests)


def predict(train: Sequence[Sample], test: list[Sample], forms: dict[str, HeadSettings]) -> Predictions:
    """Fit on `train` and predict `test`."""
    heads = {kind: fit_head(train, kind, forms[kind]) for kind in KINDS}
    comparable = {kind: _with_common_base_rate(head, kind) for kind, head in heads.items()}
    return Predictions(
        tests=tests_of_known_kind(test), chances=_chances(heads, test), ranking=_chances(comparable, test)
    )


def _chances(heads: dict[str, Head], test: Sequence[Sample]) -> list[FlakyChances]:
    nod, order = heads[NOD], heads[ORDER_DEPENDENT]
    return [chances_of(nod, order, signals) for signals in signals_for(test, [*nod.weights, *order.weights])]


def _with_common_base_rate(model: Head, kind: str) -> Head:
    """The same weights with constants for the base rates of all projects; a test's own label has no effect."""
    odds = [model.evidence(signals) for signals in signals_for(samples(), model.weights)]
    of_kind = sum(sample.is_of(kind) for sample in tests_of_known_kind(samples()))
    weights = [1.0] * len(odds)
    constant, even = (constant_for(odds, weights, count) for count in (of_kind, half_of_flaky(samples())))
    return replace(model, constant=constant, even=even)


def choose_forms(projects: frozenset[str], forms: Sequence[HeadSettings], pool: Pool) -> dict[str, HeadSettings]:  # type: ignore[valid-type]
    """For each kind, the candidate with the highest AUC in inner folds of these projects."""
    chosen = {}
    for kind in KINDS:
        areas = pool.map(inner_auc, [(kind, form, projects) for form in forms], chunksize=1)  # type: ignore[attr-defined]
        area, form = max(zip(areas, forms, strict=True), key=lambda pair: pair[0])
        names = next(name for name, signals in SIGNALS.items() if signals == (form.signals, form.words))
        print(f"  {kind}: {names} at {form.penalty:g} (inner AUC {area:.3f})", flush=True)
        chosen[kind] = form
    return chosen


Fold = tuple[int, int, dict[str, HeadSettings]]  # number of the fold, number of folds, form by kind


def predict_fold(fold: Fold) -> Predictions:
    """Predict the projects of one fold by models of the other folds."""
    number, folds, forms = fold
    fold_numbers = fold_of([sample.project for sample in samples()], folds)
    train = [sample for sample in samples() if fold_numbers[sample.project] != number]
    return predict(train, [sample for sample in samples() if fold_numbers[sample.project] == number], forms)


def join(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of several folds as one."""
    return Predictions(
        tests=[test for part in parts for test in part.tests],
        chances=[chances for part in parts for chances in part.chances],
        ranking=[chances for part in parts for chances in part.ranking],
    )


def rows_for(predictions: Predictions, title: str) -> Iterator[Row]:
    """The rows about ranking and calibration of these predictions."""
    for kind, label in ((NOD, "NOD"), (ORDER_DEPENDENT, "order-dependent")):
        own, within = predictions.auc(kind, kind), predictions.auc_within_projects(kind, kind)
        by_score = predictions.auc(kind, "flaky")
        yield Row(
            job=f"AUC, {label}: {title}",
            ours=f"{own:.3f} by the chance of its kind; within projects {within:.3f}",
            peer="–",
            measured=f"{by_score:.3f} by the score",
            goal="≥ 0.75",
            met=by_score >= 0.75,
        )
    share = predictions.top_share(NOD, "flaky")
    yield Row(
        job=f"NOD tests in the top 10 %: {title}",
        ours=f"{predictions.top_share(NOD, NOD):.0%} by the chance of NOD",
        peer="–",
        measured=f"{share:.0%} by the score",
        goal="≥ 40 %",
        met=share >= 0.4,
    )
    base = sum(predictions.is_flaky()) / len(predictions.tests)
    yield Row(
        job=f"calibration: {title}",
        ours=f"Brier {predictions.brier():.4f}, mean error of ten bins {predictions.calibration_error():.4f}",
        peer=f"Brier {base * (1 - base):.4f} of the base rate alone",
        measured=", ".join(f"{score:.1%}→{share:.1%}" for _n, score, share in predictions.bins()),
        is_detail=True,
    )


def time_rows() -> Iterator[Row]:
    """The rows about fitting, reading the cache and scoring."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        model = default_model(Path(folder))
        first = time.perf_counter() - start
        again = default_model(Path(folder))
        second = time.perf_counter() - start - first
    assert again == model
    tests = (samples() * (10_000 // len(samples()) + 1))[:10_000]
    start = time.perf_counter()
    model.chances([test.values for test in tests], [f"{test.project} {test.file}" for test in tests])
    scoring = time.perf_counter() - start
    yield _time_row("fit the default model, data read from the package", first, 10.0)
    yield _time_row("the same from the cache", second, 0.3)
    yield _time_row("score 10,000 tests", scoring, 1.0)


def _time_row(job: str, seconds: float, limit_s: float) -> Row:
    return Row(
        job=job,
        ours=f"{seconds:.2f} s",
        peer="–",
        measured=f"{seconds:.2f} s",
        goal=f"≤ {limit_s:g} s",
        met=seconds <= limit_s,
    )


def main() -> None:
    parser = benchmark_parser(__doc__ or "", repeats=1)
    parser.add_argument("--quick", action="store_true", help="only the shipped form, without choosing one inside")
    parser.add_argument("--each", action="store_true", help="also leave out each project by itself")
    parser.add_argument(
        "--signals", default=",".join(SIGNALS), help="sets of signals to choose from (default %(default)s)"
    )
    options = parser.parse_args()
    rows = list(time_rows())
    shipped = dict(HEAD_SETTINGS)
    folds = [predict_fold((number, FOLDS, shipped)) for number in range(FOLDS)]
    rows += rows_for(join(folds), "five folds, shipped form")
    held_out = [sample for sample in samples() if is_held_out(sample.project)]
    rest = [sample for sample in samples() if not is_held_out(sample.project)]
    rows += rows_for(predict(rest, held_out, shipped), "held out, shipped form")
    if not options.quick:
        rows += list(nested_rows(rest, held_out, candidate_forms(options.signals.split(","))))
        rows += list(left_out_rows(shipped)) if options.each else []
    print()
    tests = tests_of_known_kind(samples())
    report_results(rows, options.json, [f"{len(tests)} tests, {len({test.project for test in tests})} projects"])


def left_out_rows(forms: dict[str, HeadSettings]) -> Iterator[Row]:
    """Each project predicted by a model of all others."""
    number = len({sample.project for sample in samples()})
    with Pool(2) as pool:
        parts = pool.map(predict_fold, [(fold, number, forms) for fold in range(number)], chunksize=5)
    yield from rows_for(join(parts), "each project left out, shipped form")


def nested_rows(rest: list[Sample], held_out: list[Sample], candidates: list[HeadSettings]) -> Iterator[Row]:
    """The form chosen without the projects that are predicted."""
    folds = fold_of([sample.project for sample in samples()], FOLDS)
    with Pool(2) as pool:
        forms = {}
        for fold in range(FOLDS):
            print(f"fold {fold + 1} of {FOLDS}", flush=True)
            others = frozenset(project for project, number in folds.items() if number != fold)
            forms[fold] = choose_forms(others, candidates, pool)
        print("without the held-out projects", flush=True)
        form = choose_forms(frozenset(sample.project for sample in rest), candidates, pool)
        print("with all projects: the form that should be shipped", flush=True)
        choose_forms(frozenset(folds), candidates, pool)
    parts = [predict_fold((fold, FOLDS, forms[fold])) for fold in range(FOLDS)]
    yield from rows_for(join(parts), "five folds, form chosen inside")
    for row in rows_for(predict(rest, held_out, form), "held out, form chosen by the others"):
        yield replace(row, is_detail=True)


if __name__ == "__main__":
    main()
