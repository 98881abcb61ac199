"""Count the changes of every line in the last 75 commits in one pass, against one `git log -L` per line.

The generated repository has 3,000 files, and the commit that adds all of them is among the 75 commits, which is
the most expensive case. The peer counts 12 lines per turn, and its counts must equal ours.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from running import temporary_folder
from side_by_side import (
    Row,
    Series,
    benchmark_parser,
    limit_row,
    measure_in_turns,
    ratio_per_turn,
    report_results,
    wall_s,
)

from flakehound.engine.git.churn import COMMITS, Churn, churn_of

FILES, LINES_PER_FILE, FILES_PER_COMMIT = 3000, 120, 40
SAMPLE = 12


def write_history(folder: Path) -> None:
    """Commit all files, then make commits that edit some files each and rename one."""
    rng = random.Random(FILES)
    names = [f"area_{n // 100}/part_{n}.py" for n in range(FILES)]
    texts = [
        [f"value_{n}_{line} = {rng.randrange(10**6)}" for line in range(LINES_PER_FILE)] for n in range(FILES)
    ]
    stream = [_commit(0, [_file(name, lines) for name, lines in zip(names, texts, strict=True)])]
    for number in range(1, COMMITS):
        changed = rng.sample(range(FILES), FILES_PER_COMMIT)
        commands = []
        for file in changed:
            first = rng.randrange(LINES_PER_FILE)
            texts[file][first : first + rng.randrange(4)] = [
                f"edit_{number} = {n}" for n in range(rng.randrange(1, 5))
            ]
            commands.append(_file(names[file], texts[file]))
        old, names[changed[0]] = names[changed[0]], f"moved/part_{number}.py"
        commands += [f"D {old}\n", _file(names[changed[0]], texts[changed[0]])]
        stream.append(_commit(number, commands))
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=folder, check=True)
    text = "".join(stream).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=text, check=True)
    subprocess.run(["git", "reset", "--quiet", "--hard", "main"], cwd=folder, check=True)


def _commit(number: int, commands: list[str]) -> str:
    head = f"commit refs/heads/main\ncommitter a <a@b> {1_700_000_000 + number} +0000\ndata 0\n"
    return head + "".join(commands)


def _file(name: str, lines: list[str]) -> str:
    text = "\n".join([*lines, ""])
    return f"M 100644 inline {name}\ndata {len(text)}\n{text}\n"


def changes_of_line(folder: Path, path: str, line: int) -> int:
    """The peer: count the commits that git lists for one line."""
    command = ["git", "log", f"-L{line},{line}:{path}", "-s", "--format=%H", f"-n{COMMITS}"]
    return len(subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout.split())


def sample_lines(churn: Churn, seed: int) -> list[tuple[str, int]]:
    """Draw lines to compare, half of them in files that changed after the first commit."""
    rng = random.Random(seed)
    paths = sorted(churn.counts)
    edited = [path for path in paths if max(churn.counts[path]) > 1]
    return [(rng.choice(edited if n % 2 else paths), rng.randrange(1, LINES_PER_FILE // 2)) for n in range(SAMPLE)]


def measure(folder: Path, repeats: int) -> list[Row]:
    """Measure both sides; every count of the peer must equal ours."""
    churn = churn_of(folder)
    lines = sum(len(counts) for counts in churn.counts.values())
    turns = iter(range(repeats))

    def peer() -> float:
        sample = sample_lines(churn, next(turns))
        began = time.perf_counter()
        counts = [changes_of_line(folder, path, line) for path, line in sample]
        line_s = (time.perf_counter() - began) / SAMPLE
        ours = [churn.of(f"{churn.top}/{path}", [line]) for path, line in sample]
        assert counts == ours, [row for row in zip(sample, counts, ours, strict=True) if row[1] != row[2]]
        return line_s

    took = measure_in_turns(repeats, {"ours": lambda: wall_s(lambda: churn_of(folder)), "one line by git": peer})
    ours, line_s = took["ours"], took["one line by git"]
    all_lines = Series(values=tuple(value * lines for value in line_s.values))
    job = f"{lines:,} lines in {FILES:,} files, {COMMITS} commits"
    texts = {
        "ours": ours.text(),
        "peer": f"{line_s.text('ms', 1e3)} per line",
    }
    return [
        limit_row(job, figure=ours, limit=10.0, unit="s", **texts),
        limit_row(
            "share of the time of `git log -L` for every line",
            figure=Series(values=tuple(1e3 * value for value in ratio_per_turn(ours, all_lines).values)),
            limit=1.0,
            unit="‰",
            **texts,
        ),
    ]


def main() -> None:
    options = benchmark_parser(__doc__).parse_args()
    with temporary_folder() as folder:
        write_history(folder)
        report_results(measure(folder, options.repeats), options.json)


if __name__ == "__main__":
    main()
