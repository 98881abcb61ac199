"""The result of a hunt, from which reports are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flakehound.core.verdicts import Kind, Verdict

MIN_EXPECTED = 0.01  # expected flaky tests; smaller numbers are shown as "less than" this


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

    def of_kind(self, *kinds: Kind) -> list[Verdict]:
        """The verdicts of the named kinds."""
        return [verdict for verdict in self.verdicts if verdict.kind in kinds]

    @property
    def flaky(self) -> list[Verdict]:
        """The tests proven flaky."""
        return [verdict for verdict in self.verdicts if verdict.kind.is_flaky]


def expected_flaky_tests(number: float) -> str:
    """An expected number of flaky tests in words."""
    return f"{number:.2g} flaky tests" if number >= MIN_EXPECTED else f"less than {MIN_EXPECTED} flaky tests"
