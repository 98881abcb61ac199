"""The dictionaries that cross a process boundary; for the type checker, no run imports this."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Literal, Optional, TypedDict

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable

    Handler = Callable[[int, FrameType | None], Any] | int | None  # as `_signal` knows it; None: set by C code
    Handlers = dict[int, Handler]  # signal number -> what the suite does about it
    Descriptors = dict[int, str]  # number -> what it points to
    RandomState = tuple[Any, ...]  # of `random`
    Order = list[int | None]  # numbers of items; None: a test that this collection lacks


class Limits(TypedDict, total=False):
    """How long a process and each of its tests may take; absent or None: as long as they like."""

    run_limit_s: Optional[float]
    test_limit_s: Optional[float]
    collection_limit_s: float  # what the first test gets on top


class Watched(Limits):
    """What the process above one that runs tests has to know."""

    events: str  # the file that tells when a test starts


class _Conditions(TypedDict, total=False):
    seed: Optional[int]
    self_seeded: List[str]  # the generators that the project seeds itself
    memory_bytes: Optional[int]


class NamedRequest(Watched, _Conditions):
    """One order to run in a new interpreter, which has yet to collect it."""

    ids: List[str]  # empty: the whole suite
    output: str
    tmp: str


class _Copies(TypedDict, total=False):
    branches: List[Order]
    at: List[int]  # how much of the order precedes each branch; empty: all
    id: int  # of a request to a slot
    ids: List[str]  # of a request that came with names


class Request(Watched, _Conditions, _Copies):
    """What a process shall run: an order, and what follows it in copies of the process."""

    order: Order
    output: str
    tmp: str  # made by the slot


class Ended(TypedDict):
    """How a process ended, and what it used."""

    code: Optional[int]  # None: a signal ended it
    signal: Optional[int]
    cut: str  # the limit that it hit, or "cancelled"; empty: none
    wall_s: float
    cpu_s: float
    max_rss_bytes: int
