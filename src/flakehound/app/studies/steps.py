"""Run the steps of a long study in several processes, with progress; a journal makes the study resumable."""

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
# Set to 1: the processes already run in parallel, and sums over threads can differ in their last digit.
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStep:
    """One part of a study; it can run in another process."""

    key: str  # contains everything that the answer depends on
    work: Callable[[], Answer]


@dataclass(slots=True)
class StudyJournal:
    """The answers of finished steps, in a file with one line of JSON each, or only in memory."""

    path: Path | None
    answers: dict[str, Answer] = field(default_factory=dict)

    def read(self) -> None:
        """Read the answers of an earlier study; an incomplete last line is dropped."""
        if self.path is None or not self.path.exists():
            return
        try:
            *lines, _cut_or_empty = self.path.read_text(encoding="utf-8").split("\n")
            entries = [json.loads(line) for line in lines]
            self.answers = {entry["key"]: entry["answer"] for entry in entries}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{str(self.path)!r} is not a journal of a study: {error}",
                remedy=same_command(journal="study.jsonl"),
            ) from error
        self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def add(self, key: str, answer: Answer) -> None:
        """Add an answer, and write it to the file at once."""
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
    """Run the steps that are not in the journal; returns the answers of all steps by key."""
    missing = [step for step in steps if step.key not in journal.answers]
    known = len(steps) - len(missing)
    if known:
        progress.message(f"{known} of {len(steps)} steps are in the journal")
    started = time.monotonic()
    for done, (step, answer) in enumerate(_run_in_processes(missing, min(jobs, len(missing))), start=known + 1):
        journal.add(step.key, answer)
        progress.show_steps("steps", done, len(steps))
        elapsed_s = time.monotonic() - started
        progress.message(f"{done} of {len(steps)}, {elapsed_s:.0f} s: {describe(step.key, answer)}")
    return {step.key: journal.answers[step.key] for step in steps}


def _run_in_processes(steps: Sequence[StudyStep], jobs: int) -> Iterator[tuple[StudyStep, Answer]]:
    """Run the steps; yields each step when it is finished. A single job runs in this process."""
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
    """Let libraries start a single thread per process."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
