"""How much likelier a test with a finding of each rule is flaky, on the projects of design or choice.

Lift is the share of flaky tests among those with the finding, divided by the share among all. Lift within projects
divides the number of flaky tests with the finding by the number to expect if the finding said nothing but which
project the test is in. Intervals are of a bootstrap over projects.

The figures on choice decide which rules have no weight in the score (`WITHOUT_LIFT`).

    python benchmarks/lint_rule_lift.py [--split design|choice] [--cache DIR] [--data ../shared/data]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flaky_sources import DATA
from lint_corpus import SOURCES
from lint_figures import KIND_NAMES, KINDS, Judged
from lint_intervals import Figure, Floats, ratio
from lint_labels import CHOICE, DESIGN
from lint_rows import read_corpus
from lint_yardstick import RESAMPLES, SEED
from numpy.typing import NDArray

from flakehound.lint.rules.registry import all_rules

_MIN_POSITIVE_PROJECTS = 3  # with fewer, the interval over projects says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """How a finding changes the share of flaky tests."""

    hits: int  # flaky tests with the finding
    projects: int  # that have such tests
    lift: Figure
    within: Figure  # the same among the tests of one project


def lift_of(judged: Judged, has_finding: Floats, positive: NDArray[np.bool_]) -> Lift:
    """The lift of having a finding for one kind of flakiness."""
    number = len(judged.names)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(judged.project, weights=values, minlength=number), dtype=np.float64)

    tests, flaky, found, hits = (
        sums(np.asarray(values, dtype=np.float64))
        for values in (np.ones(len(positive)), positive, has_finding, has_finding * positive)
    )
    among_found, among_all = ratio(judged.draws, hits, found), ratio(judged.draws, flaky, tests)
    with np.errstate(invalid="ignore", divide="ignore"):
        lift = Figure(values=among_found.values / among_all.values)
    return Lift(
        hits=int(hits.sum()),
        projects=int((hits > 0).sum()),
        lift=lift,
        within=ratio(judged.draws, hits, found * flaky / tests),
    )


def table(judged: Judged) -> Iterator[str]:
    """One line for each rule and for having any finding."""
    rules_of = [frozenset(finding.rule for finding in test.findings) for test in judged.tests]
    positives = {kind: judged.positives(judged.tests, kind) for kind in KINDS}
    heads = [
        f"{KIND_NAMES[kind]} {text}" for kind in KINDS for text in ("tests/projects", "lift", "within projects")
    ]
    yield "| rule | tests | projects | " + " | ".join(heads) + " |"
    yield "|---|---|---|" + "---|" * len(heads)
    for rule, name in (("any", "any finding"), *((rule.id, f"{rule.id} {rule.name}") for rule in all_rules())):
        found = np.array([bool(rules) if rule == "any" else rule in rules for rules in rules_of], dtype=np.float64)
        if found.any():
            projects = len(np.unique(judged.project[found > 0]))
            cells = [cell for kind in KINDS for cell in _cells(lift_of(judged, found, positives[kind]))]
            yield f"| {name} | {found.sum():.0f} | {projects} | " + " | ".join(cells) + " |"


def _cells(lift: Lift) -> list[str]:
    figures = [figure.text(2) for figure in (lift.lift, lift.within)]
    if lift.projects < _MIN_POSITIVE_PROJECTS:
        figures = [f"{figure.estimate:.2f}" for figure in (lift.lift, lift.within)]
    return [f"{lift.hits}/{lift.projects}", *figures]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--split", choices=(DESIGN, CHOICE), default=DESIGN)
    parser.add_argument("--cache", type=Path, default=SOURCES, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    judged = Judged.of(read_corpus(options.split, cache=options.cache, data=options.data).tests, RESAMPLES, SEED)
    print("\n".join(table(judged)))


if __name__ == "__main__":
    main()
