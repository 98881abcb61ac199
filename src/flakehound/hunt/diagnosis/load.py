"""Tests that so far failed only while other runs of ours were going on: is it the load, or chance?"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from flakehound.core.history import History, Sighting, Tally, tally_of
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.core.statistics.rates import chance_of_such_a_gap
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.questions import (
    DEAREST_QUIET_RUNS,
    LEAST_QUIET_RUNS,
    LUCK,
    PATIENCE,
    Asker,
    Need,
    quiet_runs_for,
)

DEAR_RUN_S = 0.5  # before an order that costs more is repeated, the test is tried alone
RUNS_ALONE = 10
RUNS_BESIDE = 10  # as the measure of what undisturbed runs should show
EXACT_REPLAYS = 2  # of the failing order and seed, before other seeds are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """Where a test failed beside other runs, and how often it did, with and without them."""

    order: Order  # ends with the test
    isolation: Isolation
    hash_seed: int | None  # of the new interpreter; None in a fork
    seed: int | None  # under which it failed
    beside: Tally
    quiet: Tally
    cost_s: float  # of one run

    @property
    def luck(self) -> float:
        """How likely so many undisturbed passes are if load makes no difference."""
        return chance_of_such_a_gap(self.beside.failed, self.beside.n, 0, self.quiet.n)

    def missing(self, luck: float = 1.0) -> int:
        """Undisturbed runs it takes to rule out luck, within reason; `luck` is what other scenes leave of it."""
        return max(0, quiet_runs_for(self.beside, self.cost_s, luck) - self.quiet.n)

    def can_rule_out(self, luck: float) -> bool:
        """Whether that many runs would do."""
        runs = self.quiet.n + self.missing(luck)
        return luck * chance_of_such_a_gap(self.beside.failed, self.beside.n, 0, runs) <= LUCK

    @property
    def where(self) -> str:
        """The circumstances in words."""
        return "after the same tests" if len(self.order) > 1 else "alone"


class LoadInquiry:
    """One test whose failures all had other runs beside them, wherever it also passes."""

    def __init__(self, ask: Asker, history: History, finding: Finding) -> None:
        self._ask = ask
        self._history = history
        self._finding = finding
        self._test = finding.test

    def pursue(self) -> bool:
        """Repeat a failure with nothing beside it: first exactly, then after the same tests with other seeds.

        False if it failed beside other runs nowhere that it does not fail undisturbed as well.
        """
        failures = self._history.failures_of(self._test)
        beside = [s for s in failures if s.record.disturbed]
        scenes = [scene for scene in self._scenes(beside) if not scene.quiet.failed]
        quiet = sum(scene.quiet.n for scene in scenes)
        self._finding.seems_load = quiet >= DEAREST_QUIET_RUNS
        open_question = quiet < LEAST_QUIET_RUNS or prod(scene.luck for scene in scenes) > LUCK
        if open_question and (self._ask.patient or not self._finding.seems_load):
            self._repeat(scenes)
        if scenes:
            self._note_load(scenes, only=len(beside) == len(failures))
        return bool(scenes)

    def _scenes(self, failures: list[Sighting]) -> list[_Scene]:
        """The shortest way it failed, and the original order if it failed there; what tells soonest first."""
        if not failures:
            return []
        shortest = min(failures, key=lambda s: (s.record.isolation is Isolation.SPAWN, s.place))
        originals = [
            s
            for s in failures
            if s.record.setting is Setting.ORIGINAL and s.record.isolation is shortest.record.isolation and s.place
        ]
        found = {(scene.order, scene.hash_seed): scene for scene in map(self._scene, (shortest, *originals[-1:]))}
        return sorted(found.values(), key=lambda scene: scene.missing() * scene.cost_s)

    def _repeat(self, scenes: list[_Scene]) -> None:
        if scenes and scenes[0].cost_s > DEAR_RUN_S:
            why = f"does {self._test} fail alone with nothing beside it?"
            self._ask.last_of((self._test,), times=RUNS_ALONE, why=why, undisturbed=True)
        for number, scene in enumerate(scenes):
            luck = prod(other.luck for other in scenes if other is not scene)
            # The first is worth its runs in any case: they may prove that the test is NOD.
            if scene.missing(luck) and (number == 0 or scene.can_rule_out(luck)):
                self._repeat_beside(scene)
                self._repeat_quietly(scene, luck)

    def _repeat_beside(self, scene: _Scene) -> None:
        """A failure seen once or twice says little about how often it should show undisturbed."""
        missing = RUNS_BESIDE - scene.beside.n
        if missing <= 0 or scene.quiet.n < LEAST_QUIET_RUNS or scene.cost_s > DEAR_RUN_S:
            return
        if self._history.runs_of(scene.order) < scene.quiet.n + RUNS_BESIDE + PATIENCE:
            raise Need([self._plan(scene, undisturbed=False)] * missing)

    def _repeat_quietly(self, scene: _Scene, luck: float) -> None:
        same = [
            s
            for s in self._history.after(scene.order[:-1], self._test)
            if s.record.isolation is scene.isolation and not s.record.disturbed
        ]
        missing = scene.missing(luck)
        made = max(len(same), self._history.runs_of(scene.order, scene.isolation, disturbed=False))
        if made >= scene.quiet.n + missing + PATIENCE:
            return  # it only skips itself
        exact = max(0, min(missing, EXACT_REPLAYS - sum(s.record.seed == scene.seed for s in same)))
        plans = [self._plan(scene, undisturbed=True, seed=scene.seed)] * exact
        raise Need(plans + [self._plan(scene, undisturbed=True)] * (missing - exact))

    def _plan(self, scene: _Scene, *, undisturbed: bool, seed: int | None = None) -> RunPlan:
        beside = "nothing" if undisturbed else "others"
        return RunPlan(
            order=scene.order,
            why=f"does {self._test} fail with {beside} beside it?",
            setting=Setting.ALONE if len(scene.order) == 1 and seed is None else Setting.PROBE,
            isolation=scene.isolation,
            seed=seed,
            hash_seed=scene.hash_seed,
            undisturbed=undisturbed,
        )

    def _note_load(self, scenes: list[_Scene], *, only: bool) -> None:
        told = [scene for scene in scenes if scene.quiet.n] or scenes[:1]
        beside = sum((scene.beside for scene in told), Tally())
        quiet = sum((scene.quiet for scene in told), Tally())
        where = " and ".join(dict.fromkeys(scene.where for scene in told))
        proven = prod(scene.luck for scene in told) <= LUCK
        self._finding.note_load(beside, quiet, where, proven=proven, only=only)

    def _scene(self, sighting: Sighting) -> _Scene:
        record, order = sighting.record, sighting.record.order[: sighting.place + 1]
        fresh = record.isolation is Isolation.SPAWN
        return _Scene(
            order=order,
            isolation=record.isolation,
            hash_seed=record.hash_seed if fresh else None,
            seed=record.seed,
            beside=seen_like(self._history, sighting, disturbed=True),
            quiet=seen_like(self._history, sighting, disturbed=False),
            cost_s=self._ask.cost_s(order, record.isolation),
        )


def seen_like(history: History, sighting: Sighting, *, disturbed: bool | None = None) -> Tally:
    """Runs after the same tests in the same sort of process, those of the original order among them."""
    record, place = sighting.record, sighting.place
    test, prefix = record.order[place], record.order[:place]
    in_original = history.tally(
        test,
        Setting.ORIGINAL,
        isolation=record.isolation,
        disturbed=disturbed,
        hash_seed=record.hash_seed,
        after=prefix,
    )
    return in_original + tally_of(
        s
        for s in history.after(prefix, test)
        if s.record.setting is not Setting.ORIGINAL
        and s.record.isolation is record.isolation
        and s.record.hash_seed == record.hash_seed
        and disturbed in (None, s.record.disturbed)
    )
