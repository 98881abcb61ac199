"""Break real projects on purpose, and see that `pytest --flakehound` calls no failure flaky or unrelated.

Each project's sdist becomes a git repository with one commit. A mutant is one small uncommitted change of its
code or data. Those that make a test fail under plain pytest count; then the failing tests' files are run with
`--flakehound`, and every verdict must be `likely-real` or `undecided`. The store knows beforehand that the tests
passed at the commit, without which no failure could be called unrelated anyway.
"""

from __future__ import annotations

import ast
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import tarfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugin_cost import lay_out_flakehound
from revisions import CACHE, environment, sdist
from running import temporary_folder
from side_by_side import Row, arguments, told

PYTEST = ("-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider")
PLAIN_LIMIT_S = 120.0
TRIAGE_LIMIT_S = 300.0
MOST_FILES = 2  # of failing tests, per mutant
MOST_TESTS = 10  # failing ones; with more, nothing is rerun and nothing judged
NAMED_TESTS = 5  # run by name where too many fail
FORBIDDEN = ("flaky", "unrelated")
_DATA = (".json", ".txt", ".csv", ".yaml", ".yml", ".ini", ".po", ".mo", ".html", ".xml")
_NO_SOURCE = ("test", "doc", "setup.py", "conftest", "example", "misc", "bench", "conf.py")
# Writes the ids of failed tests; node ids are pytest's, verbatim, and not to be read off its output.
_LISTENER = """
import os

def pytest_runtest_logreport(report):
    if report.failed:
        with open(os.environ["FAILED_TESTS"], "a", encoding="utf-8") as file:
            file.write(report.nodeid + "\\n")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A release of a project, and where its modules lie in the sdist."""

    name: str
    version: str
    requirements: tuple[str, ...] = ()
    source: str = "."  # on the path of its tests
    tests: str = "tests"


SUBJECTS = (
    Subject(name="boltons", version="26.2.0"),
    Subject(name="humanize", version="4.16.0", requirements=("freezegun",), source="src"),
    Subject(name="cachetools", version="8.0.0", source="src"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One small change of one file."""

    path: str
    kind: str
    start: int  # bytes
    end: int
    text: bytes

    def applied_to(self, content: bytes) -> bytes:
        return content[: self.start] + self.text + content[self.end :]


# ---- making mutants


def mutants_of(path: str, content: bytes) -> Iterator[Mutant]:
    """Every mutant of a Python source; some do not compile."""
    starts = _line_starts(content)
    for kind, node, text in _edits(ast.parse(content)):
        start, end = _place(node, starts)
        if kind == "raise in function":
            end = start
            text = f"{text}\n{' ' * _column(content, start)}"
        yield Mutant(path=path, kind=kind, start=start, end=end, text=text.encode())


def data_mutants_of(path: str, content: bytes) -> Iterator[Mutant]:
    """A data file without its last half, and one with a digit changed."""
    if len(content) > 40:
        yield Mutant(path=path, kind="data file", start=len(content) // 2, end=len(content), text=b"\n")
    digits = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    if digits:
        place = digits[len(digits) // 2]
        other = b"%d" % ((content[place] - ord("0") + 1) % 10)
        yield Mutant(path=path, kind="data file", start=place, end=place + 1, text=other)


def is_real(mutant: Mutant, content: bytes) -> bool:
    """Whether a mutant compiles and differs in more than layout; dear for a large file."""
    if not mutant.path.endswith(".py"):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(mutant.applied_to(content), "<mutant>", "exec", dont_inherit=True)
        return ast.dump(ast.parse(mutant.applied_to(content))) != ast.dump(ast.parse(content))
    except (SyntaxError, ValueError):
        return False


_Edit = tuple[str, ast.AST, str]  # kind, the node that goes, what comes in its place
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SWAPS: dict[type[ast.AST], ast.AST] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Add(), ast.FloorDiv: ast.Mult(), ast.Div: ast.Mult(),
    ast.Mod: ast.Mult(), ast.Lt: ast.GtE(), ast.LtE: ast.Gt(), ast.Gt: ast.LtE(), ast.GtE: ast.Lt(),
    ast.Eq: ast.NotEq(), ast.NotEq: ast.Eq(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(), ast.In: ast.NotIn(),
    ast.NotIn: ast.In(), ast.And: ast.Or(), ast.Or: ast.And(),
}  # fmt: skip


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    yield from _module_edits(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _class_edits(node)
        if isinstance(node, _FUNCTIONS):
            yield from _function_edits(node)


def _module_edits(tree: ast.Module) -> Iterator[_Edit]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            constants = [one for one in ast.walk(node.value) if isinstance(one, ast.Constant)]
            yield from (("module constant", one, _other(one)) for one in constants[:3])


def _class_edits(node: ast.ClassDef) -> Iterator[_Edit]:
    yield from (("decorator", one, _IDENTITY) for one in node.decorator_list)
    for one in node.body:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant):
            yield "class constant", one.value, _other(one.value)


_IDENTITY = "(lambda undecorated: undecorated)"


def _function_edits(function: Any) -> Iterator[_Edit]:
    yield from (("decorator", one, _IDENTITY) for one in function.decorator_list)
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if isinstance(default, ast.Constant):
            yield "default argument", default, _other(default)
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if body and body[0].lineno > function.lineno:
        yield "raise in function", body[0], "raise RuntimeError('mutant')"
    for statement in body:
        for node in ast.walk(statement):
            yield from _body_edits(node)


def _body_edits(node: ast.AST) -> Iterator[_Edit]:
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.Constant):
        yield "constant", node, _other(node)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition", node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare):
        yield "operator", node, f"({ast.unparse(_swapped(node))})"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return value", node.value, "None"
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Raise):
        yield "deleted statement", node, "pass"


def _swapped(node: Any) -> ast.AST:
    twin: Any = ast.parse(ast.unparse(node), mode="eval").body
    if isinstance(twin, ast.Compare):
        twin.ops[0] = _SWAPS.get(type(twin.ops[0]), twin.ops[0])
    else:
        twin.op = _SWAPS.get(type(twin.op), twin.op)
    changed: ast.AST = twin
    return changed


def _other(node: ast.Constant) -> str:
    value: Any = node.value
    if isinstance(value, bool):
        return repr(not value)
    if isinstance(value, int | float):
        return repr(value + 1)
    return repr(value * 2) if value and isinstance(value, str | bytes) else "'mutant'"


def _line_starts(content: bytes) -> list[int]:
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _place(node: Any, starts: Sequence[int]) -> tuple[int, int]:
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset


def _column(content: bytes, start: int) -> int:
    return start - (content.rfind(b"\n", 0, start) + 1)


# ---- a project as a repository


class Repository:
    """A copy of a project in which one mutant at a time lives."""

    def __init__(self, subject: Subject, folder: Path, python: Path, ours: Path) -> None:
        self.subject, self.folder, self._python = subject, folder, python
        path = os.pathsep.join([str(folder / subject.source), str(ours)])
        self._env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self._env.pop("PYTEST_ADDOPTS", None)
        self.left_out: tuple[str, ...] = ()

    def commit(self) -> None:
        git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q", "-b", "main"], ["add", "-A", "-f"], ["commit", "-q", "-m", "as released"]):
            subprocess.run([*git, *words], cwd=self.folder, check=True)

    def failing(self) -> tuple[str, ...] | None:
        """The tests that fail under plain pytest; None: it hangs, or does not collect."""
        written = self.folder.parent / f"{self.folder.name}.failed"
        written.unlink(missing_ok=True)
        env = {**self._env, "FAILED_TESTS": str(written)}
        code = self._run(
            [*PYTEST, "-p", "no:flakehound", "-p", "mutants_listener", self.subject.tests], env, PLAIN_LIMIT_S
        )
        if code not in (0, 1):
            return None
        return tuple(dict.fromkeys(written.read_text().splitlines())) if written.exists() else ()

    def remember_green(self) -> None:
        """One run at the commit, kept in the store."""
        self._run([*PYTEST, "--flakehound", self.subject.tests], self._env, PLAIN_LIMIT_S)

    def judged(self, tests: Sequence[str]) -> list[dict[str, Any]] | None:
        """The verdicts on failing tests, or on their whole files; None where there is no answer."""
        answer = self.folder.parent / f"{self.folder.name}.json"
        answer.unlink(missing_ok=True)
        words = [*PYTEST, "--flakehound", "--flakehound-json", str(answer)]
        self._run([*words, *self._arguments(tests)], self._env, TRIAGE_LIMIT_S)
        failures: list[dict[str, Any]] | None = None
        if answer.exists():
            failures = json.loads(answer.read_text())["failures"]
        return failures

    def _arguments(self, tests: Sequence[str]) -> list[str]:
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:MOST_FILES]
        inside = [test for test in tests if test.partition("::")[0] in files]
        return files if len(inside) <= MOST_TESTS else list(tests[:NAMED_TESTS])

    def diff(self) -> str:
        done = subprocess.run(["git", "diff", "-U1"], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout

    def _run(self, words: Sequence[str], env: dict[str, str], limit_s: float) -> int | None:
        deselected = [word for test in self.left_out for word in ("--deselect", test)]
        process = subprocess.Popen(
            [str(self._python), *words, *deselected],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        process.wait()


def prepared(subject: Subject, cache: Path, folder: Path, ours: Path) -> Repository:
    """The release as a repository, whose tests are green."""
    place = folder / subject.name
    with tarfile.open(sdist(cache, subject.name, subject.version)) as opened:
        opened.extractall(folder / "x", filter="data")
    (unpacked,) = (folder / "x").iterdir()
    unpacked.rename(place)
    python = environment(cache, f"mutants-{subject.name}", subject.requirements)
    found = Repository(subject, place, python, ours)
    found.commit()
    found.left_out = _red_before(found)
    found.remember_green()
    return found


def _red_before(repository: Repository) -> tuple[str, ...]:
    failing = repository.failing()
    assert failing is not None, f"{repository.subject.name} does not collect"
    return failing


def candidates(repository: Repository, seed: int) -> list[Mutant]:
    """All mutants of a project, drawn at random, the kinds in turn."""
    by_kind: dict[str, list[Mutant]] = {}
    for path in sorted(repository.folder.rglob("*")):
        name = path.relative_to(repository.folder).as_posix()
        if not path.is_file() or name.startswith(".") or any(word in name for word in _NO_SOURCE):
            continue
        if path.suffix == ".py":
            found = mutants_of(name, path.read_bytes())
        elif path.suffix in _DATA and "/" in name and ".egg-info" not in name:
            found = data_mutants_of(name, path.read_bytes())
        else:
            continue
        for mutant in found:
            by_kind.setdefault(mutant.kind, []).append(mutant)
    rng = random.Random(seed)
    for kind in sorted(by_kind):
        rng.shuffle(by_kind[kind])
    drawn: list[Mutant] = []
    while any(by_kind.values()):
        drawn += [by_kind[kind].pop() for kind in sorted(by_kind) if by_kind[kind]]
    return drawn


# ---- the check


@dataclass(slots=True)
class Tally:
    """What became of the mutants of one project."""

    name: str
    tried: int = 0
    unusable: int = 0  # hangs, or does not collect
    survived: int = 0
    failing: int = 0  # make a test fail, and were judged
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


class Check:
    """Mutants of one project, judged by several workers until there are enough."""

    def __init__(self, repository: Repository, wanted: int, jobs: int) -> None:
        self._wanted = wanted
        self._copies: queue.SimpleQueue[Repository] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.tally = Tally(name=repository.subject.name)
        for number in range(jobs):
            self._copies.put(_copy(repository, number))

    def run(self, mutants: Sequence[Mutant], jobs: int) -> Tally:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self._try, mutants))
        return self.tally

    def _try(self, mutant: Mutant) -> None:
        if self.tally.failing >= self._wanted:
            return
        repository = self._copies.get()
        file = repository.folder / mutant.path
        content = file.read_bytes()
        try:
            if is_real(mutant, content):
                file.write_bytes(mutant.applied_to(content))
                self._judge(repository, mutant)
        finally:
            file.write_bytes(content)
            self._copies.put(repository)

    def _judge(self, repository: Repository, mutant: Mutant) -> None:
        failing = repository.failing()
        failures = repository.judged(failing) if failing else None
        with self._lock:
            self.tally.tried += 1
            if failing is None:
                self.tally.unusable += 1
            elif not failing:
                self.tally.survived += 1
            elif failures is None:
                self.tally.silent.append(f"{mutant.kind} in {mutant.path}: no answer\n{repository.diff()}")
            else:
                self._count(repository, mutant, failures)

    def _count(self, repository: Repository, mutant: Mutant, failures: Sequence[dict[str, Any]]) -> None:
        self.tally.failing += 1
        self.tally.kinds[mutant.kind] += 1
        for failure in failures:
            self.tally.verdicts[failure["verdict"]] += 1
            if failure["verdict"] in FORBIDDEN:
                self.tally.violations.append(
                    f"{mutant.kind} in {mutant.path}: `{failure['id']}` is called {failure['verdict']}: "
                    f"{failure['evidence']}\n{repository.diff()}"
                )
        print(
            f"  {self.tally.name} {self.tally.failing} of {self._wanted}: {mutant.kind} in {mutant.path}, "
            f"{len(failures)} failures, {dict(self.tally.verdicts)}, violations: {len(self.tally.violations)}",
            flush=True,
        )


def _copy(repository: Repository, number: int) -> Repository:
    folder = repository.folder.with_name(f"{repository.folder.name}-{number}")
    shutil.copytree(repository.folder, folder, symlinks=True)
    ours = Path(repository._env["PYTHONPATH"].rpartition(os.pathsep)[2])
    twin = Repository(repository.subject, folder, repository._python, ours)
    twin.left_out = repository.left_out
    twin.remember_green()  # the store knows runs by their folder
    return twin


def row(tally: Tally) -> Row:
    judged = ", ".join(f"{number} {verdict}" for verdict, number in sorted(tally.verdicts.items()))
    return Row(
        job=f"{tally.name}: {tally.failing} mutants that make a test fail",
        ours=f"{sum(tally.verdicts.values())} failures: {judged}",
        peer=f"{tally.tried} tried: {tally.survived} survive, {tally.unusable} hang or do not collect",
        measured=f"{len(tally.violations)} called flaky or unrelated",
        goal="0",
        met=not tally.violations and not tally.silent,
    )


def checked(subject: Subject, chosen: Any, wanted: int) -> Tally:
    with temporary_folder() as folder:
        ours = folder / "ours"
        ours.mkdir()
        lay_out_flakehound(ours)
        (ours / "mutants_listener.py").write_text(_LISTENER)
        repository = prepared(subject, chosen.cache, folder, ours)
        check = Check(repository, wanted, chosen.jobs)
        return check.run(candidates(repository, chosen.seed), chosen.jobs)


def main() -> None:
    parser = arguments(__doc__, repeats=1)
    parser.add_argument(
        "--mutants", type=int, default=100, help="failing ones, over all projects (default %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the mutants (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at once (default %(default)s)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="sdists and environments (default %(default)s)")
    parser.add_argument("names", nargs="*", metavar="PROJECT", help="default: all")
    chosen = parser.parse_args()
    subjects = [subject for subject in SUBJECTS if not chosen.names or subject.name in chosen.names]
    tallies = []
    for number, subject in enumerate(subjects):
        wanted = chosen.mutants * (number + 1) // len(subjects) - chosen.mutants * number // len(subjects)
        tallies.append(checked(subject, chosen, wanted))
    notes = [f"{tally.name}: kinds {dict(sorted(tally.kinds.items()))}" for tally in tallies]
    notes += [f"violation in {tally.name}: {one}" for tally in tallies for one in tally.violations]
    notes += [f"no answer in {tally.name}: {one}" for tally in tallies for one in tally.silent]
    told([row(tally) for tally in tallies], chosen.json, notes)


if __name__ == "__main__":
    main()
