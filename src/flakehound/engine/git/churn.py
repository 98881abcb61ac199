"""How often each line of a project changed in its last commits, determined by one pass over the history.

The result is that of one `git log -L n,n:FILE` per line, merges and renames included: see `churn_lines`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.engine.git.churn_diffs import commits_in, read_diffs
from flakehound.engine.git.churn_lines import FileDiff, Version, initial_version, merge_versions, parent_versions
from flakehound.engine.git.repository import SLOW_S, GitResult, NoRepository, Repository, open_repository

COMMITS = 75
PYTHON_FILES = "*.py"  # coverage is measured only of these, and other files may be huge
# The comparison of `git log -L`: without the heuristic of `git diff` for indented blocks.
_DIFF_OPTIONS = (
    *("-p", "-U0", "--inter-hunk-context=0", "--no-indent-heuristic", "--diff-algorithm=myers", "-M"),
    *("--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--full-index"),
    *("--ignore-submodules=all", "--no-relative"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """The number of changes of each line, or why it is not known."""

    top: Path | None = None  # of the repository
    commits: int = 0  # the number of commits examined
    counts: Mapping[str, Sequence[int]] = field(default_factory=dict)  # per line, by path below the top
    problem: str = ""  # why the numbers are not known; empty if they are
    remedy: str | None = None  # a command that helps

    def of(self, path: str, lines: Iterable[int]) -> int:
        """The sum of the changes of some lines of a file, numbered from 1; the path has no symbolic links."""
        counts = self.counts.get(self._relative(path), ())
        return sum(counts[line - 1] for line in lines if 0 < line <= len(counts))

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self.top}/")


def churn_of(folder: Path, commits: int = COMMITS) -> Churn:
    """The churn of the repository that contains a folder, over its last commits."""
    repository = open_repository(folder)
    if isinstance(repository, NoRepository):
        return Churn(problem=repository.why, remedy=repository.remedy)
    commit_list = repository.git(
        "rev-list", "--date-order", "--parents", "-n", str(commits), "HEAD", timeout_s=SLOW_S
    )
    history = commits_in(commit_list.out)
    too_short = _truncation(repository, history) if repository.is_shallow else ""
    if too_short or not commit_list.succeeded:
        return Churn(
            problem=too_short or commit_list.problem, remedy="git fetch --unshallow" if too_short else None
        )
    return _count_changes(repository, history)


def _truncation(repository: Repository, history: Sequence[Sequence[str]]) -> str:
    """Why the history of a shallow clone is too short; empty if it contains all examined commits."""
    result = repository.git("rev-parse", "--path-format=absolute", "--git-path", "shallow")
    file = Path(result.text)
    if not result.succeeded or not file.is_file():
        return "the clone is shallow, and git does not tell where it ends"
    oldest_commits = set(file.read_text().split())
    if not any(commit in oldest_commits for commit, *_parents in history):
        return ""
    return f"the clone is shallow and holds only {len(history)} of the last commits"


def _count_changes(repository: Repository, history: Sequence[Sequence[str]]) -> Churn:
    """Walk once from the working tree to the oldest commit and count the changes of each line."""
    files = repository.git("ls-files", "-z", "--", PYTHON_FILES, timeout_s=SLOW_S)
    uncommitted = repository.git("diff-index", *_DIFF_OPTIONS, "HEAD", "--", PYTHON_FILES, timeout_s=SLOW_S)
    pairs = [(commit, parent) for commit, *parents in history for parent in parents or [""]]
    stdin_text = "".join(f"{commit} {parent}".strip() + "\n" for commit, parent in pairs)
    diffs = repository.git(
        *("diff-tree", "--stdin", "--always", "--root", "-r", *_DIFF_OPTIONS, "--", PYTHON_FILES),
        timeout_s=SLOW_S,
        stdin=stdin_text.encode("ascii"),
    )
    problem = _problem(files, uncommitted, diffs)
    if problem:
        return Churn(problem=problem)
    commit_diffs = iter(read_diffs(diffs.out))
    head = parent_versions(initial_version(files.nul_separated), read_diffs(uncommitted.out), None)[0]
    by_parent = {commit: [next(commit_diffs) for _ in parents or [""]] for commit, *parents in history}
    return Churn(top=repository.top, commits=len(history), counts=_counts(head, history, by_parent))


def _problem(*results: GitResult) -> str:
    return next((result.problem or "git failed" for result in results if not result.succeeded), "")


def _counts(
    head: Version, history: Sequence[Sequence[str]], by_parent: Mapping[str, Sequence[Sequence[FileDiff]]]
) -> dict[str, Sequence[int]]:
    counts: dict[str, array[int]] = defaultdict(lambda: array("I"))
    pending: dict[str, Version] = {history[0][0]: head} if history else {}
    examined: Collection[str] = by_parent.keys()
    for commit, *parents in history:
        version = pending.pop(commit, {})
        for parent, earlier in zip(
            parents or [""], parent_versions(version, by_parent[commit], counts), strict=True
        ):
            if parent in examined and earlier:
                pending_version = pending.get(parent)
                pending[parent] = earlier if pending_version is None else merge_versions(pending_version, earlier)
    return dict(counts)
