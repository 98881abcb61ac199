"""How often each line of a project changed in its last commits, by one pass over the history.

Tells what one `git log -L n,n:FILE` per line would tell, merges and renames included: see `churn_lines`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.engine.git.churn_diffs import commits_in, read_diffs
from flakehound.engine.git.churn_lines import FileDiff, Version, beginning, behind, merged
from flakehound.engine.git.repository import SLOW_S, NoRepository, Repository, Told, open_repository

COMMITS = 75
PYTHON = "*.py"  # whatever else changed is covered by no test, and may be huge
# As `git log -L` compares: without the heuristic that `git diff` has for indented blocks.
_COMPARED = (
    *("-p", "-U0", "--inter-hunk-context=0", "--no-indent-heuristic", "--diff-algorithm=myers", "-M"),
    *("--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--full-index"),
    *("--ignore-submodules=all", "--no-relative"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """How often lines changed, or why that is not known."""

    top: Path | None = None  # of the repository
    commits: int = 0  # that were looked at
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)  # path below the top -> per line, from 0
    absent: str = ""  # why nothing is known; empty: it is
    remedy: str | None = None  # a command that helps

    def of(self, path: str, lines: Iterable[int]) -> int:
        """The changes of some lines of a file, numbered from 1, in all; the path is a real one."""
        counts = self.counts.get(self._below_top(path), ())
        return sum(counts[line - 1] for line in lines if 0 < line <= len(counts))

    def _below_top(self, path: str) -> str:
        return path.removeprefix(f"{self.top}/")


def churn_of(folder: Path, commits: int = COMMITS) -> Churn:
    """How often the lines of the project that holds a folder changed in the last commits."""
    repository = open_repository(folder)
    if isinstance(repository, NoRepository):
        return Churn(absent=repository.why, remedy=repository.remedy)
    listed = repository.ask("rev-list", "--date-order", "--parents", "-n", str(commits), "HEAD", timeout_s=SLOW_S)
    history = commits_in(listed.out)
    cut = _cut_off(repository, history) if repository.is_shallow else ""
    if cut or not listed.is_good:
        return Churn(absent=cut or listed.problem, remedy="git fetch --unshallow" if cut else None)
    return _followed(repository, history)


def _cut_off(repository: Repository, history: Sequence[Sequence[str]]) -> str:
    """Why a shallow clone cannot tell; empty where what it lacks is older than what is asked for."""
    told = repository.ask("rev-parse", "--path-format=absolute", "--git-path", "shallow")
    file = Path(told.text)
    if not told.is_good or not file.is_file():
        return "the clone is shallow, and git does not tell where it ends"
    ends = set(file.read_text().split())
    if not any(commit in ends for commit, *_parents in history):
        return ""
    return f"the clone is shallow and holds only {len(history)} of the last commits"


def _followed(repository: Repository, history: Sequence[Sequence[str]]) -> Churn:
    """Walk from the working tree to the oldest commit, once."""
    files = repository.ask("ls-files", "-z", "--", PYTHON, timeout_s=SLOW_S)
    unsaved = repository.ask("diff-index", *_COMPARED, "HEAD", "--", PYTHON, timeout_s=SLOW_S)
    pairs = [(commit, parent) for commit, *parents in history for parent in parents or [""]]
    given = "".join(f"{commit} {parent}".strip() + "\n" for commit, parent in pairs)
    told = repository.ask(
        *("diff-tree", "--stdin", "--always", "--root", "-r", *_COMPARED, "--", PYTHON),
        timeout_s=SLOW_S,
        given=given.encode("ascii"),
    )
    problem = _problem(files, unsaved, told)
    if problem:
        return Churn(absent=problem)
    differences = iter(read_diffs(told.out))
    today = behind(beginning(files.parts), read_diffs(unsaved.out), None)[0]
    by_parent = {commit: [next(differences) for _ in parents or [""]] for commit, *parents in history}
    return Churn(top=repository.top, commits=len(history), counts=_counted(today, history, by_parent))


def _problem(*answers: Told) -> str:
    return next((answer.problem or "git failed" for answer in answers if not answer.is_good), "")


def _counted(
    today: Version, history: Sequence[Sequence[str]], by_parent: Mapping[str, Sequence[Sequence[FileDiff]]]
) -> dict[str, Sequence[int]]:
    counts: dict[str, array[int]] = defaultdict(lambda: array("I"))
    due: dict[str, Version] = {history[0][0]: today} if history else {}
    asked: Collection[str] = by_parent.keys()
    for commit, *parents in history:
        version = due.pop(commit, {})
        for parent, earlier in zip(parents or [""], behind(version, by_parent[commit], counts), strict=True):
            if parent in asked and earlier:
                due[parent] = merged(due[parent], earlier) if parent in due else earlier
    return dict(counts)
