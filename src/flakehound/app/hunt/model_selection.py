"""Which tests a hunt reruns and pairs, by models of a table (CANNIER)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flakehound.app.data.export import features_in, looked_up
from flakehound.app.data.tables import read_table
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.selection import Selection
from flakehound.core.errors import FailedStep, UsageError, attempted, same_command
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.features.table import NAMES
from flakehound.hunt.options import Candidates
from flakehound.learn.extras import requires_libraries
from flakehound.learn.measured.assisted_reruns import Aim, Scorer, Thresholds, candidate_threshold, learned, swept
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

PAIRED = (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)
Features = Mapping[str, Mapping[str, float]]  # of a suite's tests


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleModel:
    """Decides what it is sure of; between its thresholds the technique does."""

    model: Scorer
    thresholds: Thresholds

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, aim: Aim, seed: int) -> SingleModel:
        """From one table."""
        return cls(model=learned(data, problem, seed), thresholds=swept(data, problem, seed).thresholds(aim))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairModel:
    """Tells the possible victims, or the possible polluters, of pairs."""

    model: Scorer
    least: float  # probability of a candidate

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, seed: int) -> PairModel:
        """From one table."""
        return cls(model=learned(data, problem, seed), least=candidate_threshold(data, problem, seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What one table has taught."""

    names: tuple[str, ...]  # of the features
    reruns: SingleModel
    kinds: SingleModel | FailedStep  # the latter where the table cannot teach it
    pairing: Mapping[Problem, PairModel]  # without those that the table cannot teach
    note: str = ""  # what the report says of the table


def taught_by(data: Dataset, aim: Aim, seed: int) -> Taught:
    """Learn from a table of the user's own."""
    pairing = {problem: attempted(partial(PairModel.trained, data, problem, seed)) for problem in PAIRED}
    return Taught(
        names=data.features,
        reruns=SingleModel.trained(data, Problem.NOD_VS_REST, aim, seed),
        kinds=attempted(partial(SingleModel.trained, data, Problem.NOD_VS_VICTIM, aim, seed)),
        pairing={problem: model for problem, model in pairing.items() if isinstance(model, PairModel)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSelector:
    """Chooses by what a table taught; the suite's features are told, or measured before anything else runs."""

    taught: Taught
    told: Features | None  # None: measured
    taught_without: Callable[[frozenset[str]], Taught] | None = None  # for features that a suite cannot have

    @classmethod
    @requires_libraries("numpy", "sklearn", "imblearn", "scipy")
    def of_own_table(cls, training: Path, features: Path | None, aim: Aim, seed: int) -> ModelSelector:
        """By a table of the user's; every error comes before the suite is opened."""
        told = None if features is None else features_in(features)
        data = read_table(training)
        _check_features(data.features, told, f"{str(training)!r} has", features)
        return cls(taught=taught_by(data, aim, seed), told=told)

    @classmethod
    @requires_libraries("numpy", "sklearn", "imblearn", "scipy")
    def by_default(cls, features: Path | None, aim: Aim) -> ModelSelector:
        """By the table we ship."""
        from flakehound.app.hunt.default_models import default_taught

        told = None if features is None else features_in(features)
        taught = default_taught(aim)
        _check_features(taught.names, told, "the default models read", features)
        return cls(taught=taught, told=told, taught_without=lambda absent: default_taught(aim, absent=absent))

    def __call__(self, hunt: PreparedHunt) -> Selection:
        features = _measured(hunt) if self.told is None else self.told
        taught = self._taught_for(features)
        candidates, notes = _Choice(taught, features, hunt.opened.suite.order).made()
        return Selection(candidates=candidates, notes=notes, measured=self.told is None)

    def _taught_for(self, features: Features) -> Taught:
        """Without the features that no test of this suite has, such as lines where coverage is not installed."""
        seen = {name for row in features.values() for name in row}
        absent = frozenset(self.taught.names) - seen
        if not absent or not seen or self.taught_without is None:
            return self.taught
        return self.taught_without(absent)


def _check_features(names: Sequence[str], told: Features | None, who: str, path: Path | None) -> None:
    """That the features which a table has can be had of this suite too."""
    seen = set(NAMES) if told is None else {name for row in told.values() for name in row}
    missing = [name for name in names if name not in seen]
    if missing and told is None:
        raise UsageError(
            f"{', '.join(missing)}, which {who}, cannot be measured in a hunt: --features has to tell",
            remedy=same_command(training=None),
        )
    if missing:
        raise UsageError(
            f"{str(path)!r} lacks the features {', '.join(missing)} that {who}",
            remedy=same_command(policy="index", training=None, features=None),
        )


def _measured(hunt: PreparedHunt) -> Features:
    from flakehound.app.measure import measured_first

    return {
        vector.id: {name: value for name, value in vector.values.items() if value is not None}
        for vector in measured_first(hunt)
        if vector.runs
    }


class _Choice:
    """What the models say of one suite."""

    def __init__(self, taught: Taught, features: Features, order: Order) -> None:
        self._taught = taught
        self._order = order
        rows = {test: looked_up(features, test) for test in order}
        self._tests = [test for test in order if all(name in rows[test] for name in taught.names)]
        # No features: left to the techniques.
        self._unknown = frozenset(order) - frozenset(self._tests)
        self._values = [[rows[test][name] for name in taught.names] for test in self._tests]

    def made(self) -> tuple[Candidates, tuple[str, ...]]:
        """The candidates, and what the report says of them."""
        nod, used = self._probabilities(self._taught.reruns.model), self._taught.reruns.thresholds
        reruns = frozenset(t for t in self._tests if used.lower <= nod[t] < used.upper) | self._unknown
        positive = [test for test in self._tests if nod[test] >= used.upper]
        victims, polluters = map(self._candidates, PAIRED)
        candidates = Candidates(reruns=reruns, victims=victims, polluters=polluters, taken_for=dict(self._kinds()))
        return candidates, tuple(self._notes(candidates, positive))

    def _probabilities(self, model: Scorer) -> dict[NodeId, float]:
        import numpy as np

        if not self._tests:
            return {}
        return dict(zip(self._tests, model.probability(np.array(self._values)), strict=True))

    def _kinds(self) -> Iterator[tuple[NodeId, str]]:
        if isinstance(self._taught.kinds, FailedStep):
            return
        used = self._taught.kinds.thresholds
        for test, probability in self._probabilities(self._taught.kinds.model).items():
            if not used.lower <= probability < used.upper:
                yield test, "victim" if probability < used.lower else "NOD test"

    def _candidates(self, problem: Problem) -> frozenset[NodeId] | None:
        """None where the table could not tell: then every test is one."""
        known = self._taught.pairing.get(problem)
        if known is None:
            return None
        found = self._probabilities(known.model)
        return frozenset(test for test in self._tests if found[test] >= known.least) | self._unknown

    def _notes(self, candidates: Candidates, positive: Sequence[NodeId]) -> list[str]:
        used, all_tests = self._taught.reruns.thresholds, len(self._order)
        assert candidates.reruns is not None
        notes = [self._taught.note] if self._taught.note else []
        notes.append(
            f"model: {len(candidates.reruns)} of {all_tests} tests are rerun (thresholds {used.lower:.2f} and "
            f"{used.upper:.2f}); in training such thresholds cost {used.cost:.0%} of all reruns, with MCC "
            f"{used.detection:.2f}, and {used.lost:.0%} of the NOD tests were taken for steady"
        )
        if candidates.victims is not None and candidates.polluters is not None:
            victims, polluters = candidates.victims, candidates.polluters
            pairs, every = len(victims) * len(polluters) - len(victims & polluters), all_tests * (all_tests - 1)
            notes.append(f"model: {pairs} of {every} pairs can be run")
        if not isinstance(self._taught.kinds, FailedStep):
            told, sure = self._taught.kinds.thresholds, len(candidates.taken_for)
            notes.append(
                f"model: it tells victim from NOD by itself in {sure} tests, should they fail in another order "
                f"(thresholds {told.lower:.2f} and {told.upper:.2f}; MCC {told.detection:.2f} in training)"
            )
        return notes + [f"model: {test} is likely NOD, and was not rerun to prove it" for test in positive]
