"""Flaky tests that Gruber et al. (2021) found by running and that have a lint finding; ranking; root causes.

Sources are the newest sdists before 2021 from PyPI, fetched as files: nothing is built, imported or run. Projects
are split by name into those that rules and weights were tuned on and those held out; both are reported. The peer
of the ranking is the single metric that ranks best, chosen with hindsight. OD means order-dependent. The script
also prints the share of each rule among all tests and among the flaky ones.

    python benchmarks/lint_recall.py [--cache DIR] [--data ../shared/data] [--fit] [--rows FILE.json]
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from flaky_sources import CACHE, DATA, SourceProject, parse_project, projects_with_sources, read_table
from rule_weight_fit import LintedTest, fit_weights, scores_of
from side_by_side import Row, benchmark_parser, report_results

from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.metrics.table import METRIC_NAMES, metrics_of
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.scoring.rule_weights import WEIGHTS
from flakehound.lint.source.project import Project

FOLDS = 5
_CAUSES = {
    "random": "randomness", "network": "network", "IO": "io", "time": "time", "concurrency": "concurrency",
    "async wait": "async-wait", "unordered collection": "unordered-collection", "resource leak": "resource-leak",
    "Test Case Timeout": "time",
}  # fmt: skip


# ------------------------------------------------------------------ reading


def lint_project(source: SourceProject, max_tests: int | None) -> list[LintedTest]:
    """All tests of a project whose sdist contains at least one of its flaky tests; else none."""
    project = parse_project(source)
    if project is None:
        return []
    cache = FactsCache()
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    if max_tests is not None and len(cases) > max_tests:
        return []
    tests = [_lint_case(source, case, project, cache) for case in cases]
    return tests if any(test.label for test in tests) else []


def _lint_case(source: SourceProject, case: StaticCase, project: Project, cache: FactsCache) -> LintedTest:
    key = (case.path, case.classes[-1] if case.classes else "", case.name)
    findings = findings_of(context_of(case, project, cache))
    metrics = metrics_of(case, project)
    values = {name: getattr(metrics, name) for name in METRIC_NAMES}
    return LintedTest(
        project=source.name,
        id=str(case.id),
        label=source.labels.get(key, ""),
        rules=[finding.rule for finding in findings],
        causes=[finding.cause.value for finding in findings],
        metrics={name: None if value is None else float(value) for name, value in values.items()},
    )


def lint_all(data: Path, cache: Path, max_tests: int | None) -> list[LintedTest]:
    """All tests of all projects whose sources are available."""
    work = partial(lint_project, max_tests=max_tests)
    with Pool(2) as pool:
        by_project = pool.imap_unordered(work, projects_with_sources(data, cache), chunksize=4)
        return [test for tests in by_project for test in tests]


# ------------------------------------------------------------------ figures


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The chance that a positive test ranks above another one; ties count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks, start = 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        ranks += sum(positive[index] for index in order[start:end]) * (start + 1 + end) / 2
        start = end
    n_positive = sum(positive)
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return math.nan
    return (ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)


def recall_row(tests: Sequence[LintedTest], group: str, *, is_detail: bool = False) -> Row:
    """Recall of having a finding; prints precision, lift and the mean over projects as well."""
    with_finding = [test for test in tests if test.rules]
    share = len(with_finding) / len(tests)
    n_projects = len({test.project for test in tests})
    print(f"\n## {group}: {len(tests)} tests of {n_projects} projects")
    print(f"with a finding: {share:.1%} of all tests")
    recall = {}
    for label in ("nod", "od"):
        flaky = [test for test in tests if test.label == label]
        if flaky:
            found = sum(bool(test.rules) for test in flaky)
            base, precision = len(flaky) / len(tests), found / max(1, len(with_finding))
            recall[label] = found / len(flaky)
            print(
                f"{label}: {len(flaky)} tests, recall {recall[label]:.1%} (by project {_mean_recall(flaky):.1%}), "
                f"precision {precision:.2%} against a base rate of {base:.2%}, lift {precision / base:.2f}"
            )
    return Row(
        job=f"{len(tests):,} tests of {n_projects} projects, {group}",
        ours=f"{recall['nod']:.1%} of NOD, {recall['od']:.1%} of OD",
        peer="–",
        measured=f"{recall['nod']:.1%} of NOD in {share:.1%} of all tests",
        goal="≥ 85 % of NOD in ≤ 45 %",
        met=recall["nod"] >= 0.85 and share <= 0.45,
        is_detail=is_detail,
    )


def _mean_recall(flaky: Sequence[LintedTest]) -> float:
    by_project: dict[str, list[bool]] = {}
    for test in flaky:
        by_project.setdefault(test.project, []).append(bool(test.rules))
    return sum(sum(hits) / len(hits) for hits in by_project.values()) / len(by_project)


def print_rules(tests: Sequence[LintedTest]) -> None:
    """Print how many tests, NOD tests and order-dependent tests each rule marks."""
    print("\nrule   all     NOD recall  NOD precision  OD recall  OD precision")
    counts = {label: sum(test.label == label for test in tests) for label in ("nod", "od")}
    for rule in sorted({rule for test in tests for rule in test.rules}):
        with_rule = [test for test in tests if rule in test.rules]
        cells = []
        for label in ("nod", "od"):
            found = sum(test.label == label for test in with_rule)
            cells.append(f"{found / max(1, counts[label]):9.1%}  {found / len(with_rule):13.2%}")
        print(f"{rule} {len(with_rule) / len(tests):7.2%} " + " ".join(cells))


def ranking_rows(tests: Sequence[LintedTest], scores: Sequence[float], group: str) -> Iterator[Row]:
    """AUC of the score, against the metric that ranks these tests best."""
    print(f"\nAUC, {group}")
    for label, labels in (("NOD", {"nod"}), ("OD", {"od"}), ("NOD or OD", {"nod", "od"})):
        positive = [test.label in labels for test in tests]
        by_metric = {name: auc([test.metrics[name] or 0.0 for test in tests], positive) for name in METRIC_NAMES}
        best = max(by_metric, key=lambda name: max(by_metric[name], 1 - by_metric[name]))
        best_auc = max(by_metric[best], 1 - by_metric[best])
        ours = auc(scores, positive)
        print(f"{label:9} score {ours:.3f}   best single metric {best_auc:.3f} ({best})")
        yield Row(
            job=f"ranking {label}, {group}",
            ours=f"AUC {ours:.3f}",
            peer=f"{best_auc:.3f} ({best})",
            measured=f"{ours - best_auc:+.3f}",
            goal="better",
            met=ours > best_auc,
            is_detail=len(labels) > 1,
        )


def fold_rows(tests: Sequence[LintedTest]) -> Iterator[Row]:
    """The ranking where each project is scored by weights that were fitted without it."""
    fold_of = {name: number % FOLDS for number, name in enumerate(sorted({test.project for test in tests}))}
    in_folds: list[LintedTest] = []
    scores: list[float] = []
    for fold in range(FOLDS):
        weights = fit_weights([test for test in tests if fold_of[test.project] != fold])
        inside = [test for test in tests if fold_of[test.project] == fold]
        in_folds += inside
        # Without the constant: it is the share of flaky tests in the other projects, which differs between folds.
        scores += scores_of(inside, {**weights, "": 0.0})
    yield from ranking_rows(in_folds, scores, f"weights fitted on other projects, {FOLDS} folds")


def cause_row(tests: Sequence[LintedTest], data: Path) -> Row:
    """How often the first finding names the labelled cause; prints the other cases."""
    by_name = {(test.project, test.id.partition("::")[0], test.id.rpartition("::")[2]): test for test in tests}
    tried: Counter[str] = Counter()
    first: Counter[str] = Counter()
    any_finding: Counter[str] = Counter()
    for label in read_table(data, "python_nod_root_causes"):
        test = by_name.get((label["Project_Name"], label["Test_filename"], label["Test_funcname"]))
        if test is not None:
            cause = _CAUSES[label["root_cause"]]
            tried[cause] += 1
            first[cause] += test.causes[:1] == [cause]
            any_finding[cause] += cause in test.causes
            if test.causes[:1] != [cause]:
                print(f"  {cause:12} but first finding {test.causes[:1]}: {test.project} {test.id}")
    print(f"\nlabelled cause: first finding {first.total()}, any finding {any_finding.total()} of {tried.total()}")
    for cause, number in tried.most_common():
        print(f"  {cause:22} first {first[cause]:2}, any {any_finding[cause]:2} of {number}")
    share = first.total() / max(1, tried.total())
    return Row(
        job="the first finding names the labelled root cause",
        ours=f"{first.total()} of {tried.total()} tests",
        peer="–",
        measured=f"{share:.0%}",
        goal="≥ 70 %",
        met=share >= 0.7,
    )


def all_rows(tests: Sequence[LintedTest], data: Path) -> Iterator[Row]:
    """All rows of the table; prints the details on the way."""
    held_out = [test for test in tests if test.held_out]
    yield recall_row([test for test in tests if not test.held_out], "tuned on")
    yield recall_row(held_out, "held out")
    yield recall_row(tests, "all", is_detail=True)
    print_rules(tests)
    yield cause_row(tests, data)
    yield from ranking_rows(held_out, scores_of(held_out, WEIGHTS), "held-out projects, shipped weights")
    yield from fold_rows(tests)


def main() -> None:
    parser = benchmark_parser(__doc__ or "", repeats=1)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=Path, help="file for the linted tests; read if it exists, else written")
    parser.add_argument("--most", type=int, help="leave out projects with more tests, to finish earlier")
    parser.add_argument("--fit", action="store_true", help="print weights fitted on the projects not held out")
    options = parser.parse_args()
    if options.rows and options.rows.exists():
        tests = [LintedTest(**row) for row in json.loads(options.rows.read_text())]
    else:
        tests = lint_all(options.data, options.cache, options.most)
        if options.rows:
            options.rows.write_text(json.dumps([asdict(test) for test in tests]))
    notes = [f"projects with more than {options.most} tests are left out"] if options.most else []
    rows = list(all_rows(tests, options.data))
    if options.fit:
        weights = fit_weights([test for test in tests if not test.held_out])
        print("\n" + "\n".join(f'    "{name}": {weight:.2f},' for name, weight in weights.items()))
    print()
    report_results(rows, options.json, notes)


if __name__ == "__main__":
    main()
