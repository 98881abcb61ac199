"""`flakehound triage-facts`: an internal command that `pytest --flakehound` starts after a failing run."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode


@click.command(
    "triage-facts", hidden=True, cls=CommandWithRemedies, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("facts_file", metavar="FACTS", type=click.Path(path_type=Path))
@click.argument("answer_file", metavar="ANSWER", type=click.Path(path_type=Path))
@click.option("--with-parent", is_flag=True, hidden=True, help="End when standard input is closed.")
def command(facts_file: Path, answer_file: Path, with_parent: bool) -> int:
    """Judge the failures of a pytest run.

    `pytest --flakehound` calls this; docs/decisions/0015 describes both files.
    """
    from flakehound.app.triage.parent_watch import Ended, ParentWatch

    try:
        with ParentWatch(facts_file.parent) if with_parent else contextlib.nullcontext():
            _judge(facts_file, answer_file)
    except Ended:
        return ExitCode.INTERRUPTED
    return ExitCode.NOTHING_FLAKY


def _judge(facts_file: Path, answer_file: Path) -> None:
    from flakehound.app.triage.answer import judge_run, write_answer
    from flakehound.app.triage.failing_run import read_facts

    run = read_facts(facts_file)
    answer = judge_run(run, show_progress=lambda line: click.echo(line, err=True))
    write_answer(answer, answer_file, json_file=run.options.json_file)
