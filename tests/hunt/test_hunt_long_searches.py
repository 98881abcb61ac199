"""Searches of one suspect that take many long runs, in a long suite."""

from __future__ import annotations

from simulator import Simulator, fails_after_all, hunt, id_of, suite_of

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan, Walk
from flakehound.hunt.agenda import Agenda

TESTS = 400
TEST_S = 0.1  # 40 seconds in all: long enough for suspects to share runs


def at(place: int) -> NodeId:
    return id_of(f"f{place // 25}.py::t{place}")


def hunted(behaviours: dict[int, object], time_left_s: float = 400.0, **options: object):
    suite = suite_of(*(f"f{place // 25}.py::t{place}" for place in range(TESTS)))
    planted = {at(place): behaviour for place, behaviour in behaviours.items()}
    times = {test.id: TEST_S for test in suite.tests}
    simulator = Simulator(suite, planted, test_s=times, fork_s=0.02, interpreter_s=2.0)  # type: ignore[arg-type]
    return hunt(
        simulator,
        jobs=2,
        policy="index",
        endless=True,
        time_left_s=time_left_s,
        background_reference=True,
        **options,
    )


def test_long_searches_leave_a_job_to_the_search(monkeypatch):
    offered: list[int] = []
    original = Agenda.follow_ups

    def watched(agenda: Agenda) -> list[RunPlan]:
        plans = original(agenda)
        walks = {plan.test for plan in plans if isinstance(plan, Walk) and len(plan.order) * TEST_S >= 10.0}
        offered.append(len(walks))
        return plans

    monkeypatch.setattr(Agenda, "follow_ups", watched)

    hunted(
        {5: fails_after_all(at(150), at(300)), 30: fails_after_all(at(120), at(350))},
        time_left_s=600.0,
    )

    assert max(offered[:-1], default=0) == 1


def test_a_walk_leaves_out_tests_beside_which_nothing_may_run():
    alone = frozenset([at(100), at(200)])

    found = hunted({5: fails_after_all(at(150), at(300))}, left_out_of_orders=alone)

    walks = [record.order for record in found.history.records if "decide together" in record.why]
    assert walks
    assert all(alone.isdisjoint(order) for order in walks)
    assert set(found.verdicts[at(5)].polluters) == {at(150), at(300)}
