"""Orders that earlier hunts give reason to run first."""

from __future__ import annotations

from simulator import Simulator, hunt, id_of, suite_of

from flakehound.core.history import History
from flakehound.core.plans import Batch, Setting
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.techniques import TechniqueRuns

A, B, C = map(id_of, "abc")
FIRST = ((A,),) * 3 + ((B, A),) * 2 + ((C, C),)


def planned(history, **options):
    search_options = SearchOptions(seed=5, first_orders=FIRST, **options)
    return list(TechniqueRuns(history, search_options, lambda: OriginalOrder(history)).earlier_failures())


def test_each_order_is_planned_as_often_as_asked():
    plans = planned(History(suite_of(*"abc")))

    assert [plan.orders for plan in plans] == [((A,),) * 3, ((B, A),) * 2, ((C, C),)]
    assert [plan.setting for plan in plans] == [Setting.ALONE, Setting.PROBE, Setting.ALONE]


def test_runs_that_the_history_has_are_not_planned_again():
    simulator = Simulator(suite_of(*"abc"), {})
    history = History(simulator.suite)
    done = Batch(orders=((A,), (A,), (B, A), (C, C)), why="", setting=Setting.ALONE)
    for record in simulator.run(done):
        history.add(record)

    assert [plan.orders for plan in planned(history)] == [((A,),), ((B, A),)]


def test_a_search_without_reruns_plans_none():
    assert planned(History(suite_of(*"abc")), techniques=("idflakies",)) == []


def test_a_whole_hunt_runs_them():
    simulator = Simulator(suite_of(*"abc"), {})

    hunt(simulator, first_orders=((B, A),) * 2, runs=3, shuffles=0, pairs="none", hash_seeds=False)

    orders = [order for plan, _disturbed in simulator.started for order in plan.orders]
    assert orders.count((B, A)) == 2


def test_a_first_run_that_still_goes_on_is_one_of_the_runs_that_were_asked_for():
    suite = suite_of("a.py::t0", "a.py::t1")
    history = History(suite)

    def originals(*, awaits_reference: bool) -> int:
        options = SearchOptions(seed=1, runs=3, awaits_reference=awaits_reference)
        return len(list(TechniqueRuns(history, options, lambda: OriginalOrder(history)).original_order()))

    assert originals(awaits_reference=False) == 3
    assert originals(awaits_reference=True) == 2
