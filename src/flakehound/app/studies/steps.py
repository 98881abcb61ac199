"""Run the steps of a long study: in several processes, with progress, and resumable from a journal."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from flakehound.app.progress import Progress
from flakehound.core.errors import UsageError, same_command

Answer = dict[str, Any]
# One core per process: the processes run in parallel, and sums over threads can differ in their last digit.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStep:
    """One piece of a study, which another process can do."""

    key: str  # says everything its answer depends on
    work: Callable[[], Answer]


@dataclass(slots=True)
class StudyJournal:
    """The answers so far, one line of JSON each, in a file or only in memory."""

    path: Path | None
    answers: dict[str, Answer] = field(default_factory=dict)

    def read(self) -> None:
        """Take in what an earlier study left; a last line that was cut short is dropped."""
        if self.path is None or not self.path.exists():
            return
        try:
            *lines, _cut_or_empty = self.path.read_text(encoding="utf-8").split("\n")
            entries = [json.loads(line) for line in lines]
            self.answers = {entry["key"]: entry["answer"] for entry in entries}
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise UsageError(
                f"{str(self.path)!r} is no journal of a study: {problem}",
                remedy=same_command(journal="study.jsonl"),
            ) from problem
        self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def keep(self, key: str, answer: Answer) -> None:
        """Write an answer down at once."""
        self.answers[key] = answer
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "answer": answer}) + "\n")


def run_steps(
    steps: Sequence[StudyStep],
    journal: StudyJournal,
    *,
    jobs: int,
    describe: Callable[[str, Answer], str],
    progress: Progress,
) -> Mapping[str, Answer]:
    """Every step's answer by its key; those the journal has are not asked for again."""
    todo = [step for step in steps if step.key not in journal.answers]
    known = len(steps) - len(todo)
    if known:
        progress.message(f"{known} of {len(steps)} steps are in the journal")
    began = time.monotonic()
    for done, (step, answer) in enumerate(_answered(todo, min(jobs, len(todo))), start=known + 1):
        journal.keep(step.key, answer)
        progress.show_steps("steps", done, len(steps))
        progress.message(f"{done} of {len(steps)}, {time.monotonic() - began:.0f} s: {describe(step.key, answer)}")
    return {step.key: journal.answers[step.key] for step in steps}


def _answered(steps: Sequence[StudyStep], jobs: int) -> Iterator[tuple[StudyStep, Answer]]:
    if jobs <= 1:
        with _one_thread():
            yield from ((step, step.work()) for step in steps)
        return
    with _one_thread(), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(step.work): step for step in steps}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


@contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
