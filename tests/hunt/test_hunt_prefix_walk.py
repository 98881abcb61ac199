"""One walk with stops narrows a list of earlier tests down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from simulator import Simulator, fails_after, fails_after_all, id_of, passes_only_after, suite_of

from flakehound.core.history import History
from flakehound.core.plans import Setting, SingleRun
from flakehound.hunt.diagnosis.prefix_walk import PrefixWalk, stops_between, walk_plan
from flakehound.hunt.diagnosis.questions import NeedRuns, answer_to

NAMES = [f"t{number:03}" for number in range(100)]
IDS = tuple(id_of(name) for name in NAMES)
VICTIM = id_of("victim")


class WalkSearch:
    """Makes walks until the window is small enough."""

    def __init__(self, behaviour, outcome="fails", earlier=IDS):
        self.simulator = Simulator(suite_of(*NAMES, "victim"), {VICTIM: behaviour})
        self.history = History(self.simulator.suite)
        walk = PrefixWalk(history=self.history, test=VICTIM, earlier=earlier, outcome=outcome)
        self.walks = 0
        while True:
            answer = answer_to(walk.window("a test"))
            if not isinstance(answer, NeedRuns):
                self.low, self.high = answer
                return
            self.walks += 1
            for plan in answer.plans:
                for record in self.simulator.run(plan):
                    self.history.add(record)


@given(st.integers(0, 99))
def test_the_polluter_is_in_a_small_window_after_at_most_two_walks(place):
    walked = WalkSearch(fails_after(IDS[place]))

    assert walked.low <= place < walked.high
    assert walked.high - walked.low <= 10
    assert walked.walks <= 2


def test_a_polluter_that_is_undone_and_renewed_is_looked_for_where_it_first_acted():
    walked = WalkSearch(fails_after(IDS[10], IDS[80], cleaners=[IDS[50]]))

    assert walked.low <= 10 < walked.high


def test_of_joint_polluters_the_later_one_is_in_the_window():
    walked = WalkSearch(fails_after_all(IDS[10], IDS[60]))

    assert walked.low <= 60 < walked.high


def test_a_state_setter_is_found_by_the_opposite_effect():
    walked = WalkSearch(passes_only_after(IDS[33]), outcome="passes")

    assert walked.low <= 33 < walked.high


def test_a_short_list_needs_no_walk():
    assert WalkSearch(fails_after(IDS[2]), earlier=IDS[:5]).walks == 0


def test_a_walk_that_gave_no_answers_is_not_repeated():
    simulator = Simulator(suite_of(*NAMES, "victim"), {VICTIM: fails_after(IDS[3])})
    history = History(simulator.suite)
    walk = PrefixWalk(history=history, test=VICTIM, earlier=IDS, outcome="fails")
    (plan,) = answer_to(walk.window("a test")).plans
    # What the engine hands back for a process that could not be copied: the walk itself.
    for record in simulator.run(SingleRun(order=plan.order, why="", setting=Setting.PROBE)):
        history.add(record)

    assert answer_to(walk.window("a test")) == (0, len(IDS))


def test_stops_cost_no_more_than_the_walk():
    simulator = Simulator(suite_of(*NAMES, "victim"), test_s={VICTIM: 1.0})
    history = History(simulator.suite)
    for record in simulator.run(SingleRun(order=(*IDS, VICTIM), why="", setting=Setting.PROBE)):
        history.add(record)

    assert len(stops_between(history, VICTIM, IDS, 0, 100)) == 3


def test_stops_lie_between_the_ends_and_ascend():
    history = History(suite_of(*NAMES, "victim"))

    stops = stops_between(history, VICTIM, IDS, 10, 90)

    assert list(stops) == sorted(set(stops))
    assert stops[0] > 10
    assert stops[-1] < 90
    assert walk_plan(VICTIM, IDS, stops, "a test", until="fails").order == IDS[: stops[-1]]
