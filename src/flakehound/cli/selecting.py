"""Which tests a hunt reruns and pairs, by a trained model or by the functions they call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flakehound.calls.causes import likely_causes
from flakehound.calls.characteristic import Characteristic
from flakehound.cli.calls_run import WHY, run_traced
from flakehound.cli.calls_settings import wish_for
from flakehound.cli.data_export import features_in, looked_up
from flakehound.cli.data_tables import read_table
from flakehound.cli.remedies import again
from flakehound.core.calls import TraceMode
from flakehound.core.errors import Problem as Trouble
from flakehound.core.errors import UsageError, attempted
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, RunPlan, Setting
from flakehound.core.records import RunRecord
from flakehound.core.rerun_model import SMALL_TEST_S
from flakehound.engine.limits import Limits
from flakehound.engine.opening import OpenSuite
from flakehound.hunt.options import Candidates
from flakehound.learn.assisted import Aim, Thresholds, candidate_threshold, learned, swept
from flakehound.learn.dataset import Dataset
from flakehound.learn.extras import check_installed, numpy
from flakehound.learn.pipelines import Fitted
from flakehound.learn.problems import Problem

_PAIRED = (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)
Keep = Callable[[Sequence[RunRecord]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was chosen, and what the report says of it."""

    candidates: Candidates
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleModel:
    """Decides what it is sure of; between its thresholds the technique does."""

    model: Fitted
    thresholds: Thresholds

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, aim: Aim, seed: int) -> SingleModel:
        """From one table."""
        return cls(model=learned(data, problem, seed), thresholds=swept(data, problem, seed).thresholds(aim))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairModel:
    """Tells the possible victims, or the possible polluters, of pairs."""

    model: Fitted
    least: float  # probability of a candidate

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, seed: int) -> PairModel:
        """From one table."""
        return cls(model=learned(data, problem, seed), least=candidate_threshold(data, problem, seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedSelector:
    """Chooses by models of a table (CANNIER)."""

    names: tuple[str, ...]  # of the features
    features: Mapping[str, Mapping[str, float]]  # of the suite's tests
    reruns: SingleModel
    kinds: SingleModel | Trouble  # the latter where the table cannot teach it
    pairing: Mapping[Problem, PairModel]  # without those that the table cannot teach

    @classmethod
    def trained(cls, training: Path, features: Path, aim: Aim, seed: int) -> TrainedSelector:
        """Read both tables and learn the thresholds; every error comes before the suite is opened."""
        check_installed("numpy", "sklearn", "imblearn", "scipy")
        data, known = read_table(training), features_in(features)
        missing = [name for name in data.features if not any(name in row for row in known.values())]
        if missing:
            raise UsageError(
                f"{str(features)!r} lacks the features {', '.join(missing)} that {str(training)!r} has",
                remedy=again(policy="index", training=None, features=None),
            )
        pairing = {problem: attempted(partial(PairModel.trained, data, problem, seed)) for problem in _PAIRED}
        return cls(
            names=data.features,
            features=known,
            reruns=SingleModel.trained(data, Problem.NOD_VS_REST, aim, seed),
            kinds=attempted(partial(SingleModel.trained, data, Problem.NOD_VS_VICTIM, aim, seed)),
            pairing={problem: model for problem, model in pairing.items() if isinstance(model, PairModel)},
        )

    def __call__(self, opened: OpenSuite, _keep: Keep, _known: Characteristic) -> Selection:
        tests = [test for test in opened.suite.order if len(looked_up(self.features, test)) >= len(self.names)]
        unknown = frozenset(opened.suite.order) - frozenset(tests)  # no features: left to the techniques
        nod, used = self._probabilities(self.reruns.model, tests), self.reruns.thresholds
        reruns = frozenset(t for t in tests if used.lower <= nod[t] < used.upper) | unknown
        positive = [test for test in tests if nod[test] >= used.upper]
        victims, polluters = (self._candidates(problem, tests, unknown) for problem in _PAIRED)
        kinds = dict(self._kinds(tests))
        candidates = Candidates(reruns=reruns, victims=victims, polluters=polluters, taken_for=kinds)
        return Selection(candidates=candidates, notes=tuple(self._notes(opened.suite.order, candidates, positive)))

    def _probabilities(self, model: Fitted, tests: Sequence[NodeId]) -> dict[NodeId, float]:
        if not tests:
            return {}
        values = numpy().array([[looked_up(self.features, t)[name] for name in self.names] for t in tests])
        return dict(zip(tests, model.probability(values), strict=True))

    def _kinds(self, tests: Sequence[NodeId]) -> Iterator[tuple[NodeId, str]]:
        if isinstance(self.kinds, Trouble):
            return
        used = self.kinds.thresholds
        for test, probability in self._probabilities(self.kinds.model, tests).items():
            if not used.lower <= probability < used.upper:
                yield test, "victim" if probability < used.lower else "NOD test"

    def _candidates(
        self, problem: Problem, tests: Sequence[NodeId], unknown: frozenset[NodeId]
    ) -> frozenset[NodeId] | None:
        """None where the table could not tell: then every test is one."""
        known = self.pairing.get(problem)
        if known is None:
            return None
        found = self._probabilities(known.model, tests)
        return frozenset(test for test in tests if found[test] >= known.least) | unknown

    def _notes(self, order: Order, candidates: Candidates, positive: Sequence[NodeId]) -> list[str]:
        used, all_tests = self.reruns.thresholds, len(order)
        assert candidates.reruns is not None
        notes = [
            f"model: {len(candidates.reruns)} of {all_tests} tests are rerun (thresholds {used.lower:.2f} and "
            f"{used.upper:.2f}); in training such thresholds cost {used.cost:.0%} of all reruns, with MCC "
            f"{used.detection:.2f}, and {used.lost:.0%} of the NOD tests were taken for steady"
        ]
        if candidates.victims is not None and candidates.polluters is not None:
            pairs, every = len(candidates.victims) * len(candidates.polluters), all_tests * (all_tests - 1)
            notes.append(f"model: {pairs} of {every} pairs can be run")
        if not isinstance(self.kinds, Trouble):
            told, sure = self.kinds.thresholds, len(candidates.taken_for)
            notes.append(
                f"model: it tells victim from NOD by itself in {sure} tests, should they fail in another order "
                f"(thresholds {told.lower:.2f} and {told.upper:.2f}; MCC {told.detection:.2f} in training)"
            )
        return notes + [f"model: {test} is likely NOD, and was not rerun to prove it" for test in positive]


def _mode(python: str) -> TraceMode:
    """What leaves no call unheard: before 3.12 the cheap mode hears only the first calls of a test."""
    version = tuple(map(int, python.split(".")[:2]))
    return TraceMode.CHARACTERISTIC if version >= (3, 12) else TraceMode.ALL


def select_by_calls(opened: OpenSuite, keep: Keep, known: Characteristic) -> Selection:
    """Tests that call a characteristic function, and small ones, which cost less than they could save."""
    plan = RunPlan(
        order=opened.suite.order,
        why=WHY,
        setting=Setting.ORIGINAL,
        isolation=opened.isolation,
        seed=0,
        hash_seed=opened.hash_seed,
        trace=wish_for(known, _mode(opened.handshake.python)),
    )
    records = run_traced(opened, plan, Limits(), lambda _words: None)
    keep([record for record in records if record.calls])
    # Times of the reference run: a traced one is slower.
    small = {
        test
        for record in opened.reference
        for test, seconds in zip(record.order, record.durations_s, strict=True)
        if seconds < SMALL_TEST_S
    }
    silent = {
        record.order[place]
        for record in records
        for place, trace in record.calls.items()
        if not likely_causes([trace], known) and record.order[place] not in small
    }
    chosen = frozenset(opened.suite.order) - silent
    share = f"{len(chosen)} of {len(opened.suite.order)} tests"
    note = f"calls: {share} are rerun; the others call no characteristic function and take 4 ms or more"
    return Selection(candidates=Candidates(reruns=chosen), notes=(note,))
