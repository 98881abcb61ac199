"""The dictionaries that cross a process boundary; for the type checker, no run imports this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Literal

    # As the `_signal` module knows it; None: set by C code.
    Handler = Callable[[int, FrameType | None], Any] | int | None
    Order = list[int | None]  # numbers of collected items; None: a test that this collection lacks


class Gauge(Protocol):
    """Something that tells one more thing about each test, in an event line of its own."""

    letter: str

    def begin(self) -> None:
        """A test is about to run."""

    def told(self) -> object:
        """What there is to say of the test that has just run; JSON knows how."""


class Measure(TypedDict, total=False):
    """The wish to have every test measured."""

    lines: bool  # whether covered lines are asked for; they cost most
    churn: str | None  # file with how often each line changed, see features_meter; None: not known


class Limits(TypedDict, total=False):
    """How long a process and each of its tests may take; None: as long as they like."""

    run_limit_s: float | None
    test_limit_s: float | None
    collection_limit_s: float  # what the first test gets on top
    measure: Measure | None  # the features of each test are asked for


class Watched(Limits):
    """What the process above one that runs tests must know of it."""

    events: str  # the log that tells when each test starts


class _Details(TypedDict, total=False):
    states: bool  # what each test leaves changed is asked for
    seed: int | None
    self_seeded: list[str]  # generators that the project seeds itself
    memory_bytes: int | None  # address space; None: no limit of ours
    ids: list[str]  # for a new interpreter, which has yet to collect; empty: the whole suite
    id: int  # for a slot, and so are the two below
    branches: list[Order]
    until: str
    at: list[int]  # how much of the order each branch follows; empty: all of it
    trace: Trace | None  # None: not asked for
    random_state: str | None  # file with the state that the last test shall start from, see RandomState


class Trace(TypedDict):
    """The wish to know what tests call."""

    mode: Literal["all", "characteristic"]
    counts: bool  # False: a place that has told what it calls is not asked again
    wanted: list[list[str]]  # module, class, function; see calls_names.Patterns
    neutral: list[str]  # modules that use what is wanted for themselves


class Asked(Watched, _Details):
    """What a process shall run, before its tests are known by number."""

    output: str  # the file it prints into
    tmp: str  # the folder of its temporary files; a slot chooses it itself


class Request(Asked):
    """What a process that has collected shall run."""

    order: Order


class RandomState(TypedDict):
    """Where random generators stood at some moment, as JSON knows it."""

    random: list[Any]  # as random.getstate
    numpy: list[Any] | None  # as numpy.random.get_state; None: not loaded
    seed: int | None  # from which pytest-randomly seeds every test; None: it does not


class Record(TypedDict):
    """The wish to know what a test depends on."""

    path: str  # the file to write
    files: list[str] | None  # whose executed lines are asked for; None: of every file below the root
    root: str


class _ModeSettings(TypedDict, total=False):
    # "once"
    request: Asked
    peer: int  # descriptor of the socket to whoever asked
    watch: str | None  # folder for what a plain run writes; None: not watched
    record: Record | None  # None: not asked for
    ours: str  # folder whose files are not the suite's
    # "serve"
    force_fork: bool
    folder: str
    control: int  # descriptor of the socket that closes when the hunt ends
    slots: list[int]  # descriptor of each slot's socket


class Settings(_ModeSettings):
    """What a session of a hunt is told before it starts."""

    mode: Literal["once", "serve"]
    handshake: str  # the file to write once the suite is collected
    keep_plugins: list[str]


class Ended(TypedDict):
    """How a process ended, and what it used."""

    code: int | None  # None: a signal ended it
    signal: int | None  # None: it ended by itself
    cut: str  # the limit that it hit, or "cancelled"; empty: neither
    wall_s: float
    cpu_s: float
    queued_s: float  # its first thread waited for a core
    max_rss_bytes: int


class _LastWords(TypedDict, total=False):
    output: str  # only of a process that ended badly


class Reply(_LastWords):
    """What a slot answers; its event lines follow."""

    id: int
    ended: Ended
    events: int  # bytes that follow
