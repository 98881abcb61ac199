"""Hunts in large suites with planted flaky tests: what is proven, after what time, and whether the budget holds.

Each suite has thousands of tests and takes minutes. By seed, 23 flaky tests of every kind are planted into its
test files, far apart from the tests that they depend on (`planted_tests.py`). A hunt runs as a user would run it.
A plant is proven if the report has the right kind and names all culprits. Every other test that is called flaky is
checked with plain pytest.

    python benchmarks/large.py --list                       suites, tests, time of one plain run
    python benchmarks/large.py --verify --repeats 2         check the plants with plain pytest, without flakehound
    python benchmarks/large.py --budgets 10m,30m,third --repeats 2
    python benchmarks/large.py --budgets 10m --flakehound /other/.venv/bin/flakehound      of another checkout
    python benchmarks/large.py --report                     tables and picture of the results so far

Repeat number r, from 0, uses plants and hunts of seed S + r. Results are appended to a file after each hunt, and a
hunt that is in it is not repeated, unless flakehound's source has changed. `third` is a third of the CPU time of
one plain run. Some suites are held out: they are used only with `--held-out`, to judge and not to tune.

A result is bound to the source of flakehound and to the code that plants. `--report` shows those of the flakehound
that is judged, as it is now; with `--all-versions` those of all. What a hunt printed stays in the suite's folder.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from large_baseline import other_runs, own_flaky_tests
from large_hunt import HuntJob, append_score, hunt_and_score, read_scores
from large_program import Program, program_of
from large_report import budgets_of, conditions_of, draw, goals_of, kinds_of, notes_of, table_of
from large_suites import CACHE, SUITES, LargeSuite, facts_of, planting_digest
from planted_check import verify_plants

THIRD = "third"
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


def selected_suites(names: Sequence[str], held_out: bool) -> list[LargeSuite]:
    """The named suites, or all; those that are held out only on request."""
    known = {suite.name: suite for suite in SUITES if suite.held_out == held_out}
    unknown = set(names) - set(known)
    assert not unknown, f"no such suite: {sorted(unknown)}; known: {sorted(known)}"
    return [suite for name, suite in known.items() if not names or name in names]


def budget_in_s(label: str, suite: LargeSuite) -> float:
    """The seconds of `10m`, `90s`, `1h`, or of a third of the suite's time."""
    if label == THIRD:
        return max(1.0, round(facts_of(suite).cpu_s / 3))
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", label)
    assert matched, f"not a budget: {label!r}; examples: 10m, 90s, {THIRD}"
    return float(matched[1]) * _UNITS_S[matched[2]]


def jobs_of(suites: Sequence[LargeSuite], options: argparse.Namespace, program: Program) -> Iterator[HuntJob]:
    """Every hunt: the first repeat of all suites and budgets first."""
    for repeat in range(options.repeats):
        for label in options.budgets.split(","):
            for suite in suites:
                budget_s = budget_in_s(label, suite)
                seed = options.seed + repeat
                yield HuntJob(suite=suite, seed=seed, budget=label, budget_s=budget_s, program=program)


def list_suites(suites: Sequence[LargeSuite]) -> None:
    """Print what is known about each suite; measures those that were never run."""
    columns = ("suite", "tests", "passed", "skipped", "files", "plain run: CPU", "wall, one core", "load before")
    print(f"| {' | '.join([*columns, 'flaky without plants'])} |\n|{'---|' * (len(columns) + 1)}")
    for suite in suites:
        facts = facts_of(suite)
        numbers = (len(facts.outcomes), facts.number_of("passed"), facts.number_of("skipped"), len(facts.files))
        times = (f"{facts.cpu_s:.0f} s", f"{facts.wall_s:.0f} s", f"{facts.load:.1f}")
        other_runs(suite)
        own = own_flaky_tests(suite)
        print("| " + " | ".join([suite.name, *map(str, numbers), *times, str(len(own))]) + " |", flush=True)
        for test, note in own.items():
            print(f"  {test}: {note}", flush=True)


def verify(suites: Sequence[LargeSuite], options: argparse.Namespace) -> None:
    """Check the plants of all repeats with plain pytest."""
    for seed in range(options.seed, options.seed + options.repeats):
        for suite in suites:
            print(f"{suite.name}, plants of seed {seed}:", flush=True)
            problems = verify_plants(suite, seed)
            for test, problem in problems.items():
                print(f"  PROBLEM {test}: {problem}")
            print(f"  {len(problems)} problems", flush=True)


def hunt(suites: Sequence[LargeSuite], options: argparse.Namespace, program: Program) -> None:
    """Make the hunts that the file of results does not have."""
    done = [score["key"] for score in read_scores(options.results)]
    for job in jobs_of(suites, options, program):
        if job.key in done:
            continue
        score = hunt_and_score(job)
        append_score(options.results, score)
        proven = sum(plant["result"] == "proven" for plant in score.plants)
        summary = f"{proven} of {len(score.plants)} proven in {score.watched.wall_s:.0f} s"
        print(f"{job.suite.name}, seed {job.seed}, budget {job.budget}: {summary}", flush=True)


def report(scores: Sequence[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print the goals and one table per budget, write the same to a file, and draw the picture."""
    if not scores:
        print("no results of this version of flakehound and of the plants")
        return
    parts = ["# Hunts in large suites", conditions_of(scores), goals_of(scores)]
    for budget in budgets_of(scores):
        chosen = [score for score in scores if score["budget"] == budget]
        notes = "\n".join(f"- {note}" for note in notes_of(chosen))
        parts += [f"## Budget {budget}", table_of(chosen), kinds_of(chosen), *([notes] if notes else [])]
    text = "\n\n".join(parts) + "\n"
    print(text)
    options.table.write_text(text, encoding="utf-8")
    draw(scores, options.picture)
    print(f"written: {options.table}, {options.picture}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="list the suites; measures those that were never run")
    parser.add_argument("--verify", action="store_true", help="check the plants with plain pytest")
    parser.add_argument("--report", action="store_true", help="only report the results so far")
    parser.add_argument("--suites", default="", help="names, with commas (default: all that are not held out)")
    parser.add_argument("--held-out", action="store_true", help="use the suites that nothing is tuned on instead")
    parser.add_argument("--budgets", default="10m", help=f"such as 10m,30m,{THIRD} (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=1, help="hunts per suite and budget (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the first plants and hunts (default %(default)s)")
    parser.add_argument(
        "--flakehound", type=Path, metavar="PATH", help="of another checkout: .venv/bin/flakehound"
    )
    parser.add_argument("--results", type=Path, default=CACHE / "results.jsonl", help="default %(default)s")
    parser.add_argument("--table", type=Path, default=CACHE / "report.md", help="default %(default)s")
    parser.add_argument("--picture", type=Path, default=CACHE / "report.png", help="default %(default)s")
    parser.add_argument("--all-versions", action="store_true", help="report the results of all versions together")
    options = parser.parse_args()
    suites = selected_suites([name for name in options.suites.split(",") if name], options.held_out)
    if options.list:
        list_suites(suites)
        return
    if options.verify:
        verify(suites, options)
        return
    program = program_of(options.flakehound)
    if not options.report:
        hunt(suites, options, program)
    names, versions = {suite.name for suite in suites}, [planting_digest(), program.digest()]
    scores = [score for score in read_scores(options.results) if score["suite"] in names]
    report([score for score in scores if options.all_versions or score["key"][-2:] == versions], options)


if __name__ == "__main__":
    main()
