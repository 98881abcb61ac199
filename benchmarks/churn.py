"""How often each line changed in the last 75 commits: one pass, against one `git log -L` per line.

A generated repository of 3,000 files whose whole import is among the 75 commits, the dearest case; the peer is
asked about a sample of lines, and its answers must be ours.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from running import temporary_folder
from side_by_side import Row, Series, arguments, at_most, in_turns, ratio, told, wall_s

from flakehound.engine.git.churn import COMMITS, Churn, churn_of

FILES, LINES, TOUCHED = 3000, 120, 40
SAMPLE = 12


def write_history(folder: Path) -> None:
    """An import, then commits that edit some files each and rename one."""
    rng = random.Random(FILES)
    names = [f"area_{n // 100}/part_{n}.py" for n in range(FILES)]
    texts = [[f"value_{n}_{line} = {rng.randrange(10**6)}" for line in range(LINES)] for n in range(FILES)]
    stream = [_commit(0, [_file(name, lines) for name, lines in zip(names, texts, strict=True)])]
    for number in range(1, COMMITS):
        changed = rng.sample(range(FILES), TOUCHED)
        words = []
        for file in changed:
            place = rng.randrange(LINES)
            texts[file][place : place + rng.randrange(4)] = [
                f"edit_{number} = {n}" for n in range(rng.randrange(1, 5))
            ]
            words.append(_file(names[file], texts[file]))
        old, names[changed[0]] = names[changed[0]], f"moved/part_{number}.py"
        words += [f"D {old}\n", _file(names[changed[0]], texts[changed[0]])]
        stream.append(_commit(number, words))
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
    given = "".join(stream).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=given, check=True)
    subprocess.run(["git", "reset", "--quiet", "--hard", "main"], cwd=folder, check=True)


def _commit(number: int, words: list[str]) -> str:
    head = f"commit refs/heads/main\ncommitter a <a@b> {1_700_000_000 + number} +0000\ndata 0\n"
    return head + "".join(words)


def _file(name: str, lines: list[str]) -> str:
    text = "\n".join([*lines, ""])
    return f"M 100644 inline {name}\ndata {len(text)}\n{text}\n"


def changes_of_line(folder: Path, path: str, line: int) -> int:
    """The peer: what git says of one line."""
    command = ["git", "log", f"-L{line},{line}:{path}", "-s", "--format=%H", f"-n{COMMITS}"]
    return len(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.split())


def sampled(churn: Churn, seed: int) -> list[tuple[str, int]]:
    """Lines to ask about, half of them in files that changed after the import."""
    rng = random.Random(seed)
    paths = sorted(churn.counts)
    lively = [path for path in paths if max(churn.counts[path]) > 1]
    return [(rng.choice(lively if n % 2 else paths), rng.randrange(1, LINES // 2)) for n in range(SAMPLE)]


def measured(folder: Path, repeats: int) -> list[Row]:
    churn = churn_of(folder)
    lines = sum(len(counts) for counts in churn.counts.values())
    turns = iter(range(repeats))

    def peer() -> float:
        sample = sampled(churn, next(turns))
        began = time.perf_counter()
        answers = [changes_of_line(folder, path, line) for path, line in sample]
        took = (time.perf_counter() - began) / SAMPLE
        ours = [churn.of(f"{churn.top}/{path}", [line]) for path, line in sample]
        assert answers == ours, [row for row in zip(sample, answers, ours, strict=True) if row[1] != row[2]]
        return took

    found = in_turns(repeats, {"ours": lambda: wall_s(lambda: churn_of(folder)), "one line by git": peer})
    ours, line_s = found["ours"], found["one line by git"]
    whole = Series(values=tuple(value * lines for value in line_s.values))
    job = f"{lines:,} lines in {FILES:,} files, {COMMITS} commits"
    texts = {
        "ours": ours.text(),
        "peer": f"{line_s.text('ms', 1e3)} a line, {SAMPLE} asked in each turn, all equal",
    }
    return [
        at_most(job, figure=ours, limit=10.0, unit="s", **texts),
        at_most(
            "share of the time that `git log -L` per line would take",
            figure=Series(values=tuple(1e3 * value for value in ratio(ours, whole).values)),
            limit=1.0,
            unit="‰",
            **texts,
        ),
    ]


def main() -> None:
    chosen = arguments(__doc__).parse_args()
    with temporary_folder() as folder:
        write_history(folder)
        told(measured(folder, chosen.repeats), chosen.json)


if __name__ == "__main__":
    main()
