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

    from flakehound_inside.message_types import NumberedOrder

    _Mapping = TypeVar("_Mapping")


def is_repeatable(item: pytest.Item) -> bool:
    """Whether we know how to run a second copy of the item in one process."""
    return isinstance(item, (Function, DoctestItem))


def fresh_copy(item: pytest.Item) -> pytest.Item:
    """A second item for the same test, without anything left over from the run of the first.

    pytest tears a test down by comparing the next item with the current one, so running the same
    object twice would not tear down its function-scoped fixtures.
    """
    fresh = copy.copy(item)
    _copy_own_attributes(fresh, item)
    if isinstance(fresh, Function):
        _forget_instance(fresh)
    if isinstance(fresh, DoctestItem) and fresh.dtest is not None:
        fresh.dtest = copy.copy(fresh.dtest)
        fresh.dtest.globs = dict(fresh.dtest.globs)
    if hasattr(fresh, "_initrequest"):
        fresh._initrequest()
    return fresh


def _copy_own_attributes(fresh: Any, item: pytest.Item) -> None:  # any: items differ between versions of pytest
    """Give the new item its own marks, keywords, properties and stash, because a run may change them."""
    for name, value in list(fresh.__dict__.items()):
        if type(value) in (list, dict, set):
            fresh.__dict__[name] = value.copy()
    fresh.keywords = _independent_copy(item.keywords)
    fresh.keywords.node = fresh
    if hasattr(item, "stash"):
        fresh.stash = _independent_copy(item.stash)
    if hasattr(item, "_store"):  # the stash before pytest 7, and its second name since
        fresh._store = fresh.stash if hasattr(item, "stash") else _independent_copy(item._store)


def _independent_copy(mapping: _Mapping) -> _Mapping:
    fresh = copy.copy(mapping)
    for name in ("_markers", "_storage", "_store"):
        if isinstance(getattr(mapping, name, None), dict):
            setattr(fresh, name, dict(getattr(mapping, name)))
    return fresh


def _forget_instance(fresh: Function) -> None:
    """Let pytest create a new instance of the test's class.

    If a plugin has replaced the method by another callable, the instance has to stay.
    """
    function = fresh.__dict__.get("_obj")
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, type):
        fresh.__dict__.pop("_instance", None)
    elif function == getattr(owner, fresh.originalname or fresh.name, None):
        fresh.__dict__.pop("_obj", None)
        fresh.__dict__.pop("_instance", None)


def items_for(order: NumberedOrder, items: Sequence[pytest.Item]) -> list[pytest.Item | None]:
    """The items of an order given by number; each repetition of a number gets a fresh copy.

    None is a test that was not collected, and stays None. Must be called before any item runs, because running a
    doctest clears its globals.
    """
    used_numbers: set[int | None] = set()
    order_items: list[pytest.Item | None] = []
    for number in order:
        item = None if number is None else items[number]
        order_items.append(fresh_copy(item) if number in used_numbers and item is not None else item)
        used_numbers.add(number)
    return order_items


def tear_down_for(session: pytest.Session, item: pytest.Item | None) -> None:
    """Tear down everything that `item` does not share with the test that ran before it."""
    state: Any = session._setupstate  # its methods differ between versions of pytest
    if _takes_finished_item(type(state)):  # type: ignore[arg-type]  # mypy takes no class for hashable
        state.teardown_exact(None, item)
    else:
        state.teardown_exact(item)


@functools.lru_cache(maxsize=None)  # needed in every fork, where computing a signature would touch many pages
def _takes_finished_item(setup_state: type[SetupState]) -> bool:
    # pytest 6.2 passes the finished item as well.
    return "item" in inspect.signature(setup_state.teardown_exact).parameters


def prepare_tear_down(session: pytest.Session) -> None:
    """Determine once, before any fork, how this pytest tears down."""
    _takes_finished_item(type(session._setupstate))  # type: ignore[arg-type]
