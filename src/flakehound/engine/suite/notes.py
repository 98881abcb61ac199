"""Notes for the user about how a suite is run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from flakehound.engine.suite.file_writers import FileWriters
from flakehound.engine.suite.parallelism import Parallelism
from flakehound.engine.suite.reference_run import ReferenceRun


def notes_on_parallelism(jobs: int, parallelism: Parallelism, addresses: Sequence[str]) -> list[str]:
    """Why there are more or fewer runs at once than cores."""
    if jobs > parallelism.default_jobs:
        return [f"the tests mostly wait: {jobs} runs at once instead of {parallelism.default_jobs}"]
    if jobs < parallelism.default_jobs:
        names = ", ".join(addresses[:3])
        return [f"every run binds the same addresses ({names}): runs go one at a time; --jobs N allows more"]
    return []


def note_on_files(writers: FileWriters, folder: Path) -> str:
    """Which files make runs go one at a time."""
    guard = writers.guard
    if guard.written and writers.tests:
        names = ", ".join(os.path.relpath(path, folder) for path in guard.written[:3])
        names_of_tests = sorted(writers.tests)
        tests = f"the {len(names_of_tests)} tests that do" if len(names_of_tests) > 1 else names_of_tests[0]
        return (
            f"the suite writes lasting files ({names}): nothing runs beside {tests}, "
            "and the files are put back afterwards"
        )
    if guard.written:
        names = ", ".join(os.path.relpath(path, folder) for path in guard.written[:3])
        return (
            f"the suite writes lasting files ({names}): "
            "runs go one at a time and the files are put back before each"
        )
    if guard.changed_by_unknown:
        names = ", ".join(guard.changed_by_unknown[:3])
        return f"files changed while the suite ran ({names}): runs go one at a time"
    if guard.shared_temporary:
        names = ", ".join(os.path.relpath(path, folder) for path in guard.shared_temporary[:3])
        alone = "nothing runs beside tests that do" if writers.tests else "runs go one at a time"
        return f"runs use the same temporary paths ({names}): {alone}"
    return "modules make temporary files when imported: runs go one at a time, files put back"


def note_on_cut_run(run: ReferenceRun) -> str:
    """How far the reference run got before its time was up."""
    executed = sum(record.executed for record in run.records)
    tests = sum(len(record.order) for record in run.records)
    expected_s = run.expected_wall_s()
    suite = "" if expected_s is None else f"; the whole suite takes about {expected_s:.0f} s"
    return f"the first run was ended after {executed} of {tests} tests ({run.wall_s:.0f} s){suite}"
