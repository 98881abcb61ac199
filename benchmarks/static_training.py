"""Make the training data of lint's default model: one row per test of PyPI projects, as lint measures it.

Projects, sources and labels are those that `lint_yardstick.py` may learn from: the splits design and choice of
`lint_projects.csv`. Sources are fetched as files and never run. The table has all tests of each project. Weights
of words are learned from all of these projects and written, too; in the table the words of each project are
weighted by what the others say.

    python benchmarks/static_training.py [--cache DIR] [--data ../shared/data] [--out FILE] [--words FILE]

The model is fitted on first use (`flakehound.app.lint.model_file.default_model`), so this is the only step after a
change of what lint measures.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flaky_sources import DATA
from lint_corpus import SOURCES
from lint_labels import CHOICE, DESIGN, labelled_projects
from lint_rows import LabelledTest, read_corpus
from word_weights import crossfitted_word_weights, fit_word_weights, packed_weights

import flakehound.learn
from flakehound.app.lint.scoring import model_inputs
from flakehound.learn.static.table import VERSION
from flakehound.learn.static.words import FILE, WordWeights

_FACTS = Path(flakehound.learn.__file__).parent / "facts"
_LABELS = ("nod", "order_dependent", "infrastructure")


def rows_of(
    tests: Iterable[LabelledTest], names: Mapping[str, str], word_weights: Mapping[str, WordWeights]
) -> Iterator[dict[str, Any]]:
    """One row for each test.

    `names` has the names of the projects as the tables of labels spell them; `word_weights` has weights for the
    tests of each project.
    """
    files: dict[tuple[str, str], int] = {}
    for test in tests:
        file = files.setdefault((test.project, test.analysis.row.path), len(files))
        yield {
            "version": VERSION,
            "project": names[test.project],
            "file": file,
            "nod": int(test.is_nod),
            "order_dependent": int(test.is_order_dependent),
            "infrastructure": int(not test.is_judged),
            **model_inputs(test.analysis, test.findings, word_weights[test.project]),
        }


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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=SOURCES, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=_FACTS / "static_training.csv.gz")
    parser.add_argument("--words", type=Path, default=_FACTS / FILE, help="where to write the weights of words")
    options = parser.parse_args()
    names = {name: project.index_name for name, project in labelled_projects(options.data).items()}
    tests = [
        test
        for split in (DESIGN, CHOICE)
        for test in read_corpus(split, cache=options.cache, data=options.data).tests
    ]
    words = packed_weights(fit_word_weights(tests))
    rows = list(rows_of(tests, names, crossfitted_word_weights(tests)))
    packed = packed_table(rows)
    options.words.write_bytes(words)
    options.out.write_bytes(packed)
    counts = ", ".join(f"{sum(row[label] for row in rows)} {label}" for label in _LABELS)
    projects = len({row["project"] for row in rows})
    print(f"{len(rows)} tests of {projects} projects ({counts}), {len(packed):,} bytes: {options.out}")
    print(f"Weights of words: {len(words):,} bytes: {options.words}")


if __name__ == "__main__":
    main()
