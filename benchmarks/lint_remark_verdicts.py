"""Print how many remarks of lint on well-known projects were judged right, harmless, wrong or not to be settled.

    python benchmarks/lint_remark_verdicts.py [--by-rule]

The verdicts are in lint_remark_verdicts.csv. Each was given by reading the source around a remark that
`lint_remarks.py` drew by a seed (22, 2222, 3333): "before" is the code before issue 22, "middle" and "after" the
code with it. What was wrong in the middle was mended before the last draw. "harmless" is true, and cannot make the
test fail in practice.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROUNDS = ("before", "middle", "after")
VERDICTS = ("right", "harmless", "wrong", "unsettled")
FILE = Path(__file__).with_suffix(".csv")


def read_verdicts(file: Path = FILE) -> list[dict[str, str]]:
    """The judged remarks, one row each."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def table(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> Iterator[str]:
    """A row for each combination of values in the columns, with counts and the share of wrong remarks."""
    yield f"| {' | '.join([*columns, 'remarks', *VERDICTS, 'share wrong'])} |"
    yield "|---" * (len(columns) + len(VERDICTS) + 2) + "|"
    for key in dict.fromkeys(tuple(row[column] for column in columns) for row in rows):
        counts = _counts(row for row in rows if tuple(row[column] for column in columns) == key)
        total = sum(counts.values())
        cells = [
            *key,
            str(total),
            *(str(counts[verdict]) for verdict in VERDICTS),
            f"{counts['wrong'] / total:.0%}",
        ]
        yield f"| {' | '.join(cells)} |"


def _counts(rows: Iterable[Mapping[str, str]]) -> Counter[str]:
    return Counter(row["verdict"] for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--by-rule", action="store_true")
    options = parser.parse_args()
    rows = sorted(read_verdicts(), key=lambda row: (ROUNDS.index(row["round"]), row["rule"]))
    print("\n".join(table(rows, ("round", "rule") if options.by_rule else ("round",))))


if __name__ == "__main__":
    main()
