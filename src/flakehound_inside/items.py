"""Run collected items in any order, any number of times, as plain pytest would."""

from __future__ import annotations

import copy
import functools
import inspect
from typing import TYPE_CHECKING

from _pytest.doctest import DoctestItem
from _pytest.python import Function

if TYPE_CHECKING:
    from typing import Any, Sequence, TypeVar

    import pytest
    from _pytest.runner import SetupState

    from flakehound_inside.message_types import Order

    _Mapping = TypeVar("_Mapping")


def is_repeatable(item: pytest.Item) -> bool:
    """Whether we know how to run a second copy of the item in one process."""
    return isinstance(item, (Function, DoctestItem))


def fresh_copy(item: pytest.Item) -> pytest.Item:
    """A second item for the same test, with nothing left over from the first one's run.

    pytest tears a test down by comparing the next item with the current one, so running the very same
    object twice would leave its function-scoped fixtures standing.
    """
    twin = copy.copy(item)
    _separate(twin, item)
    if isinstance(twin, Function):
        _forget_instance(twin)
    if isinstance(twin, DoctestItem) and twin.dtest is not None:
        twin.dtest = copy.copy(twin.dtest)
        twin.dtest.globs = dict(twin.dtest.globs)
    if hasattr(twin, "_initrequest"):
        twin._initrequest()
    return twin


def _separate(twin: Any, item: pytest.Item) -> None:  # any: items differ between versions of pytest
    """Give the twin its own marks, keywords, properties and stash; the first run may add to the others."""
    for name, value in list(twin.__dict__.items()):
        if type(value) in (list, dict, set):
            twin.__dict__[name] = value.copy()
    twin.keywords = _own_copy(item.keywords)
    twin.keywords.node = twin
    if hasattr(item, "stash"):
        twin.stash = _own_copy(item.stash)
    if hasattr(item, "_store"):  # the stash before pytest 7, and its second name since
        twin._store = twin.stash if hasattr(item, "stash") else _own_copy(item._store)


def _own_copy(mapping: _Mapping) -> _Mapping:
    twin = copy.copy(mapping)
    for name in ("_markers", "_storage", "_store"):
        if isinstance(getattr(mapping, name, None), dict):
            setattr(twin, name, dict(getattr(mapping, name)))
    return twin


def _forget_instance(twin: Function) -> None:
    """Let pytest make a new instance of the test's class.

    Where a plugin has put another callable in the method's place, its instance has to stay.
    """
    function = twin.__dict__.get("_obj")
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type):
        twin.__dict__.pop("_instance", None)
    elif function == getattr(owner, twin.originalname or twin.name, None):
        twin.__dict__.pop("_obj", None)
        twin.__dict__.pop("_instance", None)


def items_for(order: Order, items: Sequence[pytest.Item]) -> list[pytest.Item | None]:
    """The items of an order given by number; a number that comes again gets a copy of its own.

    None, for a test that this collection lacks, stays None.
    Made before anything runs: running a doctest clears its names.
    """
    seen: set[int | None] = set()
    chosen: list[pytest.Item | None] = []
    for number in order:
        item = None if number is None else items[number]
        chosen.append(fresh_copy(item) if number in seen and item is not None else item)
        seen.add(number)
    return chosen


def tear_down_for(session: pytest.Session, item: pytest.Item | None) -> None:
    """Tear down what `item` does not share with the test that ran before it."""
    state: Any = session._setupstate  # of another shape in each pytest
    if _takes_finished_item(type(state)):  # type: ignore[arg-type]  # mypy takes no class for hashable
        state.teardown_exact(None, item)
    else:
        state.teardown_exact(item)


@functools.lru_cache(maxsize=None)  # asked in every branch, and a signature touches many pages
def _takes_finished_item(setup_state: type[SetupState]) -> bool:
    # pytest 6.2 passes the finished item as well.
    return "item" in inspect.signature(setup_state.teardown_exact).parameters


def prepare_tear_down(session: pytest.Session) -> None:
    """Look up once, before any fork, how this pytest tears down."""
    _takes_finished_item(type(session._setupstate))  # type: ignore[arg-type]
