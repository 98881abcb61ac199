"""Which plan starts next while others run: runs that go alone keep no core waiting for a long run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, CollectedTest, Isolation, Setting, SingleRun, Suite
from flakehound.core.records import RunRecord
from flakehound.engine.suite.plan_queue import PlanQueue

WRITER = NodeId("test_m.py::test_writes")
LONG = NodeId("test_m.py::test_long")  # 100 s
SHORT = tuple(NodeId(f"test_m.py::test_{number}") for number in range(6))  # a second each


def suite_and_history() -> History:
    ids = (WRITER, LONG, *SHORT)
    suite = Suite(tests=tuple(CollectedTest(id=test, module="test_m.py", parent="test_m.py") for test in ids))
    history = History(suite)
    history.add(
        RunRecord(
            order=ids,
            outcomes=(Outcome.PASSED,) * len(ids),
            durations_s=(1.0, 100.0, *(1.0 for _ in SHORT)),
            setting=Setting.ORIGINAL,
            isolation=Isolation.FORK,
            why="",
        )
    )
    return history


def plan(*tests: NodeId, undisturbed: bool = False) -> SingleRun:
    return SingleRun(order=tests, why="", setting=Setting.PROBE, undisturbed=undisturbed)


class Planned:
    """A planner with fixed follow-ups and a fixed list of runs of the search."""

    def __init__(self, follow_ups=(), search=()):
        self._follow_ups = list(follow_ups)
        self._search = list(search)

    def follow_ups(self):
        return list(self._follow_ups)

    def next_search_run(self):
        return self._search.pop(0) if self._search else None


@pytest.fixture
def queue():
    """A queue beside running jobs, of a suite with one test that writes shared files."""
    pool = SimpleNamespace(running=[])
    clock = SimpleNamespace(now_s=0.0)
    suite = SimpleNamespace(
        pool=pool, goes_alone=lambda plan: plan.undisturbed or any(WRITER in order for order in plan.orders)
    )
    budget = SimpleNamespace(left_s=1000.0, spent_s=0.0)
    made = PlanQueue(suite, suite_and_history(), budget, clock_s=lambda: clock.now_s)
    return SimpleNamespace(next=made.next, pool=pool, clock=clock, budget=budget)


def start(queue, started, ends_in_s):
    now_s = queue.clock.now_s
    queue.pool.running.append(SimpleNamespace(plan=started, started_s=now_s, expected_end_s=now_s + ends_in_s))


def test_short_runs_start_beside_a_long_one_while_a_run_that_wants_no_company_waits(queue):
    alone = plan(SHORT[0], undisturbed=True)
    planner = Planned(follow_ups=[alone, plan(SHORT[1])], search=[plan(SHORT[2])])
    start(queue, plan(LONG), ends_in_s=90.0)

    chosen = [queue.next(planner), queue.next(planner), queue.next(planner)]

    assert chosen == [plan(SHORT[1]), plan(SHORT[2]), None]
    queue.pool.running.clear()
    assert queue.next(planner) == alone


def test_nothing_starts_that_would_end_after_the_run_that_is_waited_for(queue):
    planner = Planned(follow_ups=[plan(SHORT[0], undisturbed=True), plan(SHORT[1])], search=[plan(SHORT[2])])
    start(queue, plan(SHORT[3]), ends_in_s=0.5)

    assert queue.next(planner) is None


def test_runs_of_the_search_that_are_too_long_to_start_now_start_later(queue):
    planner = Planned(follow_ups=[plan(SHORT[0], undisturbed=True)], search=[plan(LONG), plan(SHORT[1])])
    start(queue, plan(LONG, SHORT[2]), ends_in_s=50.0)

    assert queue.next(planner) == plan(SHORT[1])
    queue.pool.running.clear()
    assert [queue.next(planner), queue.next(planner)] == [plan(SHORT[0], undisturbed=True), plan(LONG)]


def test_a_run_that_writes_shared_files_waits_a_while_and_then_only_short_runs_start_before_it(queue):
    planner = Planned(search=[plan(WRITER), plan(SHORT[0]), plan(LONG), plan(SHORT[1])])
    start(queue, plan(LONG), ends_in_s=90.0)

    assert queue.next(planner) == plan(SHORT[0])
    queue.budget.spent_s = 60.0
    queue.clock.now_s = 60.0
    assert queue.next(planner) == plan(SHORT[1])
    queue.pool.running.clear()
    assert [queue.next(planner), queue.next(planner)] == [plan(WRITER), plan(LONG)]


def test_short_runs_go_on_beside_a_run_that_takes_longer_than_expected(queue):
    planner = Planned(follow_ups=[plan(SHORT[0], undisturbed=True), plan(SHORT[1])])
    start(queue, plan(LONG), ends_in_s=90.0)
    queue.clock.now_s = 100.0

    assert queue.next(planner) == plan(SHORT[1])


def test_nothing_starts_beside_a_run_that_goes_alone(queue):
    start(queue, plan(WRITER), ends_in_s=90.0)

    assert queue.next(Planned(search=[plan(SHORT[0])])) is None


def test_an_undisturbed_run_that_kept_others_waiting_goes_before_the_next_long_one(queue):
    alone = plan(SHORT[0], undisturbed=True)
    planner = Planned(follow_ups=[plan(LONG), alone])
    start(queue, queue.next(planner), ends_in_s=90.0)

    assert queue.next(planner) is None  # nothing may run beside it
    queue.pool.running.clear()
    assert queue.next(planner) == alone


def test_time_that_no_plan_fits_is_used_for_a_part_of_the_first_plan(queue):
    """A suite whose groups all take longer than the time left would else end with most tests never run."""
    queue.budget.left_s = 3.5
    planner = Planned(search=[plan(*SHORT[:5]), plan(LONG), plan(LONG, SHORT[5])])

    first = queue.next(planner)

    assert first is not None
    assert first.order == SHORT[:3]
    assert queue.next(planner) is None


def test_a_plan_that_fits_goes_before_a_part_of_one_that_does_not(queue):
    queue.budget.left_s = 3.5
    planner = Planned(search=[plan(*SHORT[:5]), plan(SHORT[5])])

    assert queue.next(planner) == plan(SHORT[5])


def test_of_a_batch_the_first_runs_that_fit_are_made(queue):
    queue.budget.left_s = 2.5
    batch = Batch(orders=tuple((test,) for test in SHORT), why="", setting=Setting.ALONE)

    part = queue.next(Planned(search=[batch]))

    assert isinstance(part, Batch)
    assert part.orders == ((SHORT[0],), (SHORT[1],))
