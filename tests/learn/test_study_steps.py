"""The steps of a long study: any number of processes gives the same answers; a journal spares finished ones."""

from __future__ import annotations

import os
from functools import partial

from flakehound.app.progress import SILENT
from flakehound.app.studies.steps import StudyJournal, StudyStep, run_steps


def squared(number: int) -> dict[str, int]:
    return {"square": number * number, "process": os.getpid()}


def steps(*numbers):
    return [StudyStep(key=f"step {number}", work=partial(squared, number)) for number in numbers]


def answers(some, *, jobs=1, journal=None):
    found = run_steps(
        some, journal or StudyJournal(path=None), jobs=jobs, describe=lambda key, _answer: key, progress=SILENT
    )
    return {key: answer["square"] for key, answer in found.items()}, {one["process"] for one in found.values()}


def test_the_number_of_processes_changes_no_answer_and_no_order():
    (alone, own), (together, others) = (answers(steps(3, 1, 2), jobs=jobs) for jobs in (1, 2))

    assert list(alone.items()) == list(together.items()) == [("step 3", 9), ("step 1", 1), ("step 2", 4)]
    assert own == {os.getpid()}
    assert os.getpid() not in others


def test_a_step_in_the_journal_is_not_done_again(tmp_path):
    file = tmp_path / "journal.jsonl"
    answers(steps(1, 2), journal=StudyJournal(path=file))
    kept = StudyJournal(path=file)
    kept.read()

    found, _processes = answers([StudyStep(key="step 2", work=lambda: 1 / 0), *steps(3)], journal=kept)

    assert found == {"step 2": 4, "step 3": 9}
    assert file.read_text().count("\n") == 3
