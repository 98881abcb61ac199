"""How much each tuned number of a hunt matters: the same simulated hunts with a lower and a higher value.

The suites are those of `tests/hunt/planted_suites.py`: 20 to 400 tests, two to eight of them flaky in known ways,
fast and slow ones, on one to four jobs, with budgets of 5 to 30 times plain pytest. Counted are flaky tests that
are proven with the right kind, wrong statements, and processes. Nothing is started: a hunt takes about a second.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hunt"))

from planted_suites import PlantedSuite, planted_suite
from simulator import SimulatedHunt, hunt

from flakehound.core import costs
from flakehound.core.plans import Isolation
from flakehound.core.statistics.prevalence import Priors
from flakehound.core.verdicts import Kind, Verdict
from flakehound.hunt import limits

PROVEN = (Kind.VICTIM, Kind.BRITTLE, Kind.NOD, Kind.NON_IDEMPOTENT, Kind.FAILING)


@dataclass(frozen=True, slots=True)
class Number:
    """A tuned number, and the values that its own is compared with."""

    name: str
    lower: Any
    higher: Any
    hunts: str = "forks"  # which hunts show what it does, see `options_of`

    @property
    def module(self) -> Any:
        return limits if hasattr(limits, self.name) else costs

    @property
    def value(self) -> Any:
        return getattr(self.module, self.name)


NUMBERS = [
    Number("FIRST_ROUND_ORDERS", 2, 8),
    Number("FIRST_ROUND_ORIGINAL_RUNS", 3, 12),
    Number("FIRST_ROUND_HASH_SEEDS", 3, 12),
    Number("SPAWN_FIRST_ORIGINAL_RUNS", 1, 4, "spawn"),
    Number("SPAWN_ROUND_ORDERS", 1, 6, "spawn"),
    Number("SPAWN_ROUND_ORIGINAL_RUNS", 1, 4, "spawn"),
    Number("MAX_EARLY_RUN_SHARE", 0.005, 0.02),
    Number("MIN_LEFT_SHARE_FOR_WAITING", 0.25, 1.0),
    Number("SYSTEMATIC_ORDERS_PER_SHUFFLE", 2, 8),
    Number("MAX_TESTS_FOR_EACH_FIRST", 50, 200),
    Number("MAX_BATCH_S", 0.5, 2.0),
    Number("MAX_PAIRS_SHARE", 0.25, 1.0),
    Number("MAX_CHAINS_PER_PLAN", 6, 24),
    Number("EARLY_END_CHECKS", 6, 24),
    Number("FORECAST_STEPS", 8, 32),
    Number("MAX_FORECAST_TESTS", 150, 600),
    Number("FORECAST_BEST_SHARES", (0.125, 0.025), (0.5, 0.1)),
    Number("SUITE_FACTOR_CAUTION", 0.25, 1.0),
    Number("COMPLETION_SHARE", 0.15, 0.6),
    Number("EQUAL_COST_S", 0.125, 0.5),
    Number("MAX_QUESTIONS_AT_ONCE", 1, 4),
    Number("MAX_KNOWN_POLLUTERS", 2, 8),
    Number("MAX_SHARING_CANDIDATES", 2, 8, "states"),
    Number("CHEAP_RUN_S", 0.25, 1.0),
    Number("MAX_QUESTION_S", 1.0, 4.0),
    Number("MIN_UNDISTURBED_RUNS", 3, 10),
    Number("MIN_EXPENSIVE_UNDISTURBED_RUNS", 1, 4),
    Number("UNDISTURBED_RUNS_ALONE", 5, 20),
    Number("EXACT_REPLAYS", 1, 4),
    Number("MIN_WALK_LENGTH", 4, 16),
    Number("MIN_WALK_WINDOW", 3, 12),
    Number("MIN_WALK_STOPS", 2, 6),
    Number("MIN_WALK_STOPS_S", 0.1, 0.4),
    Number("MAX_GUESS_BEFORE_WALK", 1, 6),
    Number("EXPENSIVE_PREFIX_S", 0.5, 2.0),
    Number("EXPENSIVE_TEST_SHARE", 0.1, 0.4),
    Number("MAX_SCORED_PRIOR", 0.95, 0.999, "model"),
    Number("MAX_EARLIER_FAILURES", 25, 100, "earlier failures"),
    Number("CAUSES_SHARE", 0.025, 0.1, "reserve"),
    Number("MAX_CAUSES_S", 7.5, 30.0, "reserve"),
    Number("DEFAULT_FORK_S", 0.004, 0.016),
    Number("DEFAULT_NEW_INTERPRETER_S", 0.5, 2.0),
    Number("DEFAULT_TEST_S", 0.005, 0.02),
    Number("MIN_TIMED_FORKS", 5, 20),
    Number("MAX_PLAUSIBLE_FORK_S", 0.5, 2.0),
]


@dataclass(frozen=True, slots=True)
class Found:
    """What one simulated hunt found."""

    right: tuple[str, ...]  # the flaky tests that are proven with the right kind
    wrong: tuple[str, ...]  # tests about which something wrong is said
    planted: int
    processes: int
    seconds: float


def options_of(hunts: str, suite: PlantedSuite) -> dict[str, Any]:
    """The options of a hunt of this sort."""
    if hunts == "spawn":
        return {"isolation": Isolation.SPAWN}
    if hunts == "states":
        return {"states": True}
    if hunts == "earlier failures":
        return {"suspects": suite.failed_earlier[: limits.MAX_EARLIER_FAILURES]}
    if hunts == "model":  # that is sure, and mostly wrong
        sure = [test for test in suite.suite.order if hash_of(test) % 20 == 0]
        priors = Priors(nod=dict.fromkeys(sure, limits.MAX_SCORED_PRIOR))
        return {"priors": priors, "policy": "index"}
    if hunts == "reserve":
        share_s = limits.CAUSES_SHARE * suite.budget_s
        return {"reserved_s": min(limits.MAX_CAUSES_S, max(share_s, min(1.0, 0.1 * suite.budget_s)))}
    return {}


def hash_of(test: str) -> int:
    return sum(map(ord, test))


def hunted(number: int, hunts: str) -> Found:
    """A hunt in the suite with this number, with the values that the modules hold."""
    suite = planted_suite(number)
    options = {"policy": suite.policy} | options_of(hunts, suite)
    found = hunt(
        suite.simulator(),
        max_plans=1_000_000,
        time_left_s=suite.budget_s,
        jobs=suite.jobs,
        hunt_seed=number,
        **options,
    )
    verdicts = found.verdicts
    return Found(
        right=tuple(test for test, planted in suite.planted.items() if _is_right(verdicts[test], planted.right)),
        wrong=tuple(_wrongly_judged(found, suite)),
        planted=len(suite.planted),
        processes=len(found.history.records),
        seconds=round(found.simulator.clock_s - 1000.0, 3),
    )


def _is_right(verdict: Verdict, right: Kind | None) -> bool:
    return verdict.under_load if right is None else verdict.kind is right


def _wrongly_judged(found: SimulatedHunt, suite: PlantedSuite) -> Iterator[str]:
    """Tests that are proven to be what they are not, or whose named polluters have no part in it."""
    for test, verdict in found.verdicts.items():
        planted = suite.planted.get(test)
        if planted is None:
            if verdict.kind is not Kind.STEADY:
                yield test
            continue
        true = {planted.right, *planted.also_true}
        culprits = {*verdict.polluters, *verdict.state_setters}
        if (verdict.kind in PROVEN and verdict.kind not in true) or culprits - planted.decisive:
            yield test


class Results:
    """Hunts made so far, kept in a file so that a run of hours can be continued."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Found] = {}
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        for key, found in map(json.loads, lines):
            self._known[key] = Found(**{name: _hashable(value) for name, value in found.items()})

    def of(self, number: Number, value: Any, suite: int) -> Found:
        """What a hunt with this value found."""
        is_usual = value == number.value
        key = f"{number.hunts} {'as is' if is_usual else f'{number.name}={value}'} {suite}"
        if key not in self._known:
            self._keep(key, self._hunted(number, value, suite))
        return self._known[key]

    def _hunted(self, number: Number, value: Any, suite: int) -> Found:
        usual = number.value
        setattr(number.module, number.name, value)
        try:
            return hunted(suite, number.hunts)
        finally:
            setattr(number.module, number.name, usual)

    def _keep(self, key: str, found: Found) -> None:
        self._known[key] = found
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps([key, asdict(found)]) + "\n")


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Comparison:
    """The hunts with another value beside those with the usual one."""

    same: int  # hunts that ran the same number of processes and found the same
    lost: int  # flaky tests that only the usual value proves
    won: int  # flaky tests that only the other value proves

    @classmethod
    def of(cls, usual: Sequence[Found], other: Sequence[Found]) -> Comparison:
        pairs = list(zip(usual, other, strict=True))
        return cls(
            same=sum(a == b for a, b in pairs),
            lost=sum(len(set(a.right) - set(b.right)) for a, b in pairs),
            won=sum(len(set(b.right) - set(a.right)) for a, b in pairs),
        )

    def __str__(self) -> str:
        return f"−{self.lost} +{self.won}"


def row_of(number: Number, suites: Iterable[int], results: Results) -> str:
    """One line of the table: what the three values found."""
    suites = list(suites)
    values = (number.lower, number.value, number.higher)
    lower, usual, higher = ([results.of(number, value, suite) for suite in suites] for value in values)
    compared = [Comparison.of(usual, other) for other in (lower, higher)]
    columns = [
        f"`{number.name}`",
        " · ".join(map(str, values)),
        " · ".join(f"{one.same}" for one in compared),
        " · ".join(str(sum(len(one.right) for one in found)) for found in (lower, usual, higher)),
        " · ".join(map(str, compared)),
        " · ".join(str(sum(len(one.wrong) for one in found)) for found in (lower, usual, higher)),
        " · ".join(_thousands(sum(one.processes for one in found)) for found in (lower, usual, higher)),
    ]
    return f"| {' | '.join(columns)} |"


def _thousands(number: int) -> str:
    return f"{number / 1000:.0f}k"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="numbers to compare; default: all")
    parser.add_argument("--suites", type=int, default=150, help="simulated hunts of each value (default: 150)")
    parser.add_argument("--first", type=int, default=10_000, help="number of the first suite (default: 10000)")
    parser.add_argument("--results", type=Path, help="a file that keeps the hunts, to continue later")
    given = parser.parse_args()
    results = Results(given.results)
    chosen = [number for number in NUMBERS if not given.names or number.name in given.names]
    print("| number | lower · as is · higher | same hunts | right kind | lost, won | wrong | processes |")
    print("|---|---|---|---|---|---|---|")
    for number in chosen:
        print(row_of(number, range(given.first, given.first + given.suites), results), flush=True)


if __name__ == "__main__":
    main()
