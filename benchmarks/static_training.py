"""Make the training data of lint's default model: one row per test of PyPI projects, as lint measures it.

Sources and labels are those of `lint_recall.py`: the newest sdists before 2021, fetched as files and never run,
and what Gruber et al. (2021) saw when they ran the tests. All tests of a project are in it, none is sampled.

    python benchmarks/static_training.py [--cache DIR] [--data ../shared/data] [--out FILE.csv.gz] [--offline]
    python benchmarks/static_training.py --words 100    the words that so many of the projects use
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from lint_recall import CACHE, DATA, Job, Key, jobs_for, project_of

import flakehound.learn
from flakehound.app.lint.scoring import model_inputs
from flakehound.learn.static.table import VERSION
from flakehound.lint.analyse import CaseAnalysis, analyse_file
from flakehound.lint.collect.cases import cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.scoring.vocabulary import all_words_of

_OUT = Path(flakehound.learn.__file__).parent / "facts" / "static_training.csv.gz"
_LABELS = {"nod": "nod", "od": "order_dependent", "infrastructure": "infrastructure"}


def rows_of(job: Job) -> list[dict[str, Any]]:
    """All tests of a project whose sdist ships at least one of its flaky tests; else none."""
    name, known, _cache, _most = job
    project = project_of(job)
    if project is None:
        return []
    found = [
        _row(name, number, test, known)
        for number, module in enumerate(project.test_modules())
        for test in analyse_file(project, module)
    ]
    return found if any(row[label] for row in found for label in _LABELS.values()) else []


def _row(name: str, file: int, test: CaseAnalysis, known: Mapping[Key, str]) -> dict[str, Any]:
    path, *classes, last = test.row.test_id.split("::")
    label = known.get((path, classes[-1] if classes else "", last), "")
    facts = {"version": VERSION, "project": name, "file": file}
    labels = {column: int(label == short) for short, column in _LABELS.items()}
    return {**facts, **labels, **model_inputs(test, test.findings)}


def words_of(job: Job) -> frozenset[str]:
    """All words that the test code of such a project uses, whether its tests are flaky or not."""
    project = project_of(job)
    if project is None or not rows_of(job):
        return frozenset()
    cache = FactsCache()
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    return frozenset[str]().union(*(all_words_of(context_of(case, project, cache).test_code) for case in cases))


def frequent_words(jobs: Iterable[Job], least: int) -> list[str]:
    """Those of three letters and more that at least so many projects use."""
    with Pool(2) as pool:
        projects = Counter(word for words in pool.imap(words_of, jobs, chunksize=4) for word in words)
    return sorted(word for word, number in projects.items() if number >= least and len(word) > 2)


def written(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The table, packed; the same rows give the same bytes."""
    text = io.StringIO(newline="")
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return gzip.compress(text.getvalue().encode(), 9, mtime=0)


def _cell(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else value


def read_all(data: Path, cache: Path, *, offline: bool) -> Iterator[dict[str, Any]]:
    with Pool(2) as pool:
        for rows in pool.imap(rows_of, jobs_for(data, cache, offline=offline), chunksize=4):
            yield from rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--offline", action="store_true", help="read only what the cache holds")
    parser.add_argument("--words", type=int, metavar="N", help="print the words of at least N projects, and end")
    asked = parser.parse_args()
    if asked.words is not None:
        found = frequent_words(jobs_for(asked.data, asked.cache, offline=asked.offline), asked.words)
        print(f"{len(found)} words: {' '.join(found)}")
        return
    rows = list(read_all(asked.data, asked.cache, offline=asked.offline))
    packed = written(rows)
    asked.out.write_bytes(packed)
    counts = ", ".join(f"{sum(row[label] for row in rows)} {label}" for label in _LABELS.values())
    projects = len({row["project"] for row in rows})
    print(f"{len(rows)} tests of {projects} projects ({counts}), {len(packed):,} bytes: {asked.out}")


if __name__ == "__main__":
    main()
