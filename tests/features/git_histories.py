"""Repositories with generated histories, and the changes of one line by `git log -L`."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

OWN_GIT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "ann@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *words: str, given: bytes = b"") -> str:
    """Run git without the settings of the machine; returns its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | OWN_GIT
    done = subprocess.run(["git", *words], cwd=folder, env=env, input=given, capture_output=True, check=True)
    return done.stdout.decode()


def commit(folder: Path, files: dict[str, str]) -> None:
    """Write files and commit everything; creates the repository if there is none."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "work")


_Version = dict[int, tuple[str, list[str]]]


@dataclass
class RandomHistory:
    """Random commits, branches, merges and renames of a few files."""

    seed: int
    commits: int = 30
    files: int = 3
    # For each commit: number of the file -> its name and lines. The number stays the same after a rename.
    versions: list[_Version] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        rng = random.Random(self.seed)
        self._add_first_commit(rng)
        for number in range(1, self.commits):
            self._add_commit(rng, number)
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "fast-import", "--quiet", given=b"".join(map(self._fast_import_command, range(self.commits))))
        git(folder, "reset", "--quiet", "--hard", "main")

    def _add_first_commit(self, rng: random.Random) -> None:
        self.versions.append({n: (f"part_{n}.py", self._lines(rng, 12)) for n in range(self.files)})
        self.parents.append([])

    def _add_commit(self, rng: random.Random, number: int) -> None:
        recent = list(range(max(0, number - 3), number))
        # Parents are among the last three commits; commits that the last one does not descend from are lost.
        parents = [number - 1 if rng.random() < 0.6 else rng.choice(recent)]
        if rng.random() < 0.35 or number == self.commits - 1:
            parents += [other for other in recent if other not in parents][:1]
        merged = self._merge(rng, [self.versions[parent] for parent in parents])
        self.versions.append(self._edit(rng, merged, number))
        self.parents.append(parents)

    def _lines(self, rng: random.Random, number: int) -> list[str]:
        # Some lines are repeated, as in real code: then the result depends on git's diff algorithm.
        return [rng.choice(["", "    return", f"value_{rng.randrange(10**6)} = 1"]) for _ in range(number)]

    def _merge(self, rng: random.Random, versions: list[_Version]) -> _Version:
        """For each file the version of one parent, or the start of one version and the end of another."""
        merged = {}
        for file in range(self.files):
            (name, one), (_name, other) = (rng.choice(versions)[file] for _ in range(2))
            cut = rng.randrange(len(one) + 1)
            merged[file] = (name, list(one) if rng.random() < 0.5 else one[:cut] + other[cut:])
        return merged

    def _edit(self, rng: random.Random, version: _Version, number: int) -> _Version:
        file = rng.randrange(self.files)
        _name, lines = version[file]
        for _ in range(rng.randrange(1, 4)):
            start = rng.randrange(len(lines) + 1)
            lines[start : start + rng.randrange(4)] = self._lines(rng, rng.randrange(4))
        if rng.random() < 0.2:
            version[file] = (f"named with blank {number}.py", lines)
        return version

    def _fast_import_command(self, number: int) -> bytes:
        parents = self.parents[number]
        words = [f"commit refs/heads/main\nmark :{number + 1}\ncommitter a <a@b> {1_700_000_000 + number} +0000\n"]
        words.append("data 0\n")
        words += [f"from :{parents[0] + 1}\n"] if parents else []
        words += [f"merge :{parent + 1}\n" for parent in parents[1:]]
        words.append("deleteall\n")
        for name, lines in self.versions[number].values():
            text = "\n".join([*lines, ""])
            words.append(f'M 100644 inline "{name}"\ndata {len(text)}\n{text}\n')
        return "".join(words).encode()


def changes_by_git_log(folder: Path, path: str, line: int, max_commits: int) -> int:
    """How many of the last commits changed the line, by `git log -L`."""
    last_commits = set(git(folder, "rev-list", "--date-order", "-n", str(max_commits), "HEAD").split())
    changed = git(folder, "log", f"-L{line},{line}:{path}", "-s", "--format=%H", "HEAD").split()
    return len(last_commits.intersection(changed))
