"""`flakehound triage-facts`: an internal command that `pytest --flakehound` starts after a failing run."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode


@click.command(
    "triage-facts", hidden=True, cls=CommandWithRemedies, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("facts_file", metavar="FACTS", type=click.Path(path_type=Path))
@click.argument("answer_file", metavar="ANSWER", type=click.Path(path_type=Path))
def command(facts_file: Path, answer_file: Path) -> int:
    """Judge the failures of a pytest run.

    `pytest --flakehound` calls this; docs/decisions/0015 describes both files.
    """
    from flakehound.app.triage.answer import judge_run, write_answer
    from flakehound.app.triage.failing_run import read_facts

    run = read_facts(facts_file)
    answer = judge_run(run, show_progress=lambda line: click.echo(line, err=True))
    write_answer(answer, answer_file, json_file=run.options.json_file)
    return ExitCode.NOTHING_FLAKY
