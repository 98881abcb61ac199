"""The steps of a long study: answers do not depend on the number of processes, and finished steps are kept."""

from __future__ import annotations

import os
from functools import partial

from flakehound.app.progress import SILENT
from flakehound.app.studies.steps import StudyJournal, StudyStep, run_steps


def square(number: int) -> dict[str, int]:
    return {"square": number * number, "process": os.getpid()}


def square_steps(*numbers):
    return [StudyStep(key=f"step {number}", work=partial(square, number)) for number in numbers]


def run(steps, *, jobs=1, journal=None):
    """The answers of the steps, and the processes that ran them."""
    answers = run_steps(
        steps, journal or StudyJournal(path=None), jobs=jobs, describe=lambda key, _answer: key, progress=SILENT
    )
    squares = {key: answer["square"] for key, answer in answers.items()}
    return squares, {answer["process"] for answer in answers.values()}


def test_the_number_of_processes_changes_neither_answers_nor_their_order():
    (one_job, own), (two_jobs, others) = (run(square_steps(3, 1, 2), jobs=jobs) for jobs in (1, 2))

    assert list(one_job.items()) == list(two_jobs.items()) == [("step 3", 9), ("step 1", 1), ("step 2", 4)]
    assert own == {os.getpid()}
    assert os.getpid() not in others


def test_a_step_in_the_journal_is_not_done_again(tmp_path):
    file = tmp_path / "journal.jsonl"
    run(square_steps(1, 2), journal=StudyJournal(path=file))
    journal = StudyJournal(path=file)
    journal.read()

    answers, _processes = run([StudyStep(key="step 2", work=lambda: 1 / 0), *square_steps(3)], journal=journal)

    assert answers == {"step 2": 4, "step 3": 9}
    assert file.read_text().count("\n") == 3
