"""What a test called while it ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

PHASES = ("setup", "call", "teardown")
_KNOWN_AS = {"builtins": "", "io": "", "_io": "", "posix": "os", "nt": "os", "_socket": "socket"}


class TraceMode(Enum):
    """How much of what a test calls is written down."""

    ALL = "all"  # every function
    CHARACTERISTIC = "characteristic"  # only those asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPattern:
    """Functions that somebody asks for."""

    module: str = ""  # or the package it is in; empty: any
    owner: str = ""  # the class; empty: none, "*": any
    name: str  # "*": any


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Which calls of a run are traced, and how exactly."""

    mode: TraceMode
    counts: bool = False  # exact, and slow; else that a function was called is all that is known
    wanted: tuple[FunctionPattern, ...] = ()  # of these, the line that reaches them is told as well
    neutral: tuple[str, ...] = ()  # modules that use them for their own ends, such as logging the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that was called."""

    file: str  # below the rootdir, else whole; of a C function its module, in angle brackets
    owner: str  # the class that defines it; empty: none
    name: str
    kind: str  # python or c

    @property
    def text(self) -> str:
        """As a reader knows it: `time.sleep`, `Random.random`."""
        module = self.file.strip("<>") if self.kind == "c" else ""
        front = self.owner or _KNOWN_AS.get(module, module)
        return f"{front}.{self.name}" if front else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The first line of the project that reached a function asked for."""

    phase: str
    function: Function
    path: str  # empty: no line of the project is above it, as in a thread of a library
    line: int
    within: str  # name of the function that the line is in


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTrace:
    """What one test called in one run."""

    # By phase; the functions in the order of their first call, 0 where calls were not counted.
    calls: Mapping[str, Mapping[Function, int]] = field(default_factory=dict)
    reached: tuple[Reached, ...] = ()
    children: tuple[tuple[str, str], ...] = ()  # phase and command of each process started
    notes: tuple[str, ...] = ()  # why it may not be all

    @property
    def functions(self) -> frozenset[Function]:
        """Everything called by the test's own function."""
        return frozenset(self.calls.get("call", ()))
