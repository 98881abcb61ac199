"""What a test called while it ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

PHASES = ("setup", "call", "teardown")
# Module of a C function -> the name that readers know; empty: the function is known without a module.
_FAMILIAR_MODULES = {"builtins": "", "io": "", "_io": "", "posix": "os", "nt": "os", "_socket": "socket"}


class TraceMode(Enum):
    """Which of the functions that a test calls are recorded."""

    ALL = "all"  # every function
    CHARACTERISTIC = "characteristic"  # only those that match a pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPattern:
    """Describes the functions that a trace looks for."""

    module: str = ""  # a module or a package; empty: any
    owner: str = ""  # the class; empty: none, "*": any
    name: str  # "*": any


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Which calls of a run are traced, and in how much detail."""

    mode: TraceMode
    counts: bool = False  # also count the calls of each function, which is slow
    patterns: tuple[FunctionPattern, ...] = ()  # functions whose call sites are recorded, too
    neutral: tuple[str, ...] = ()  # modules whose own calls do not count: logging, for example, asks for the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that was called."""

    file: str  # relative to the rootdir, or absolute outside of it; for a C function its module in angle brackets
    owner: str  # the class that defines it; empty: none
    name: str
    kind: str  # "python" or "c"

    @property
    def text(self) -> str:
        """The name as reports show it: `time.sleep`, `Random.random`."""
        module = self.file.strip("<>") if self.kind == "c" else ""
        qualifier = self.owner or _FAMILIAR_MODULES.get(module, module)
        return f"{qualifier}.{self.name}" if qualifier else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """The line of the project that first led to the call of a function that a trace looks for."""

    phase: str
    function: Function
    path: str  # empty: no line of the project is on the stack, as in a thread of a library
    line: int
    caller: str  # name of the function that contains the line


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTrace:
    """What one test called in one run."""

    # Phase -> function -> number of calls, in the order of the first calls; 0 if calls were not counted.
    calls: Mapping[str, Mapping[Function, int]] = field(default_factory=dict)
    call_sites: tuple[CallSite, ...] = ()
    children: tuple[tuple[str, str], ...] = ()  # phase and command of each process that the test started
    notes: tuple[str, ...] = ()  # why the trace may be incomplete

    @property
    def functions(self) -> frozenset[Function]:
        """All functions called during the phase `call`."""
        return frozenset(self.calls.get("call", ()))
