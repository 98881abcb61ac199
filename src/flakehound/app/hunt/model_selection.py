"""Select the tests that a hunt reruns and pairs by models of their features (CANNIER)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.data.export import features_of, read_features
from flakehound.app.data.tables import read_table
from flakehound.app.hunt.default_models import default_selection_models
from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.app.hunt.selection import Selection
from flakehound.app.hunt.selection_models import PAIR_PROBLEMS, SelectionModels, models_from_table
from flakehound.core.errors import FailedStep, UsageError, same_command
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.features.table import FEATURE_NAMES
from flakehound.hunt.options import Candidates
from flakehound.learn.extras import requires_libraries
from flakehound.learn.measured.assisted_reruns import Aim, ProbabilityModel
from flakehound.learn.tables.problems import Problem

Features = Mapping[str, Mapping[str, float]]  # test -> feature -> value


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSelector:
    """Selects tests by models of their features, which are given or measured before any other run."""

    models: SelectionModels
    features: Features | None  # of the suite's tests; None: measured in the hunt
    models_without: Callable[[frozenset[str]], SelectionModels] | None = None  # without features a suite lacks

    @classmethod
    @requires_libraries("numpy", "sklearn", "imblearn", "scipy")
    def from_own_table(cls, training: Path, features: Path | None, aim: Aim, seed: int) -> ModelSelector:
        """Models of the user's own table; errors are raised before the suite is opened."""
        known = None if features is None else read_features(features)
        data = read_table(training)
        _check_features(data.features, known, f"{str(training)!r} has", features)
        return cls(models=models_from_table(data, aim, seed), features=known)

    @classmethod
    @requires_libraries("numpy", "sklearn", "imblearn", "scipy")
    def by_default(cls, features: Path | None, aim: Aim) -> ModelSelector:
        """Models of the table we ship."""
        known = None if features is None else read_features(features)
        models = default_selection_models(aim)
        _check_features(models.features, known, "the default models read", features)
        return cls(
            models=models,
            features=known,
            models_without=lambda absent: default_selection_models(aim, absent=absent),
        )

    def __call__(self, hunt: PreparedHunt) -> Selection:
        features = _measured_features(hunt) if self.features is None else self.features
        choice = _Choice(self._models_for(features), features, hunt.opened.suite.order)
        candidates = choice.candidates()
        return Selection(
            candidates=candidates, notes=tuple(choice.notes(candidates)), measured=self.features is None
        )

    def _models_for(self, features: Features) -> SelectionModels:
        """Models without the features that no test has, such as lines where coverage is not installed."""
        present = {name for row in features.values() for name in row}
        absent = frozenset(self.models.features) - present
        if not absent or not present or self.models_without is None:
            return self.models
        return self.models_without(absent)


def _check_features(names: Sequence[str], known: Features | None, source: str, path: Path | None) -> None:
    """Refuse models that need features which this suite's tests do not have; `source` says who needs them."""
    present = set(FEATURE_NAMES) if known is None else {name for row in known.values() for name in row}
    missing = [name for name in names if name not in present]
    if missing and known is None:
        raise UsageError(
            f"{', '.join(missing)}, which {source}, cannot be measured in a hunt: --features is needed",
            remedy=same_command(training=None),
        )
    if missing:
        raise UsageError(
            f"{str(path)!r} lacks the features {', '.join(missing)} that {source}",
            remedy=same_command(policy="index", training=None, features=None),
        )


def _measured_features(hunt: PreparedHunt) -> Features:
    # Few selections measure, so the modules for it are imported only here.
    from flakehound.app.measure import measure_in_hunt

    return {
        vector.id: {name: value for name, value in vector.values.items() if value is not None}
        for vector in measure_in_hunt(hunt)
        if vector.runs
    }


class _Choice:
    """What the models say about the tests of one suite."""

    def __init__(self, models: SelectionModels, features: Features, order: Order) -> None:
        self._models = models
        self._order = order
        rows = {test: features_of(features, test) for test in order}
        self._tests = [test for test in order if all(name in rows[test] for name in models.features)]
        # Tests without features are left to the techniques.
        self._unknown = frozenset(order) - frozenset(self._tests)
        self._values = [[rows[test][name] for name in models.features] for test in self._tests]

    def candidates(self) -> Candidates:
        """The tests to rerun, the possible victims and polluters, and the kinds that need no proof."""
        nod, used = self._nod_probabilities(), self._models.reruns.thresholds
        reruns = frozenset(test for test in self._tests if used.lower <= nod[test] < used.upper) | self._unknown
        victims, polluters = map(self._pair_candidates, PAIR_PROBLEMS)
        return Candidates(reruns=reruns, victims=victims, polluters=polluters, assumed_kinds=dict(self._kinds()))

    def _nod_probabilities(self) -> dict[NodeId, float]:
        return self._probabilities(self._models.reruns.model)

    def _probabilities(self, model: ProbabilityModel) -> dict[NodeId, float]:
        import numpy as np

        if not self._tests:
            return {}
        return dict(zip(self._tests, model.probability(np.array(self._values)), strict=True))

    def _kinds(self) -> Iterator[tuple[NodeId, str]]:
        """The tests whose kind the model is sure of."""
        if isinstance(self._models.kinds, FailedStep):
            return
        used = self._models.kinds.thresholds
        for test, probability in self._probabilities(self._models.kinds.model).items():
            if not used.lower <= probability < used.upper:
                yield test, "victim" if probability < used.lower else "NOD test"

    def _pair_candidates(self, problem: Problem) -> frozenset[NodeId] | None:
        """The possible victims or polluters; None where there is no model for it: then every test is one."""
        model = self._models.pairs.get(problem)
        if model is None:
            return None
        found = self._probabilities(model.model)
        return frozenset(test for test in self._tests if found[test] >= model.min_probability) | self._unknown

    def notes(self, candidates: Candidates) -> Iterator[str]:
        """What the report says about the selection."""
        used, all_tests = self._models.reruns.thresholds, len(self._order)
        assert candidates.reruns is not None
        if self._models.note:
            yield self._models.note
        yield (
            f"model: {len(candidates.reruns)} of {all_tests} tests are rerun (thresholds {used.lower:.2f} and "
            f"{used.upper:.2f}); in training such thresholds cost {used.cost:.0%} of all reruns, with MCC "
            f"{used.detection:.2f}, and {used.lost:.0%} of the NOD tests were taken for steady"
        )
        if candidates.victims is not None and candidates.polluters is not None:
            victims, polluters = candidates.victims, candidates.polluters
            pairs, every = len(victims) * len(polluters) - len(victims & polluters), all_tests * (all_tests - 1)
            yield f"model: {pairs} of {every} pairs can be run"
        if not isinstance(self._models.kinds, FailedStep):
            kinds, sure = self._models.kinds.thresholds, len(candidates.assumed_kinds)
            yield (
                f"model: {sure} tests need no proof of victim or NOD, should they fail in another order "
                f"(thresholds {kinds.lower:.2f} and {kinds.upper:.2f}; MCC {kinds.detection:.2f} in training)"
            )
        nod = self._nod_probabilities()
        for test in self._tests:
            if nod[test] >= used.upper:
                yield f"model: {test} is likely NOD, and was not rerun to prove it"
