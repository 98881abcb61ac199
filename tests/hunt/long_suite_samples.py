"""A small suite that is long enough for suspects to share runs, and a hunt in it."""

from __future__ import annotations

from simulator import Simulator, hunt, id_of, suite_of

from flakehound.core.outcomes import NodeId

TESTS = 400
TEST_S = 0.1  # 40 seconds in all: long enough for suspects to share runs


def names(number: int = TESTS) -> list[str]:
    return [f"f{place // 25}.py::t{place}" for place in range(number)]


def at(place: int) -> NodeId:
    return id_of(names()[place])


def long_suite(behaviours: dict[int, object]) -> Simulator:
    suite = suite_of(*names())
    planted = {at(place): behaviour for place, behaviour in behaviours.items()}
    times = {test.id: TEST_S for test in suite.tests}
    return Simulator(suite, planted, test_s=times, fork_s=0.02, interpreter_s=2.0)  # type: ignore[arg-type]


def hunted(behaviours: dict[int, object], time_left_s: float = 400.0):
    return hunt(
        long_suite(behaviours),
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=time_left_s,
        background_reference=True,
    )
