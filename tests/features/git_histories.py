"""Repositories with a history made to order, and what `git log -L` says of one line."""

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
    """What git prints; no setting of the machine matters."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | OWN_GIT
    done = subprocess.run(["git", *words], cwd=folder, env=env, input=given, capture_output=True, check=True)
    return done.stdout.decode()


def commit(folder: Path, files: dict[str, str]) -> None:
    """Write files and commit everything; the repository is made where there is none."""
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
    """Commits, branches, merges and renames of a few files, by a seed."""

    seed: int
    commits: int = 30
    files: int = 3
    # For each commit: number of the file -> its name and lines. Whatever it is called, a merge knows it again.
    versions: list[_Version] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        rng = random.Random(self.seed)
        self._first(rng)
        for number in range(1, self.commits):
            self._next(rng, number)
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet", "--initial-branch=main")
        git(folder, "fast-import", "--quiet", given=b"".join(map(self._told, range(self.commits))))
        git(folder, "reset", "--quiet", "--hard", "main")

    def _first(self, rng: random.Random) -> None:
        self.versions.append({n: (f"part_{n}.py", self._lines(rng, 12)) for n in range(self.files)})
        self.parents.append([])

    def _next(self, rng: random.Random, number: int) -> None:
        recent = list(range(max(0, number - 3), number))
        # The last commit always leads on, so that everything is an ancestor of the last one or forgotten.
        parents = [number - 1 if rng.random() < 0.6 else rng.choice(recent)]
        if rng.random() < 0.35 or number == self.commits - 1:
            parents += [other for other in recent if other not in parents][:1]
        mixed = self._mixed(rng, [self.versions[parent] for parent in parents])
        self.versions.append(self._edited(rng, mixed, number))
        self.parents.append(parents)

    def _lines(self, rng: random.Random, number: int) -> list[str]:
        # Some lines twice, as in real code: there it matters how git compares.
        return [rng.choice(["", "    return", f"value_{rng.randrange(10**6)} = 1"]) for _ in range(number)]

    def _mixed(self, rng: random.Random, versions: list[_Version]) -> _Version:
        """What a merge makes of its parents: per file one side's, or the top of one and the rest of the other."""
        mixed = {}
        for file in range(self.files):
            (name, one), (_name, other) = (rng.choice(versions)[file] for _ in range(2))
            cut = rng.randrange(len(one) + 1)
            mixed[file] = (name, list(one) if rng.random() < 0.5 else one[:cut] + other[cut:])
        return mixed

    def _edited(self, rng: random.Random, version: _Version, number: int) -> _Version:
        file = rng.randrange(self.files)
        _name, lines = version[file]
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(lines) + 1)
            lines[place : place + rng.randrange(4)] = self._lines(rng, rng.randrange(4))
        if rng.random() < 0.2:
            version[file] = (f"named with blank {number}.py", lines)
        return version

    def _told(self, number: int) -> bytes:
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


def changes_told_by_git(folder: Path, path: str, line: int, most: int) -> int:
    """In how many of the last commits `git log -L` says that the line changed."""
    asked = set(git(folder, "rev-list", "--date-order", "-n", str(most), "HEAD").split())
    changed = git(folder, "log", f"-L{line},{line}:{path}", "-s", "--format=%H", "HEAD").split()
    return len(asked.intersection(changed))
