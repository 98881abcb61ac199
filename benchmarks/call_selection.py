"""Select characteristic functions from 10,000 traced tests and 50,000 functions.

The data are made up, with a seed: each test calls a few hundred functions, flaky ones more often one of forty.
The peer is the published algorithm with the same sets of bits, which counts every function in every round.
"""

from __future__ import annotations

import random
import time

from side_by_side import Row, Series, arguments, at_least, at_most, in_turns, told, wall_s

from flakehound.calls.selection import CallTable, TracedTest, f_beta, select_for_flaky
from flakehound.core.calls import Function

TESTS, FUNCTIONS, FLAKY = 10_000, 50_000, 500
BETA = 5.0
LIMIT_S = 60.0


def data_set(seed: int) -> list[TracedTest]:
    rng = random.Random(seed)
    functions = [Function(file="<m>", owner="", name=f"f{n}", kind="c") for n in range(FUNCTIONS)]
    marks = functions[:40]  # called by flaky tests more often than by others
    tests = []
    for number in range(TESTS):
        is_flaky = number < FLAKY
        called = {functions[rng.randrange(FUNCTIONS)] for _ in range(300)}
        if rng.random() < (0.9 if is_flaky else 0.2):
            called.add(rng.choice(marks))
        tests.append(TracedTest(project=str(number % 50), is_flaky=is_flaky, functions=frozenset(called)))
    return tests


def every_function_in_every_round(columns: CallTable) -> list[Function]:
    total, covered, best, chosen = columns.flaky.bit_count(), 0, 0.0, []
    while True:
        new = None
        for function, callers in columns.callers.items():
            joined = covered | callers
            found = (joined & columns.flaky).bit_count()
            value = f_beta(found, joined.bit_count() - found, total, BETA)
            if value > best:
                best, new = value, function
        if new is None:
            return chosen
        chosen.append(new)
        covered |= columns.callers[new]


def main() -> None:
    chosen = arguments(__doc__, repeats=3).parse_args()
    tests = data_set(seed=1)
    began = time.perf_counter()
    columns = CallTable(tests)
    built_s = time.perf_counter() - began
    ours, theirs = select_for_flaky(columns, BETA), every_function_in_every_round(columns)
    assert ours == theirs
    took = in_turns(
        chosen.repeats,
        {
            "lazy": lambda: wall_s(lambda: select_for_flaky(columns, BETA)),
            "every function": lambda: wall_s(lambda: every_function_in_every_round(columns)),
        },
    )
    whole = Series(values=tuple(value + built_s for value in took["lazy"].values))
    rows: list[Row] = [
        at_most(
            f"{TESTS} tests × {len(columns.callers)} functions: read and select {len(ours)}",
            ours=whole.text(),
            peer="–",
            figure=whole,
            limit=LIMIT_S,
            unit="s",
        ),
        at_least("the selection alone", ours=took["lazy"], peer=took["every function"], times=None),
    ]
    told(rows, chosen.json)


if __name__ == "__main__":
    main()
