"""A suite of ten tests a to j, hunted by the simulator, and runs of it written by hand."""

from __future__ import annotations

from simulator import Behaviour, SimulatedHunt, Simulator, hunt, id_of, suite_of

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.core.records import RunRecord

NAMES = tuple("abcdefghkj")
A, B, C, D, E, F, G, H, K, J = (id_of(name) for name in NAMES)


def hunted(
    names: tuple[str, ...] = NAMES,
    *,
    seed: int = 0,
    options: dict[str, object] | None = None,
    **behaviours: Behaviour,
) -> SimulatedHunt:
    """A whole hunt of these tests, with `behaviours` planted by name."""
    planted = {id_of(name): acts for name, acts in behaviours.items()}
    return hunt(Simulator(suite_of(*names), planted, seed=seed), hunt_seed=seed + 5, **(options or {}))


def a_run(order: list[NodeId] | tuple[NodeId, ...], letters: str, **changes: object) -> RunRecord:
    """One process that ran these tests with these outcomes."""
    usual: dict[str, object] = {
        "order": tuple(order),
        "outcomes": tuple(map(Outcome, letters)),
        "durations_s": (0.01,) * len(order),
        "setting": Setting.ALONE if len(order) == 1 else Setting.PROBE,
        "isolation": Isolation.FORK,
        "why": "",
    }
    return RunRecord(**(usual | changes))


def in_turns(one: RunRecord, other: RunRecord, times: int) -> list[RunRecord]:
    """Both runs so often, one after the other."""
    return [one, other] * times
