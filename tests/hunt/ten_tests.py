"""A suite of ten tests a to j for simulated hunts, and hand-made runs of it."""

from __future__ import annotations

from simulator import Behaviour, SimulatedHunt, Simulator, hunt, id_of, suite_of

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting, Suite
from flakehound.core.records import RunRecord

NAMES = tuple("abcdefghkj")
A, B, C, D, E, F, G, H, K, J = (id_of(name) for name in NAMES)


def suite_of_ten() -> Suite:
    """All ten of them in one file."""
    return suite_of(*NAMES)


def run_hunt(
    names: tuple[str, ...] = NAMES,
    *,
    seed: int = 0,
    options: dict[str, object] | None = None,
    **behaviours: Behaviour,
) -> SimulatedHunt:
    """Simulate a whole hunt of these tests; `behaviours` are given by test name."""
    by_id = {id_of(name): behaviour for name, behaviour in behaviours.items()}
    return hunt(Simulator(suite_of(*names), by_id, seed=seed), hunt_seed=seed + 5, **(options or {}))


def a_run(order: list[NodeId] | tuple[NodeId, ...], letters: str, **changes: object) -> RunRecord:
    """One process that ran these tests with these outcomes."""
    defaults: dict[str, object] = {
        "order": tuple(order),
        "outcomes": tuple(map(Outcome, letters)),
        "durations_s": (0.01,) * len(order),
        "setting": Setting.ALONE if len(order) == 1 else Setting.PROBE,
        "isolation": Isolation.FORK,
        "why": "",
    }
    return RunRecord(**(defaults | changes))


def alternating(first: RunRecord, second: RunRecord, times: int) -> list[RunRecord]:
    """Both runs in turn, `times` times each."""
    return [first, second] * times
