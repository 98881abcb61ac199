"""Hunt in suites that nobody here has tuned anything on, and compare with what others saw of them.

Suites are sdists of projects that Gruber et al. (2021) or the authors of iFixFlakies' Python edition studied, with
packages of their time. The prepared subjects are left out. A label counts where plain pytest shows it here, too,
three times each: a victim passes alone and fails after its polluters, a brittle test fails alone and passes after
its state-setters, a NOD test has both outcomes in 20 runs. Then a hunt with its defaults is judged as in
`subjects.py`: every label must be found, and whatever else is called flaky is checked with plain pytest.

    python benchmarks/field.py --work DIR [--most 40] [--seconds 3600] [--rerun] [NAME ...]

What cannot be installed or run is left out; DIR/skipped.csv says why. DIR/results.jsonl keeps what was seen. With
`--rerun` the index with half of the time is compared with RERUN as well, as in `policies_real.py`.
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

from cannier_training import (
    DAY,
    PLAIN_S,
    SLOWEST_S,
    Maker,
    Skipped,
    Suite,
    clean_environment,
    collected,
    run,
    skipped_before,
)
from index_of_day import index_before
from lint_recall import DATA, table
from plain_check import PlainCheck
from policies_real import INDEX, LEAST_S, RERUN, SUITE_TIMES, flaky_in
from prepared import Subject, subject_keys
from running import temporary_folder
from subjects import RATE_TO_FIND, Comparison, compared

from flakehound.learn.static.table import shipped_bytes, shipped_samples

MOST_LABELS = 12  # of one project: each takes six plain runs to check


def projects(data: Path) -> list[str]:
    """Those whose sdist ships a flaky test, the ones with known polluters first, then those with NOD tests."""
    nod = Counter[str]()
    for sample in shipped_samples(shipped_bytes()):
        nod[sample.project] += sample.nod
    blamed = Counter(row["project"] for row in table(data, "python_order_dependent"))
    prepared = {key.rpartition("-")[0].lower() for key in subject_keys()}
    names = [name for name in nod if name.lower() not in prepared]
    return sorted(names, key=lambda name: (not blamed[name], not nod[name], name.lower()))


def labels(data: Path, project: str) -> Iterator[dict[str, Any]]:
    """What the studies say of its tests, in the words of the subjects' list."""
    for row in table(data, "python_order_dependent"):
        blamed = [one.strip() for one in re.split(r"[;|\n]", row["polluters_or_setters"]) if one.strip()]
        if row["project"] == project and row["od_type"] in ("victim", "brittle") and blamed:
            yield {"test": row["test_id"], "kind": row["od_type"], "polluters": blamed, "minimal_set": blamed[:1]}
    for row in table(data, "python_flaky"):
        if row["Project_Name"] != project or "True" in (row["Order-dependent"], row["Flaky_Infrastructure"]):
            continue
        failed = int(row["Failed_sameOrder"] or 0) + int(row["Error_sameOrder"] or 0)
        runs = failed + int(row["Passed_sameOrder"] or 0)
        if runs and failed / runs >= RATE_TO_FIND:
            yield {"test": _node_id(row), "kind": "nod", "fail_rate": failed / runs}


def _node_id(row: Mapping[str, str]) -> str:
    """How pytest names a test of the study, which has the path of the module before the class."""
    class_name = row["Test_classname"].rpartition(".")[2]
    stem = Path(row["Test_filename"]).stem
    inner = [class_name] if class_name and class_name != stem else []
    return "::".join([row["Test_filename"], *inner, row["Test_funcname"] + row["Test_parametrization"]])


def holds(label: Mapping[str, Any], check: PlainCheck) -> bool:
    """Whether plain pytest shows it here."""
    order = [*label.get("minimal_set", ()), label["test"]]
    claim = {"id": label["test"], "kind": label["kind"], "minimal_order": order, "evidence": ()}
    return check.verdict_on(claim).startswith("true")


def subject_of(suite: Suite, data: Path) -> Subject:
    """The suite with the labels that hold here."""
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
    there = _collected(subject, check)
    known = [one for one in labels(data, suite.name) if one["test"] in there][:MOST_LABELS]
    kept = tuple(one for one in known if holds(one, check))
    return replace(subject, labels=kept, n_tests=len(there), note=f"{len(kept)} of {len(known)} labels hold here")


def _collected(subject: Subject, check: PlainCheck) -> set[str]:
    """Its tests; too few or too slow a suite is left out."""
    with temporary_folder() as folder:
        tree = check.copy_into(folder)
        plain = [subject.python, "-m", "pytest", *subject.pytest_args]
        told = run(
            [*plain, "-q", "-rA"], PLAIN_S, cwd=tree, env={**clean_environment(), **check.environment_of(tree)}
        ).stdout
    passed = set(re.findall(r"^PASSED (\S+)", told, re.M))
    took_s = max(map(float, re.findall(r" in ([\d.]+)s", told[-400:])), default=PLAIN_S)
    if took_s > SLOWEST_S:
        raise Skipped(f"one run takes {took_s:.0f} s")
    others = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", told, re.M))
    if len(passed) < 2 or len(passed) < len(others):
        raise Skipped(f"{len(passed)} tests pass, {len(others)} do not")
    return passed | others


def hunted(suite: Suite, asked: argparse.Namespace, work: Path) -> str:
    """Hunt one suite and keep what came of it; gives a sentence on it."""
    subject = subject_of(suite, asked.data)
    comparison = compared(subject, asked.seed)
    found: dict[str, Any] = {**asdict(comparison), "tests": subject.n_tests, "labels": subject.note}
    if asked.rerun:
        found |= _beside_rerun(subject, comparison.suite_s, asked.seed)
    with (work / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")
    return _told(comparison, subject, found)


def _beside_rerun(subject: Subject, suite_s: float, seed: int) -> dict[str, list[str]]:
    check, budget_s = PlainCheck(subject), max(LEAST_S, SUITE_TIMES * suite_s)
    return {
        "rerun": flaky_in(subject, check, seed, budget_s, RERUN),
        "index": flaky_in(subject, check, seed, budget_s / 2, INDEX),
    }


def _told(comparison: Comparison, subject: Subject, found: Mapping[str, Any]) -> str:
    row = comparison.row()
    beside = f"; index {len(found['index'])} against RERUN {len(found['rerun'])}" if "rerun" in found else ""
    lines = [f"{subject.n_tests} tests, {subject.note}; {row.ours}; {row.measured}{beside}", *comparison.notes]
    return "\n    ".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="projects (default: those of the studies)")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is fetched and seen")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--most", type=int, default=60, help="projects to try (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3600, help="start no suite later (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="the hunts' seed (default %(default)s)")
    parser.add_argument("--pause", type=Path, help="start nothing while this file is there")
    parser.add_argument("--rerun", action="store_true", help="also hunt by RERUN, and by index in half its time")
    asked = parser.parse_args()
    work = asked.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = work / "results.jsonl"
    done = {json.loads(line)["key"] for line in results.read_text().splitlines()} if results.exists() else set()
    names = asked.names or projects(asked.data)[: asked.most]
    with index_before(DAY) as index:
        maker = Maker(work, index, asked.pause)
        left = [name for name in names if name not in done | skipped_before(work)]
        suites = [(name, partial(maker.sdist, name)) for name in left]
        collected(suites, lambda suite: hunted(suite, asked, work), work, asked.seconds, asked.pause)


if __name__ == "__main__":
    main()
