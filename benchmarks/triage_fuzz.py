"""Random histories with a regression or a harmless change, a flake or none: no regression may be cleared.

Each seed gives a git project, a history, a change and a state of git (branch, stray file, shallow clone …).
pytest runs with `--flakehound --flakehound-tolerate`, and the verdicts are compared with what the seed says is
true. One JSON line per history; the last line sums up.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fuzz_files import files_of
from fuzz_history import STATES_WITHOUT_BASE, History, State, history
from running import temporary_folder
from side_by_side import Row, markdown_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from situations.project import Answer, Project

MAX_TRIES = 12  # runs until the flake or a regression that is not steady fails
CLEARED = ("flaky", "unrelated")
WANTED_RECOGNISED = 0.6  # of the flakes of harmless changes; most touch nothing, some touch the change


# ---- the project in its state of git


def write_state(project: Project, story: History, state: State) -> None:
    """Let the folder have the files of this state, and no others."""
    for name in ("lib", "tests", "scripts", "assets", "items", "data", "templates"):
        shutil.rmtree(project.folder / name, ignore_errors=True)
    (project.folder / "notes.txt").unlink(missing_ok=True)
    project.write_all(files_of(story, state))


def build(project: Project, story: History) -> None:
    """The commits of the history, and then the state of git."""
    main = "trunk" if story.git_state == "trunk" else "main"
    if main != "main":
        project.git("checkout", "-q", "-b", main)
    for state in story.base:
        write_state(project, story, state)
        project.commit("on the default branch")
    if story.stored:
        for _ in range(2):
            project.stored()
    if story.git_state == "remote":
        project.clone()
    if story.git_state not in ("main", "stray file", "uncommitted"):
        project.branch()
    for number, state in enumerate(story.change, 1):
        write_state(project, story, state)
        if story.git_state != "uncommitted" or number < len(story.change):
            project.commit("of the change")
    enter_git_state(project, story.git_state)


def enter_git_state(project: Project, name: str) -> None:
    """What the developer or the build server does after the last commit."""
    if name == "detached":
        project.git("checkout", "-q", "--detach")
    elif name == "stray file":
        project.write("scratch.txt", "remember the milk\n")
    elif name == "amended":
        project.stored()
        project.git("commit", "-q", "--amend", "-m", "amended")
    elif name.startswith("depth "):
        project.clone("--depth", name.removeprefix("depth "), "-b", "work")
    elif name == "single branch":
        project.clone("--single-branch", "-b", "work")
    elif name == "no git":
        shutil.rmtree(project.folder / ".git")
    elif name == "worktree":
        project.git("checkout", "-q", "main")
        project.git("worktree", "add", "-q", str(project.room / "linked"), "work")
        project.folder = project.room / "linked"
    elif name == "merge":
        project.git("checkout", "-q", "main")
        project.git("merge", "-q", "--no-ff", "--no-edit", "work")


# ---- one history


def judge(seed: int) -> dict[str, Any]:
    """Build and run one history; the line that is written about it."""
    story = history(seed)
    with temporary_folder() as folder:
        project = Project.made(folder / "room")
        build(project, story)
        wanted = story.broken or {story.flake_test}
        started = time.monotonic()
        for _ in range(MAX_TRIES):
            started = time.monotonic()
            answer = project.triage()
            if set(answer.verdicts) & wanted or wanted == {None}:
                break
    return line_about(story, answer, time.monotonic() - started)


def line_about(story: History, answer: Answer, seconds: float) -> dict[str, Any]:
    """What happened, and whether it was right."""
    verdicts = dict(answer.verdicts)
    failed_broken = sorted(set(verdicts) & story.broken)
    flake = story.flake_test if story.flake_test not in story.broken else None
    return {
        "seed": story.seed,
        "regression": story.regression,
        "flake": story.flake,
        "git_state": story.git_state,
        "stored": story.stored,
        "commits": len(story.base) + len(story.change),
        "code": answer.code,
        "verdicts": verdicts,
        "cleared": [name for name in failed_broken if verdicts[name] in CLEARED],
        "tolerated": bool(failed_broken) and answer.code == 0,
        "proven": sum(verdicts[name] == "likely-real" for name in failed_broken),
        "broken": len(failed_broken),
        "flake_verdict": verdicts.get(flake) if flake else None,
        # Neither the seed's bug nor its flake: then the fuzzer, not the triage, is wrong.
        "unexpected": sorted(set(verdicts) - story.broken - {story.flake_test}),
        "no_answer": answer.code not in (0, 1),
        "seconds": round(seconds, 2),
    }


# ---- all histories


def summary(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Counts over all histories."""
    flakes = [line for line in lines if line["flake_verdict"]]
    harmless = [line for line in flakes if not line["regression"] and line["git_state"] not in STATES_WITHOUT_BASE]
    times = sorted(line["seconds"] for line in lines) or [0.0]
    return {
        "histories": len(lines),
        "with_failing_regression": sum(line["broken"] > 0 for line in lines),
        "cleared": sum(bool(line["cleared"]) for line in lines),
        "tolerated": sum(line["tolerated"] for line in lines),
        "failures_of_regressions": sum(line["broken"] for line in lines),
        "called_likely_real": sum(line["proven"] for line in lines),
        "flakes": dict(Counter(line["flake_verdict"] for line in flakes)),
        "flakes_of_harmless_changes": dict(Counter(line["flake_verdict"] for line in harmless)),
        "unexpected": sum(bool(line["unexpected"]) for line in lines),
        "no_answer": sum(line["no_answer"] for line in lines),
        "seconds_median": times[len(times) // 2],
        "seconds_most": times[-1],
    }


def judged(seeds: Iterable[int], jobs: int, file: Path) -> list[dict[str, Any]]:
    """The lines of all histories, written as they come."""
    lines = []
    with file.open("w", encoding="utf-8") as out, ThreadPoolExecutor(jobs) as pool:
        for line in pool.map(judge, seeds):
            out.write(json.dumps(line) + "\n")
            out.flush()
            lines.append(line)
            if line["cleared"] or line["tolerated"] or line["unexpected"]:
                print(json.dumps(line), flush=True)
    return lines


def rows(total: dict[str, Any]) -> list[Row]:
    """The table of the benchmark."""
    flakes = total["flakes_of_harmless_changes"]
    recognised = sum(flakes.get(name, 0) for name in CLEARED)
    number = sum(flakes.values())
    return [
        Row(
            job=f"{total['with_failing_regression']} regressions in {total['histories']} random histories",
            ours=f"{total['called_likely_real']} of {total['failures_of_regressions']} failures likely real",
            peer="",
            measured=f"{total['cleared']} cleared, {total['tolerated']} tolerated",
            goal="0",
            met=not total["cleared"] and not total["tolerated"],
        ),
        Row(
            job=f"{number} flakes beside harmless changes",
            ours=f"{flakes}",
            peer="",
            measured=f"{recognised} recognised",
            goal=f"{WANTED_RECOGNISED:.0%}",
            met=recognised >= WANTED_RECOGNISED * number,
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=500, help="histories (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first one (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="histories at once (default %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("triage-fuzz.jsonl"), help="(default %(default)s)")
    options = parser.parse_args()
    lines = judged(range(options.seed, options.seed + options.number), options.jobs, options.out)
    total = summary(lines)
    with options.out.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"summary": total}) + "\n")
    print(json.dumps(total, indent=1))
    print(markdown_table(rows(total)))
    sys.exit(bool(total["cleared"] or total["tolerated"]))


if __name__ == "__main__":
    main()
