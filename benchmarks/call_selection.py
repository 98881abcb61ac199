"""Select characteristic functions from 10,000 tests and 50,000 functions, against the published way.

The data are generated from a seed: each test calls a few hundred functions, and flaky tests call one of forty
functions more often than others. The peer uses the same bit sets, but counts every function in every round.
"""

from __future__ import annotations

import random
import time

from side_by_side import (
    Row,
    Series,
    benchmark_parser,
    limit_row,
    measure_in_turns,
    report_results,
    speedup_row,
    wall_s,
)

from flakehound.calls.selection import CallTable, TracedTest, f_beta, select_for_flaky
from flakehound.core.calls import Function

TESTS, FUNCTIONS, FLAKY = 10_000, 50_000, 500
BETA = 5.0
LIMIT_S = 60.0


def generated_tests(seed: int) -> list[TracedTest]:
    """Tests that call random functions; flaky ones often call a characteristic function as well."""
    rng = random.Random(seed)
    functions = [Function(file="<m>", owner="", name=f"f{n}", kind="c") for n in range(FUNCTIONS)]
    characteristic = functions[:40]  # called by flaky tests more often than by others
    tests = []
    for number in range(TESTS):
        is_flaky = number < FLAKY
        called = {functions[rng.randrange(FUNCTIONS)] for _ in range(300)}
        if rng.random() < (0.9 if is_flaky else 0.2):
            called.add(rng.choice(characteristic))
        tests.append(TracedTest(project=str(number % 50), is_flaky=is_flaky, functions=frozenset(called)))
    return tests


def select_by_published_algorithm(columns: CallTable) -> list[Function]:
    """The peer: add the function that raises F-beta most, until none raises it."""
    total, covered, best, chosen = columns.flaky.bit_count(), 0, 0.0, []
    while True:
        best_function = None
        for function, callers in columns.callers.items():
            joined = covered | callers
            n_flaky = (joined & columns.flaky).bit_count()
            value = f_beta(n_flaky, joined.bit_count() - n_flaky, total, BETA)
            if value > best:
                best, best_function = value, function
        if best_function is None:
            return chosen
        chosen.append(best_function)
        covered |= columns.callers[best_function]


def main() -> None:
    options = benchmark_parser(__doc__, repeats=3).parse_args()
    tests = generated_tests(seed=1)
    began = time.perf_counter()
    columns = CallTable(tests)
    table_s = time.perf_counter() - began
    selected = select_for_flaky(columns, BETA)
    assert selected == select_by_published_algorithm(columns)
    took = measure_in_turns(
        options.repeats,
        {
            "lazy": lambda: wall_s(lambda: select_for_flaky(columns, BETA)),
            "published": lambda: wall_s(lambda: select_by_published_algorithm(columns)),
        },
    )
    whole = Series(values=tuple(value + table_s for value in took["lazy"].values))
    rows: list[Row] = [
        limit_row(
            f"{TESTS} tests × {len(columns.callers)} functions: build the table and select {len(selected)}",
            ours=whole.text(),
            peer="–",
            figure=whole,
            limit=LIMIT_S,
            unit="s",
        ),
        speedup_row("the selection only", ours=took["lazy"], peer=took["published"], times=None),
    ]
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
