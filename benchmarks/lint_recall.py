"""What the rules of `flakehound lint` find of the flaky tests that Gruber et al. (2021) found by running.

Sources are the newest sdists before 2021 from PyPI, fetched as files: nothing is built, imported or run. Projects
are split by name into those that rules and weights were tuned on and those kept apart; both are told.

    python benchmarks/lint_recall.py [--cache DIR] [--data ../shared/data] [--fit] [--rows FILE.json]
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import io
import json
import math
import os
import re
import statistics
import tarfile
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from multiprocessing import Pool
from pathlib import Path, PurePosixPath

import side_by_side
from index_of_day import HEADERS, page_address

from flakehound.core.collection_patterns import Patterns
from flakehound.core.statistics.rates import logistic
from flakehound.learn.models.logistic import solve_linear
from flakehound.lint.collect.cases import StaticCase, cases_of
from flakehound.lint.facts.case_context import FactsCache
from flakehound.lint.facts.read_context import context_of
from flakehound.lint.metrics.table import METRIC_NAMES, metrics_of
from flakehound.lint.rules.registry import findings_of
from flakehound.lint.scoring.rule_weights import WEIGHTS, signals
from flakehound.lint.source.project import Project

_LINK = re.compile(r'<a href="([^"]+)"[^>]*data-upload-time="([^"]+)"[^>]*>([^<]+)</a>')
_ARCHIVES = (".tar.gz", ".zip", ".tgz", ".tar.bz2")
_LARGEST = 2_000_000  # bytes of a file worth reading
_BEFORE = "2021"  # the study's commits are of 2020
_CAUSES = {
    "random": "randomness", "network": "network", "IO": "io", "time": "time", "concurrency": "concurrency",
    "async wait": "async-wait", "unordered collection": "unordered-collection", "resource leak": "resource-leak",
    "Test Case Timeout": "time",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding, as far as the score looks at it."""

    rule: str
    cause: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One test with its label and what lint says about it."""

    project: str
    id: str
    label: str  # "nod", "od", "infrastructure", "" for tests that never flaked
    rules: list[str]
    causes: list[str]  # of the findings, the first finding first
    metrics: dict[str, float | None]

    @cached_property
    def signals(self) -> dict[str, float]:
        """What the score looks at."""
        return signals(map(Seen, self.rules, self.causes), self.metrics)

    @property
    def held_out(self) -> bool:
        """Whether its project is kept apart from tuning."""
        return is_held_out(self.project)


def is_held_out(project: str) -> bool:
    return hashlib.sha256(project.encode()).digest()[0] % 10 < 3


# ------------------------------------------------------------------ sources


def fetched(name: str, cache: Path) -> bool:
    """Whether the sources of a project are in the cache, after looking for them on PyPI."""
    home = cache / name
    if (home / ".done").exists():
        return True
    try:
        address = _sdist_of(name)
        for path, content in _members(address, _content(address)) if address else ():
            place = home.joinpath(*path.parts[1:])
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as fault:
        print(f"{name}: {fault}")
        return False
    if address:
        home.mkdir(parents=True, exist_ok=True)
        (home / ".done").write_text(address)
    return bool(address)


def _sdist_of(name: str) -> str | None:
    page = _content(page_address(name)).decode()
    found = [(day, html.unescape(link)) for link, day, file in _LINK.findall(page) if file.endswith(_ARCHIVES)]
    old = [one for one in found if one[0] < _BEFORE]
    return max(old)[1].partition("#")[0] if old else None


def _content(address: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address, headers=HEADERS), timeout=120) as answer:
        return bytes(answer.read())


def _members(address: str, content: bytes) -> Iterator[tuple[PurePosixPath, bytes]]:
    opened = _zipped(content) if address.endswith(".zip") else _tarred(content)
    for name, read in opened:
        path = PurePosixPath(name)
        if path.suffix in (".py", ".cfg", ".toml", ".ini") and ".." not in path.parts and len(path.parts) > 1:
            yield path, read()


def _zipped(content: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    archive = zipfile.ZipFile(io.BytesIO(content))
    for one in archive.infolist():
        if one.file_size < _LARGEST:
            yield one.filename, lambda one=one: archive.read(one)  # type: ignore[misc]


def _tarred(content: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    archive = tarfile.open(fileobj=io.BytesIO(content))  # noqa: SIM115
    for one in archive:
        if one.isfile() and one.size < _LARGEST:
            yield one.name, lambda one=one: archive.extractfile(one).read()  # type: ignore[misc,union-attr]


# ------------------------------------------------------------------ labels

Key = tuple[str, str, str]  # file, class, function: how the study names a test


def table(data: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(data / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def key_of(row: Mapping[str, str]) -> Key:
    owner = row["Test_classname"].rpartition(".")[2]
    return row["Test_filename"], owner if owner[:1].isupper() else "", row["Test_funcname"]


def labels(data: Path) -> dict[str, dict[Key, str]]:
    """Flaky tests by project; a test with several parameters is NOD if one of them is."""
    found: dict[str, dict[Key, str]] = {}
    for row in table(data, "python_flaky"):
        order, infrastructure = row["Order-dependent"] == "True", row["Flaky_Infrastructure"] == "True"
        label = "od" if order else "infrastructure" if infrastructure else "nod"
        known = found.setdefault(row["Project_Name"], {})
        if known.get(key_of(row)) != "nod":
            known[key_of(row)] = label
    return {name: known for name, known in found.items() if "/" not in name}


# ------------------------------------------------------------------ reading


Job = tuple[str, dict[Key, str], Path, int | None]


def project_of(job: Job) -> Project | None:
    """A project whose sdist ships at least one file with a flaky test; else None."""
    name, known, cache, _most = job
    root = cache / name
    files = {file for file, _owner, _name in known if file and (root / file).is_file()}
    if not files:
        return None
    # The study ran the files it names, whatever the project's patterns are.
    patterns = Patterns(files=(*Patterns().files, *sorted(PurePosixPath(file).name for file in files)))
    sources = {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.py") if path.is_file()
    }
    return Project(sources, patterns=patterns)


def rows_of(job: Job) -> list[Row]:
    """All tests of a project whose sdist ships at least one of its flaky tests; else none."""
    name, known, _cache, most = job
    project = project_of(job)
    if project is None:
        return []
    cache = FactsCache()
    cases = [case for module in project.test_modules() for case in cases_of(module, project.patterns, project)]
    if most is not None and len(cases) > most:
        return []
    found = [_row(name, case, known, project, cache) for case in cases]
    return found if any(row.label for row in found) else []


def _row(name: str, case: StaticCase, known: Mapping[Key, str], project: Project, cache: FactsCache) -> Row:
    key = (case.path, case.classes[-1] if case.classes else "", case.name)
    findings = findings_of(context_of(case, project, cache))
    metrics = metrics_of(case, project)
    values = {one: getattr(metrics, one) for one in METRIC_NAMES}
    return Row(
        project=name,
        id=str(case.id),
        label=known.get(key, ""),
        rules=[finding.rule for finding in findings],
        causes=[finding.cause.value for finding in findings],
        metrics={one: None if value is None else float(value) for one, value in values.items()},
    )


# ------------------------------------------------------------------ figures


def auc(scores: Sequence[float], wanted: Sequence[bool]) -> float:
    """The chance that a wanted test ranks above another; ties count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks, start = 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and scores[order[end]] == scores[order[start]]:
            end += 1
        ranks += sum(wanted[one] for one in order[start:end]) * (start + 1 + end) / 2
        start = end
    yes = sum(wanted)
    no = len(wanted) - yes
    return (ranks - yes * (yes + 1) / 2) / (yes * no) if yes and no else math.nan


def told(rows: Sequence[Row], title: str) -> side_by_side.Row:
    """Recall, precision and lift of having a finding, over all tests and as the mean over projects."""
    hit = [row for row in rows if row.rules]
    print(f"\n## {title}: {len(rows)} tests of {len({row.project for row in rows})} projects")
    print(f"with a finding: {len(hit) / len(rows):.1%} of all tests")
    share, recall = len(hit) / len(rows), {}
    for label in ("nod", "od"):
        wanted = [row for row in rows if row.label == label]
        if wanted:
            found = sum(bool(row.rules) for row in wanted)
            base, precision = len(wanted) / len(rows), found / max(1, len(hit))
            by_project = _mean_recall(wanted)
            recall[label] = found / len(wanted)
            print(
                f"{label}: {len(wanted)} tests, recall {found / len(wanted):.1%} (by project {by_project:.1%}), "
                f"precision {precision:.2%} against a base rate of {base:.2%}, lift {precision / base:.2f}"
            )
    return side_by_side.Row(
        job=f"tests with a finding, {title}: {len(rows):,} tests of {len({row.project for row in rows})} projects",
        ours=f"{recall['nod']:.1%} of NOD, {recall['od']:.1%} of OD",
        peer="–",
        measured=f"{recall['nod']:.1%} of NOD in {share:.1%} of all tests",
        goal="≥ 85 % of NOD in ≤ 45 %",
        met=recall["nod"] >= 0.85 and share <= 0.45,
    )


def _mean_recall(wanted: Sequence[Row]) -> float:
    by_project: dict[str, list[bool]] = {}
    for row in wanted:
        by_project.setdefault(row.project, []).append(bool(row.rules))
    return sum(sum(hits) / len(hits) for hits in by_project.values()) / len(by_project)


def told_per_rule(rows: Sequence[Row]) -> None:
    print("\nrule   all     NOD recall  NOD precision  OD recall  OD precision")
    counts = {label: sum(row.label == label for row in rows) for label in ("nod", "od")}
    for rule in sorted({rule for row in rows for rule in row.rules}):
        hit = [row for row in rows if rule in row.rules]
        cells = []
        for label in ("nod", "od"):
            found = sum(row.label == label for row in hit)
            cells.append(f"{found / max(1, counts[label]):9.1%}  {found / len(hit):13.2%}")
        print(f"{rule} {len(hit) / len(rows):7.2%} " + " ".join(cells))


def told_ranking(rows: Sequence[Row], scores: Sequence[float], title: str) -> Iterator[side_by_side.Row]:
    print(f"\nAUC, {title}")
    for label, wanted_labels in (("nod", {"nod"}), ("od", {"od"}), ("either", {"nod", "od"})):
        wanted = [row.label in wanted_labels for row in rows]
        singles = {name: auc([row.metrics[name] or 0.0 for row in rows], wanted) for name in METRIC_NAMES}
        best = max(singles, key=lambda name: max(singles[name], 1 - singles[name]))
        value = max(singles[best], 1 - singles[best])
        ours = auc(scores, wanted)
        print(f"{label:7} score {ours:.3f}   best single metric {value:.3f} ({best})")
        yield side_by_side.Row(
            job=f"ranking {label.upper() if label != 'either' else 'NOD or OD'}: {title}",
            ours=f"AUC {ours:.3f}",
            peer=f"{value:.3f} ({best}, the best of {len(METRIC_NAMES)} metrics with hindsight)",
            measured=f"{ours - value:+.3f}",
            goal="better",
            met=ours > value,
        )


def told_causes(rows: Sequence[Row], data: Path) -> side_by_side.Row:
    """How often the first finding names the labelled cause."""
    by_test = {(row.project, row.id.partition("::")[0], row.id.rpartition("::")[2]): row for row in rows}
    tried: Counter[str] = Counter()
    right: Counter[str] = Counter()
    among: Counter[str] = Counter()
    for one in table(data, "python_nod_root_causes"):
        row = by_test.get((one["Project_Name"], one["Test_filename"], one["Test_funcname"]))
        if row is not None:
            cause = _CAUSES[one["root_cause"]]
            tried[cause] += 1
            right[cause] += row.causes[:1] == [cause]
            among[cause] += cause in row.causes
            if row.causes[:1] != [cause]:
                print(f"  {cause:12} first said {row.causes[:1]}: {row.project} {row.id}")
    print(f"\nlabelled cause: first finding {right.total()}, any finding {among.total()} of {tried.total()}")
    for cause, number in tried.most_common():
        print(f"  {cause:22} first {right[cause]:2}, any {among[cause]:2} of {number}")
    share = right.total() / max(1, tried.total())
    return side_by_side.Row(
        job="root cause: the first finding names the labelled cause",
        ours=f"{right.total()} of {tried.total()} tests whose source is at hand",
        peer="–",
        measured=f"{share:.0%}",
        goal="≥ 70 %",
        met=share >= 0.7,
    )


# ------------------------------------------------------------------ weights


PENALTY = 333.0  # on squared weights of signals with a deviation of 1; chosen in the folds


def fitted(rows: Sequence[Row]) -> dict[str, float]:
    """Logistic regression of "flaky" on the signals, with a quadratic penalty, by Newton's method.

    One project with hundreds of flaky tests must not decide: the order-dependent tests of a project weigh as one
    test, since one polluter makes many victims; its NOD tests weigh as the square root of their number.
    """
    known = [row for row in rows if row.label != "infrastructure"]
    names = list(signals([], {}))
    middle = {name: statistics.fmean(row.signals[name] for row in known) for name in names}
    spread = {name: statistics.pstdev([row.signals[name] for row in known]) or 1.0 for name in names}
    shares = _shares(known)
    samples = [
        (
            [
                (0, 1.0),
                *((at, (row.signals[name] - middle[name]) / spread[name]) for at, name in enumerate(names, 1)),
            ],
            row.label in ("nod", "od"),
            share,
        )
        for row, share in zip(known, shares, strict=True)
    ]
    weights = [0.0] * (len(names) + 1)
    for _ in range(12):
        gradient, curvature = _slopes(samples, weights, PENALTY)
        step = solve_linear(curvature, gradient)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
    found = {name: weights[at] / spread[name] for at, name in enumerate(names, 1)}
    return {"": _constant(known, found), **found}


def _shares(rows: Sequence[Row]) -> list[float]:
    """How much each test counts, 1 in the mean."""
    many = Counter((row.project, row.label) for row in rows)
    power = {"nod": 0.5, "od": 1.0, "": 0.0}
    found = [many[row.project, row.label] ** -power[row.label] for row in rows]
    mean = statistics.fmean(found)
    return [one / mean for one in found]


def _constant(rows: Sequence[Row], weights: Mapping[str, float]) -> float:
    """Makes the mean probability equal to the share of flaky tests, which the shares above have changed."""
    wanted = sum(row.label in ("nod", "od") for row in rows)
    sums = [sum(weights[name] * value for name, value in row.signals.items()) for row in rows]
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(logistic(middle + one) for one in sums) > wanted else (middle, high)
    return low


Sample = tuple[list[tuple[int, float]], bool, float]


def _slopes(
    samples: Sequence[Sample], weights: Sequence[float], penalty: float
) -> tuple[list[float], list[list[float]]]:
    size = len(weights)
    gradient = [-penalty * weight if place else 0.0 for place, weight in enumerate(weights)]
    curvature = [
        [(penalty if place else 1e-6) * (place == other) for other in range(size)] for place in range(size)
    ]
    for parts, flaky, share in samples:
        chance = logistic(sum(weights[place] * value for place, value in parts))
        slope, bend = share * (flaky - chance), share * chance * (1 - chance)
        for place, value in parts:
            gradient[place] += slope * value
            line = curvature[place]
            for other, factor in parts:
                line[other] += bend * value * factor
    return gradient, curvature


def scores_of(rows: Sequence[Row], weights: Mapping[str, float]) -> list[float]:
    return [
        weights.get("", 0.0) + sum(weights.get(name, 0.0) * value for name, value in row.signals.items())
        for row in rows
    ]


def told_folds(rows: Sequence[Row], folds: int = 5) -> Iterator[side_by_side.Row]:
    """The ranking where each project is scored by weights that have not seen it."""
    place = {name: number % folds for number, name in enumerate(sorted({row.project for row in rows}))}
    scored: list[Row] = []
    scores: list[float] = []
    for fold in range(folds):
        weights = fitted([row for row in rows if place[row.project] != fold])
        inside = [row for row in rows if place[row.project] == fold]
        scored += inside
        # Without the constant: it tells how many tests flake in the other projects, and each fold has its own.
        scores += scores_of(inside, {**weights, "": 0.0})
    yield from told_ranking(scored, scores, f"every project scored by weights fitted on others, {folds} folds")


def jobs_for(data: Path, cache: Path, most: int | None = None, *, offline: bool = False) -> list[Job]:
    """The projects whose sources are at hand, after looking for them on PyPI unless offline."""
    known = labels(data)
    cache.mkdir(parents=True, exist_ok=True)
    if offline:
        there = [(cache / one / ".done").exists() for one in known]
    else:
        with ThreadPoolExecutor(12) as pool:
            there = list(pool.map(lambda one: fetched(one, cache), known))
    at_hand = [name for name, ok in zip(known, there, strict=True) if ok]
    return [(name, known[name], cache, most) for name in sorted(at_hand)]


def read_all(data: Path, cache: Path, most: int | None) -> list[Row]:
    with Pool(2) as pool:
        found = pool.imap_unordered(rows_of, jobs_for(data, cache, most), chunksize=4)
        return [row for rows in found for row in rows]


CACHE = Path(os.environ.get("FLAKEHOUND_LINT_SDISTS", Path.home() / ".cache" / "flakehound-lint-sdists"))


DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    parser = side_by_side.arguments(__doc__ or "", repeats=1)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the sources (default %(default)s)")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rows", type=Path, help="keep what was read in this file, or take it from there")
    parser.add_argument("--most", type=int, help="leave projects with more tests out, to be done sooner")
    parser.add_argument("--fit", action="store_true", help="print weights fitted on the projects not kept apart")
    asked = parser.parse_args()
    if asked.rows and asked.rows.exists():
        rows = [Row(**one) for one in json.loads(asked.rows.read_text())]
    else:
        rows = read_all(asked.data, asked.cache, asked.most)
        if asked.rows:
            asked.rows.write_text(json.dumps([asdict(row) for row in rows]))
    notes = [f"projects with more than {asked.most} tests are left out"] if asked.most else []
    results = list(report(rows, asked.data))
    if asked.fit:
        found = fitted([row for row in rows if not row.held_out])
        print("\n" + "\n".join(f'    "{name}": {weight:.2f},' for name, weight in found.items()))
    print()
    side_by_side.told(results, asked.json, notes)


def report(rows: Sequence[Row], data: Path) -> Iterator[side_by_side.Row]:
    apart = [row for row in rows if row.held_out]
    yield told([row for row in rows if not row.held_out], "tuned on")
    yield told(apart, "kept apart")
    yield told(rows, "all")
    told_per_rule(rows)
    yield told_causes(rows, data)
    yield from told_ranking(apart, scores_of(apart, WEIGHTS), "projects kept apart, weights of the product")
    yield from told_folds(rows)


if __name__ == "__main__":
    main()
