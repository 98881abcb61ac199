"""`flakehound lint`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FORMATS = ("text", "json", "sarif", "github")
_SCORES = ("model", "rules")


@click.command("lint", cls=CommandWithRemedies)
@click.argument("paths", nargs=-1)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="How to tell."
)
@click.option(
    "--select", multiple=True, metavar="RULE", help="Only these rules, or all that begin so; repeatable."
)
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules, or all that begin so; repeatable.")
@click.option("--changed-since", metavar="REV", help="Only what is in files that changed since this commit.")
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Leave out what this file knows."
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write what is there now to this file, to start clean with --baseline.",
)
@click.option(
    "--metrics", type=click.Path(path_type=Path), metavar="FILE", help="Write one row per test to this CSV."
)
@click.option(
    "--score",
    type=click.Choice(_SCORES),
    default="model",
    show_default=True,
    help="By the model (the project's own, else the default one), or by the fixed weights of the rules.",
)
@click.option("--explain", metavar="RULE", help="Say what a rule means and how to fix what it finds, then end.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at once. Default: all cores.")
@click.option("--no-cache", is_flag=True, help="Read every file again.")
def command(form: str, explain: str | None, jobs: int | None, no_cache: bool, **choice: Any) -> int:
    """Predict flaky tests from their source alone; nothing is imported or run.

    \b
    Examples:
        flakehound lint
        flakehound lint tests/test_cart.py --changed-since main
        flakehound lint --format sarif > lint.sarif
    """
    from flakehound.app.lint.explain import explain_rules
    from flakehound.app.lint.run import LintOptions, lint_project
    from flakehound.report.lint.formats import metrics_line, render_result

    if explain is not None:
        click.echo(explain_rules(explain))
        return ExitCode.NOTHING_FLAKY
    options = LintOptions(processes=jobs, cached=not no_cache, **choice)
    with shown_progress(only_live=True) as progress:
        found = lint_project(options, progress=progress)
    if form == "text":
        print_result(render_result(found, form))
    else:
        click.echo(render_result(found, form))
    if options.metrics is not None:
        click.echo(metrics_line(found, options.metrics), err=True)
    return ExitCode.FLAKY_FOUND if found.findings else ExitCode.NOTHING_FLAKY
