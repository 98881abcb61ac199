"""The result of a hunt, from which reports are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFacts:
    """The suite that was searched."""

    tests: int
    original_order_s: float  # time of one run of all tests, without start and collection
    python: str
    pytest: str
    commit: str | None  # None: no git
    rootdir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentFacts:
    """The time and the runs that the hunt took."""

    wall_s: float
    cpu_s: float
    test_runs: int
    processes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverRan:
    """The tests that no run reached, and what reaching all tests takes."""

    tests: frozenset[NodeId] = frozenset()  # without those that were skipped
    one_run_s: float = 0.0  # of all tests of the suite, by the mean time of those that ran
    full_look_s: float = 0.0  # a budget that is enough for every test to run several times


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastFacts:
    """An estimate from other suites and from the runs so far; it is not a finding."""

    more_s: float  # if the hunt went on for this time
    flaky_tests: float  # it is expected to show so many more flaky tests


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntResult:
    """The result of one finished or interrupted hunt."""

    verdicts: tuple[Verdict, ...]  # of every test, in the original order
    suite: SuiteFacts
    spent: SpentFacts
    seed: int
    runs: Mapping[str, int] = field(default_factory=dict)  # setting -> runs of the whole suite
    notes: tuple[str, ...] = ()  # about the runs: switched-off plugins, isolation, files
    pairs: str = ""  # exact, grouped, or empty when no pairs were run
    complete: bool = True  # False: the time ran out or the user interrupted
    interrupted: bool = False
    cwd: str = "."
    python_path: str = "python"  # the suite's interpreter, as the user named it
    pytest_args: tuple[str, ...] = ()  # the user's own
    priors: Mapping[str, float] = field(default_factory=dict)  # test -> probability of being flaky before the hunt
    store: str | None = None  # path of the store when it is not the default one
    never_ran: NeverRan | None = None  # None: unknown
    forecast: ForecastFacts | None = None  # None: not estimated

    def of_kind(self, *kinds: Kind) -> list[Verdict]:
        """The verdicts of the named kinds."""
        return [verdict for verdict in self.verdicts if verdict.kind in kinds]

    @property
    def flaky(self) -> list[Verdict]:
        """The tests proven flaky."""
        return [verdict for verdict in self.verdicts if verdict.kind.is_flaky]
