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
    "--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True, help="Output format."
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULE",
    help="Report only this rule, or all whose id starts so; may be repeated.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULE",
    help="Leave out this rule, or all whose id starts so; may be repeated.",
)
@click.option("--changed-since", metavar="REV", help="Report only tests in files that changed since this commit.")
@click.option(
    "--baseline", type=click.Path(path_type=Path), metavar="FILE", help="Leave out findings that this file lists."
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all present findings to this file, for use with --baseline.",
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the metrics of each test to this CSV.",
)
@click.option(
    "--score",
    type=click.Choice(_SCORES),
    default="model",
    show_default=True,
    help="Score tests by a model (the project's own, else the default one) or by fixed weights of the rules.",
)
@click.option(
    "-o",
    "--override-ini",
    "override",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option of pytest that says what tests are called, such as python_files; may be repeated.",
)
@click.option("--all", "show_all", is_flag=True, help="Show all remarks, not only those to read first.")
@click.option(
    "--top", type=click.IntRange(0), default=5, show_default=True, metavar="N", help="List the N riskiest tests."
)
@click.option(
    "--min-risk",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="P",
    help="List only tests that are flaky with at least this probability.",
)
@click.option("-v", "--verbose", is_flag=True, help="List the first tests that reach each remark.")
@click.option(
    "--explain", metavar="RULE", help="Explain what a rule means and how to fix what it finds, then exit."
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at once. Default: one for each core."
)
@click.option("--no-cache", is_flag=True, help="Read every file again instead of using the cache.")
def command(
    form: str,
    explain: str | None,
    jobs: int | None,
    no_cache: bool,
    top: int,
    min_risk: float,
    verbose: bool,
    **other_options: Any,
) -> int:
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
    from flakehound.report.lint.text import TextView

    if explain is not None:
        click.echo(explain_rules(explain))
        return ExitCode.NOTHING_FLAKY
    options = LintOptions(processes=jobs, cached=not no_cache, **other_options)
    view = TextView(top=top, min_risk=min_risk, verbose=verbose)
    with shown_progress(only_live=True) as progress:
        result = lint_project(options, progress=progress)
    if form == "text":
        print_result(render_result(result, form, view))
    else:
        click.echo(render_result(result, form, view))
    if options.metrics is not None:
        click.echo(metrics_line(result, options.metrics), err=True)
    if not result.tests_read:
        return ExitCode.SUITE_UNUSABLE
    return ExitCode.FLAKY_FOUND if result.shown else ExitCode.NOTHING_FLAKY
