"""Make the training data of lint's default model: one row per test of PyPI projects, as lint measures it.

Sources and labels are those of `flaky_sources.py`: the newest sdists before 2021, fetched as files and never run,
and the labels of Gruber et al. (2021), who ran the tests. The table has all tests of each project.

    python benchmarks/static_training.py [--cache DIR] [--data ../shared/data] [--out FILE.csv.gz] [--offline]
    python benchmarks/static_training.py --words 100    print the words that at least 100 of the projects use
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

from flaky_sources import CACHE, DATA, Key, SourceProject, parse_project, projects_with_sources

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


def rows_of(source: SourceProject) -> list[dict[str, Any]]:
    """All tests of a project whose sdist contains at least one of its flaky tests; else none."""
    project = parse_project(source)
    if project is None:
        return []
    rows = [
        _row(source.name, number, test, source.labels)
        for number, module in enumerate(project.test_modules())
        for test in analyse_file(project, module)
    ]
    return rows if any(row[label] for row in rows for label in _LABELS.values()) else []


def _row(name: str, file: int, test: CaseAnalysis, known: Mapping[Key, str]) -> dict[str, Any]:
    path, *classes, last = test.row.test_id.split("::")
    label = known.get((path, classes[-1] if classes else "", last), "")
    facts = {"version": VERSION, "project": name, "file": file}
    labels = {column: int(label == short) for short, column in _LABELS.items()}
    return {**facts, **labels, **model_inputs(test, test.findings)}


def words_of(source: SourceProject) -> frozenset[str]:
    """All words that the test code of a project uses, in flaky and other tests."""
    project = parse_project(source)
    if project is None or not rows_of(source):
        return frozenset()
    cache = FactsCache()
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    return frozenset[str]().union(*(all_words_of(context_of(case, project, cache).test_code) for case in cases))


def frequent_words(sources: Iterable[SourceProject], min_projects: int) -> list[str]:
    """Words of three letters and more that at least `min_projects` projects use."""
    with Pool(2) as pool:
        projects = Counter(word for words in pool.imap(words_of, sources, chunksize=4) for word in words)
    return sorted(word for word, number in projects.items() if number >= min_projects and len(word) > 2)


def packed_table(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The compressed table; the same rows give the same bytes."""
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
    """The rows of all projects, in the order of their names."""
    with Pool(2) as pool:
        for rows in pool.imap(rows_of, projects_with_sources(data, cache, offline=offline), chunksize=4):
            yield from rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=_OUT)
    parser.add_argument("--offline", action="store_true", help="read only what the cache holds")
    parser.add_argument("--words", type=int, metavar="N", help="print the words of at least N projects and exit")
    options = parser.parse_args()
    if options.words is not None:
        sources = projects_with_sources(options.data, options.cache, offline=options.offline)
        words = frequent_words(sources, options.words)
        print(f"{len(words)} words: {' '.join(words)}")
        return
    rows = list(read_all(options.data, options.cache, offline=options.offline))
    packed = packed_table(rows)
    options.out.write_bytes(packed)
    counts = ", ".join(f"{sum(row[label] for row in rows)} {label}" for label in _LABELS.values())
    projects = len({row["project"] for row in rows})
    print(f"{len(rows)} tests of {projects} projects ({counts}), {len(packed):,} bytes: {options.out}")


if __name__ == "__main__":
    main()
