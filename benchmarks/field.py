"""Hunts in real suites that nothing was tuned on, against the labels of two studies, and against RERUN.

Suites are sdists of projects that Gruber et al. (2021) or the authors of iFixFlakies' Python edition studied, with
packages of their time. The prepared subjects are left out. A label counts if plain pytest confirms it here three
times: a victim passes alone and fails after its polluters, a brittle test fails alone and passes after its
state-setters, a NOD test has both outcomes in 20 runs. Then a hunt with its defaults is judged as in
`subjects.py`: every label must be found, and every other test that is called flaky is checked with plain pytest.

    python benchmarks/field.py --work DIR [--most 40] [--seconds 3600] [--rerun] [NAME ...]

A suite that cannot be installed or run is skipped; DIR/skipped.csv has the reason. DIR/results.jsonl keeps the
results. With `--rerun` the index with half of the time is also compared with RERUN, as in `policies_real.py`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from flaky_sources import DATA, read_table
from old_sdist_suites import (
    MAX_SUITE_S,
    PLAIN_RUN_LIMIT_S,
    STUDY_DATE,
    Suite,
    SuiteMaker,
    SuiteSkipped,
    clean_environment,
    process_suites,
    run_with_limit,
    skipped_suites,
)
from plain_check import PlainCheck
from policies_real import INDEX, MIN_BUDGET_S, RERUN, SUITE_TIMES, kinds_found
from prepared_subjects import Subject, subject_keys
from pypi_before_date import serve_index_before
from running import temporary_folder
from subjects import MIN_RATE_TO_FIND, Comparison, compare_with_labels

from flakehound.learn.static.table import shipped_bytes, shipped_samples

MAX_LABELS = 12  # of one project, because checking a label takes at least six plain runs


def projects_of_studies(data: Path) -> list[str]:
    """Projects whose sdist contains a flaky test: those with known polluters first, then those with NOD tests."""
    nod = Counter[str]()
    for sample in shipped_samples(shipped_bytes()):
        nod[sample.project] += sample.nod
    with_polluters = Counter(row["project"] for row in read_table(data, "python_order_dependent"))
    prepared = {key.rpartition("-")[0].lower() for key in subject_keys()}
    names = [name for name in nod if name.lower() not in prepared]
    return sorted(names, key=lambda name: (not with_polluters[name], not nod[name], name.lower()))


def labels_of(data: Path, project: str) -> Iterator[dict[str, Any]]:
    """The labels of the studies, in the format of the list of subjects."""
    for row in read_table(data, "python_order_dependent"):
        others = [test.strip() for test in re.split(r"[;|\n]", row["polluters_or_setters"]) if test.strip()]
        if row["project"] == project and row["od_type"] in ("victim", "brittle") and others:
            yield {"test": row["test_id"], "kind": row["od_type"], "polluters": others, "minimal_set": others[:1]}
    for row in read_table(data, "python_flaky"):
        if row["Project_Name"] != project or "True" in (row["Order-dependent"], row["Flaky_Infrastructure"]):
            continue
        failed = int(row["Failed_sameOrder"] or 0) + int(row["Error_sameOrder"] or 0)
        runs = failed + int(row["Passed_sameOrder"] or 0)
        if runs and failed / runs >= MIN_RATE_TO_FIND:
            yield {"test": _node_id(row), "kind": "nod", "fail_rate": failed / runs}


def _node_id(row: Mapping[str, str]) -> str:
    """pytest's id of a test of the study, which writes the path of the module before the class."""
    class_name = row["Test_classname"].rpartition(".")[2]
    stem = Path(row["Test_filename"]).stem
    inner = [class_name] if class_name and class_name != stem else []
    return "::".join([row["Test_filename"], *inner, row["Test_funcname"] + row["Test_parametrization"]])


def is_confirmed(label: Mapping[str, Any], check: PlainCheck) -> bool:
    """Whether plain pytest shows the labelled behaviour here."""
    order = [*label.get("minimal_set", ()), label["test"]]
    claim = {"id": label["test"], "kind": label["kind"], "minimal_order": order, "evidence": ()}
    return check.verdict_on(claim).startswith("true")


def subject_of(suite: Suite, data: Path) -> Subject:
    """The suite with the labels that plain pytest confirms."""
    subject = Subject(
        key=suite.name,
        tree=suite.tree,
        python=suite.python,
        pytest_args=(*suite.pytest_args, "."),
        labels=(),
        n_tests=0,
        env=suite.env,
    )
    check = PlainCheck(subject)
    tests = _tests_of(subject, check)
    labels = [label for label in labels_of(data, suite.name) if label["test"] in tests][:MAX_LABELS]
    confirmed = tuple(label for label in labels if is_confirmed(label, check))
    note = f"{len(confirmed)} of {len(labels)} labels confirmed"
    return replace(subject, labels=confirmed, n_tests=len(tests), note=note)


def _tests_of(subject: Subject, check: PlainCheck) -> set[str]:
    """The tests that ran in one plain run; skips a suite that is slow or mostly fails."""
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        command = [subject.python, "-m", "pytest", *subject.pytest_args, "-q", "-rA"]
        env = {**clean_environment(), **check.environment_of(tree)}
        output = run_with_limit(command, PLAIN_RUN_LIMIT_S, cwd=tree, env=env).stdout
    passed = set(re.findall(r"^PASSED (\S+)", output, re.M))
    took_s = max(map(float, re.findall(r" in ([\d.]+)s", output[-400:])), default=PLAIN_RUN_LIMIT_S)
    if took_s > MAX_SUITE_S:
        raise SuiteSkipped(f"one run takes {took_s:.0f} s")
    others = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M))
    if len(passed) < 2 or len(passed) < len(others):
        raise SuiteSkipped(f"{len(passed)} tests pass, {len(others)} do not")
    return passed | others


def hunt_and_compare(suite: Suite, options: argparse.Namespace, work: Path) -> str:
    """Hunt one suite and append the result to `results.jsonl`; returns a summary."""
    subject = subject_of(suite, options.data)
    comparison = compare_with_labels(subject, options.seed)
    result: dict[str, Any] = {**asdict(comparison), "tests": subject.n_tests, "labels": subject.note}
    if options.rerun:
        result |= _compare_with_rerun(subject, comparison.suite_s, options.seed)
    with (work / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")
    return _summary(comparison, subject, result)


def _compare_with_rerun(subject: Subject, suite_s: float, seed: int) -> dict[str, list[str]]:
    check, budget_s = PlainCheck(subject), max(MIN_BUDGET_S, SUITE_TIMES * suite_s)
    return {
        "rerun": kinds_found(subject, check, seed, budget_s, RERUN),
        "index": kinds_found(subject, check, seed, budget_s / 2, INDEX),
    }


def _summary(comparison: Comparison, subject: Subject, result: Mapping[str, Any]) -> str:
    row = comparison.row()
    rerun = f"; index {len(result['index'])} against RERUN {len(result['rerun'])}" if "rerun" in result else ""
    lines = [f"{subject.n_tests} tests, {subject.note}; {row.ours}; {row.measured}{rerun}", *comparison.notes]
    return "\n    ".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects (default: those of the studies)")
    parser.add_argument("--work", type=Path, required=True, help="folder for downloads and results")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--most", type=int, default=60, help="projects to try (default %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=3600, help="start no suite after this time (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="the hunts' seed (default %(default)s)")
    parser.add_argument("--pause", type=Path, help="start nothing while this file exists")
    parser.add_argument("--rerun", action="store_true", help="also hunt by RERUN, and by index in half its time")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = work / "results.jsonl"
    done = {json.loads(line)["key"] for line in results.read_text().splitlines()} if results.exists() else set()
    names = options.names or projects_of_studies(options.data)[: options.most]
    done |= skipped_suites(work)
    with serve_index_before(STUDY_DATE) as index:
        maker = SuiteMaker(work, index, options.pause)
        suites = [(name, partial(maker.sdist, name)) for name in names if name not in done]
        step = partial(hunt_and_compare, options=options, work=work)
        process_suites(suites, step, work, options.seconds, options.pause)


if __name__ == "__main__":
    main()
