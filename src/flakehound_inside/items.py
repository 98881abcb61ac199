"""Run collected items in any order, any number of times, as plain pytest would."""

import copy
import inspect

from _pytest.doctest import DoctestItem
from _pytest.python import Function


def is_repeatable(item):
    """Whether we know how to run a second copy of the item in one process."""
    return isinstance(item, (Function, DoctestItem))


def fresh_copy(item):
    """A second item for the same test, with nothing left over from the first one's run.

    pytest tears a test down by comparing the next item with the current one, so running the very same
    object twice would leave its function-scoped fixtures standing.
    """
    twin = copy.copy(item)
    if isinstance(item, Function):
        for left_over in ("_obj", "_instance"):
            twin.__dict__.pop(left_over, None)
    if isinstance(item, DoctestItem) and item.dtest is not None:
        twin.dtest = copy.copy(item.dtest)
        twin.dtest.globs = dict(item.dtest.globs)
    if hasattr(twin, "_initrequest"):
        twin._initrequest()
    return twin


def items_for(order, items):
    """The items of an order given by number; a number that comes again gets a copy of its own.

    None, for a test that this collection lacks, stays None.
    Made before anything runs: running a doctest clears its names.
    """
    seen = set()
    chosen = []
    for number in order:
        item = None if number is None else items[number]
        chosen.append(fresh_copy(item) if number in seen and item is not None else item)
        seen.add(number)
    return chosen


def tear_down_for(session, item):
    """Tear down what `item` does not share with the test that ran before it."""
    state = session._setupstate
    # pytest 6.2 passes the finished item as well.
    if "item" in inspect.signature(state.teardown_exact).parameters:
        state.teardown_exact(None, item)
    else:
        state.teardown_exact(item)
