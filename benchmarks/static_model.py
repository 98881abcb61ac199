"""How well lint's model ranks the tests of projects it has never seen, and how long it takes.

Every project is scored by a model that was fitted, and whose form was chosen, without it: in each of five folds by
project the candidates are compared in four folds of the other projects, and the best is fitted on all of these.

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

import side_by_side
from lint_recall import auc, is_held_out

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


def candidates(names: Sequence[str]) -> list[HeadSettings]:
    chosen = [SIGNALS[name] for name in names]
    return [
        HeadSettings(signals=signals, penalty=held, words=words)
        for signals, words in chosen
        for held in _PENALTIES
    ]


INNER = 4


@cache
def samples() -> list[Sample]:
    return shipped_samples(shipped_bytes())


def signals_for(tests: Sequence[Sample], names: Iterable[str]) -> list[dict[str, float]]:
    """Of those whose kind is known; the others count in the means over their files."""
    files = [f"{one.project} {one.file}" for one in tests]
    signals = signals_of([test.values for test in tests], files, names)
    return [one for test, one in zip(tests, signals, strict=True) if test.learned]


def known(tests: Sequence[Sample]) -> list[Sample]:
    return [one for one in tests if one.learned]


def inner_auc(job: tuple[str, HeadSettings, frozenset[str]]) -> float:
    """How a candidate ranks the tests of these projects, each predicted by the others of them."""
    kind, form, projects = job
    place = fold_of(sorted(projects), INNER)
    found: list[float] = []
    wanted: list[bool] = []
    for fold in range(INNER):
        train = [one for one in samples() if one.project in projects and place[one.project] != fold]
        test = [one for one in samples() if one.project in projects and place[one.project] == fold]
        # Without the constant, as it tells how many tests flake in the other folds.
        model = fit_head(train, kind, form)
        found += [model.evidence(one) for one in signals_for(test, model.weights)]
        wanted += [one.is_of(kind) for one in known(test)]
    return auc(found, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Tests, and what models that did not know their projects say of them."""

    tests: list[Sample]
    chances: list[FlakyChances]
    # The same with constants for one and the same base rate: a fold's own constant tells how many tests flake in
    # the other folds, and so where many flake here, it is low. Only for ranking tests of several folds.
    ranked: list[FlakyChances]

    def auc(self, kind: str, by: str) -> float:
        return auc([getattr(one, by) for one in self.ranked], [test.is_of(kind) for test in self.tests])

    def top_share(self, kind: str, by: str, share: float = 0.1) -> float:
        order = sorted(range(len(self.tests)), key=lambda one: -float(getattr(self.ranked[one], by)))
        top = order[: round(share * len(order))]
        return sum(self.tests[one].is_of(kind) for one in top) / sum(test.is_of(kind) for test in self.tests)

    def within(self, kind: str, by: str) -> float:
        """The mean over projects of the AUC within them."""
        found = []
        by_project = itertools.groupby(sorted(range(len(self.tests)), key=self._project), key=self._project)
        for _project, group in by_project:
            places = list(group)
            one = auc([getattr(self.ranked[p], by) for p in places], [self.tests[p].is_of(kind) for p in places])
            found += [] if math.isnan(one) else [one]
        return sum(found) / len(found)

    def _project(self, place: int) -> str:
        return self.tests[place].project

    def flaky(self) -> list[bool]:
        return [test.nod or test.order_dependent for test in self.tests]

    def brier(self) -> float:
        pairs = zip(self.chances, self.flaky(), strict=True)
        return sum((one.flaky - yes) ** 2 for one, yes in pairs) / len(self.tests)

    def bins(self, number: int = 10) -> list[tuple[int, float, float]]:
        """Equally many tests each, by score: how many, their mean score, the share of them that are flaky."""
        pairs = sorted((one.flaky, yes) for one, yes in zip(self.chances, self.flaky(), strict=True))
        cuts = [len(pairs) * place // number for place in range(number + 1)]
        parts = [pairs[a:b] for a, b in itertools.pairwise(cuts)]
        return [
            (len(part), sum(one for one, _ in part) / len(part), sum(yes for _, yes in part) / len(part))
            for part in parts
        ]

    def calibration_error(self) -> float:
        return sum(n * abs(said - seen) for n, said, seen in self.bins()) / len(self.tests)


def predicted(train: Sequence[Sample], test: list[Sample], forms: dict[str, HeadSettings]) -> Judged:
    heads = {kind: fit_head(train, kind, forms[kind]) for kind in KINDS}
    levelled = {kind: _levelled(one, kind) for kind, one in heads.items()}
    return Judged(tests=known(test), chances=_chances(heads, test), ranked=_chances(levelled, test))


def _chances(heads: dict[str, Head], test: Sequence[Sample]) -> list[FlakyChances]:
    nod, order = heads[NOD], heads[ORDER_DEPENDENT]
    return [chances_of(nod, order, one) for one in signals_for(test, [*nod.weights, *order.weights])]


def _levelled(model: Head, kind: str) -> Head:
    """The same weights with constants for the base rates of all projects; no test's own label matters for it."""
    odds = [model.evidence(one) for one in signals_for(samples(), model.weights)]
    wanted = sum(one.is_of(kind) for one in known(samples()))
    constant, even = (constant_for(odds, [1.0] * len(odds), many) for many in (wanted, half_of_flaky(samples())))
    return replace(model, constant=constant, even=even)


def chosen(projects: frozenset[str], forms: Sequence[HeadSettings], pool: Pool) -> dict[str, HeadSettings]:  # type: ignore[valid-type]
    found = {}
    for kind in KINDS:
        areas = pool.map(inner_auc, [(kind, form, projects) for form in forms], chunksize=1)  # type: ignore[attr-defined]
        area, form = max(zip(areas, forms, strict=True), key=lambda pair: pair[0])
        names = next(name for name, signals in SIGNALS.items() if signals == (form.signals, form.words))
        print(f"  {kind}: {names} at {form.penalty:g} (inner AUC {area:.3f})", flush=True)
        found[kind] = form
    return found


Fold = tuple[int, int, dict[str, HeadSettings]]  # which, of how many, with which forms


def one_fold(fold: Fold) -> Judged:
    number, folds, forms = fold
    place = fold_of([one.project for one in samples()], folds)
    train = [one for one in samples() if place[one.project] != number]
    return predicted(train, [one for one in samples() if place[one.project] == number], forms)


def joined(parts: Sequence[Judged]) -> Judged:
    return Judged(
        tests=[one for part in parts for one in part.tests],
        chances=[one for part in parts for one in part.chances],
        ranked=[one for part in parts for one in part.ranked],
    )


def rows_for(judged: Judged, title: str) -> Iterator[side_by_side.Row]:
    for kind, label in ((NOD, "NOD"), (ORDER_DEPENDENT, "order-dependent")):
        area, one = judged.auc(kind, kind), judged.auc(kind, "flaky")
        yield side_by_side.Row(
            job=f"AUC, {label}: {title}",
            ours=f"{area:.3f} by its own chance; within projects {judged.within(kind, kind):.3f}",
            peer="–",
            measured=f"{one:.3f} by the one score",
            goal="≥ 0.75",
            met=one >= 0.75,
        )
    share = judged.top_share(NOD, "flaky")
    yield side_by_side.Row(
        job=f"NOD tests in the top 10 % by score: {title}",
        ours=f"{judged.top_share(NOD, NOD):.0%} by the chance of NOD",
        peer="–",
        measured=f"{share:.0%} by the one score",
        goal="≥ 40 %",
        met=share >= 0.4,
    )
    base = sum(judged.flaky()) / len(judged.tests)
    yield side_by_side.Row(
        job=f"calibration: {title}",
        ours=f"Brier {judged.brier():.4f}, mean error of ten bins {judged.calibration_error():.4f}",
        peer=f"Brier {base * (1 - base):.4f} of the base rate alone",
        measured=", ".join(f"{said:.1%}→{seen:.1%}" for _n, said, seen in judged.bins()),
    )


def told_times() -> Iterator[side_by_side.Row]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        model = default_model(Path(folder))
        first = time.perf_counter() - start
        again = default_model(Path(folder))
        second = time.perf_counter() - start - first
    assert again == model
    tests = (samples() * (10_000 // len(samples()) + 1))[:10_000]
    start = time.perf_counter()
    model.chances([one.values for one in tests], [f"{one.project} {one.file}" for one in tests])
    scoring = time.perf_counter() - start
    yield _timed("fit the default model, data read from the package", first, 10.0)
    yield _timed("the same from the cache", second, 0.3)
    yield _timed("score 10,000 tests", scoring, 1.0)


def _timed(job: str, seconds: float, most: float) -> side_by_side.Row:
    return side_by_side.Row(
        job=job,
        ours=f"{seconds:.2f} s",
        peer="–",
        measured=f"{seconds:.2f} s",
        goal=f"≤ {most:g} s",
        met=seconds <= most,
    )


def main() -> None:
    parser = side_by_side.arguments(__doc__ or "", repeats=1)
    parser.add_argument(
        "--quick", action="store_true", help="only the form of the product, without a choice inside"
    )
    parser.add_argument("--each", action="store_true", help="leave each project out by itself, too")
    parser.add_argument("--signals", default=",".join(SIGNALS), help="sets to choose from (default %(default)s)")
    asked = parser.parse_args()
    results = list(told_times())
    fixed = dict(HEAD_SETTINGS)
    results += rows_for(
        joined([one_fold((n, FOLDS, fixed)) for n in range(FOLDS)]), "five folds, form of the product"
    )
    apart = [one for one in samples() if is_held_out(one.project)]
    rest = [one for one in samples() if not is_held_out(one.project)]
    results += rows_for(predicted(rest, apart, fixed), "projects kept apart, form of the product")
    if not asked.quick:
        results += list(nested(rest, apart, candidates(asked.signals.split(","))))
        results += list(each_left_out(fixed)) if asked.each else []
    print()
    side_by_side.told(
        results,
        asked.json,
        [f"{len(known(samples()))} tests, {len({one.project for one in known(samples())})} projects"],
    )


def each_left_out(forms: dict[str, HeadSettings]) -> Iterator[side_by_side.Row]:
    number = len({one.project for one in samples()})
    with Pool(2) as pool:
        parts = pool.map(one_fold, [(fold, number, forms) for fold in range(number)], chunksize=5)
    yield from rows_for(joined(parts), "each project left out, form of the product")


def nested(rest: list[Sample], apart: list[Sample], among: list[HeadSettings]) -> Iterator[side_by_side.Row]:
    place = fold_of([one.project for one in samples()], FOLDS)
    with Pool(2) as pool:
        forms = {}
        for fold in range(FOLDS):
            print(f"fold {fold + 1} of {FOLDS}", flush=True)
            forms[fold] = chosen(frozenset(name for name, one in place.items() if one != fold), among, pool)
        print("without the projects kept apart", flush=True)
        form = chosen(frozenset(one.project for one in rest), among, pool)
        print("with all projects: what the product should use", flush=True)
        chosen(frozenset(place), among, pool)
    parts = [one_fold((fold, FOLDS, forms[fold])) for fold in range(FOLDS)]
    yield from rows_for(joined(parts), "five folds, form chosen inside")
    yield from rows_for(predicted(rest, apart, form), "projects kept apart, form chosen by the others")


if __name__ == "__main__":
    main()
