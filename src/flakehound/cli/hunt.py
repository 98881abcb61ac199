"""`flakehound hunt`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.app.sessions.commands import store_arguments
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.cli.options import store_option, suite_options
from flakehound.cli.policy_options import policy_options
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode, same_command
from flakehound.hunt.options import TECHNIQUES

if TYPE_CHECKING:
    from flakehound.app.hunt.options import PolicyOptions
    from flakehound.report.hunt.result import HuntResult


@click.command("hunt", cls=CommandWithRemedies)
@click.option(
    "--budget",
    metavar="T",
    help="Time to spend, such as 90s, 10m, 1h30m. Default: 10 minutes or 30 times what the suite takes, "
    "whichever is shorter.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of runs in the original order. All are made, however long that takes; with --budget, as many as "
    "fit. Default: as many as fit.",
)
@click.option(
    "--shuffles",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of runs in other orders, made like those of --runs. Default: as many as fit.",
)
@policy_options
@click.option(
    "--technique",
    "techniques",
    multiple=True,
    type=click.Choice(TECHNIQUES),
    help="Search only in this way; may be repeated. rerun: the original order, and each test alone. "
    "idflakies: other orders. pairwise: each test after each other one. Default: all.",
)
@click.option(
    "--pairs",
    type=click.Choice(["auto", "exact", "grouped", "none"]),
    default="auto",
    show_default=True,
    help="pairwise: exact runs every pair in its own process, grouped many candidates before each test at once. "
    "auto: the most exact form for which there is time.",
)
@click.option(
    "--states",
    is_flag=True,
    help="Compare the state of the process before and after each test: names the state that tests share, "
    "and runs only pairs of tests that can share some.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Also measure the 18 features of each test, in three runs of their own, for `flakehound data export`.",
)
@suite_options
@store_option
@click.option(
    "--resume", is_flag=True, help="Continue the last hunt of this folder instead of starting a new one."
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Start from nothing: runs of earlier hunts do not count, even if the code is the same.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress, only the report.")
def command(
    suite: SuiteOptions,
    policy: PolicyOptions,
    budget: str | None,
    techniques: tuple[str, ...],
    store_path: Path,
    resume: bool,
    quiet: bool,
    **search: Any,
) -> int:
    """Find the flaky tests of a suite.

    PYTEST_ARGS are given to pytest as they are; put them behind `--` when they start with a dash.

    \b
    Examples:
        flakehound hunt                                 the whole suite, default time
        flakehound hunt --budget 10m tests/api          ten minutes for one folder
        flakehound hunt --runs 100 --technique rerun    no other orders, no pairs
        flakehound hunt -- -k "not slow" -m unit        with pytest's own options

    A test that fails gets more runs of its own, until its kind is proven or the time is up.
    """
    from flakehound.app.hunt.options import options_for_suite
    from flakehound.app.hunt.run import run_hunt

    budget_s = _seconds(budget)
    check_writable(suite.json_file)
    shown_store = str(store_path) if store_arguments(store_path) else None
    options = replace(
        options_for_suite(suite, store_path, shown_store=shown_store, resume=resume),
        budget_s=budget_s,
        policy=policy,
        techniques=techniques or TECHNIQUES,
        **search,
    )
    with shown_progress(quiet=quiet) as progress:
        result = run_hunt(options, lambda result: _report(result, suite.json_file), progress=progress)
    return _exit_code(result)


def _seconds(budget: str | None) -> float | None:
    from flakehound.engine.suite.budget import seconds_in

    return None if budget is None else seconds_in(budget, remedy=same_command(budget="10m"))


def _exit_code(result: HuntResult) -> ExitCode:
    if result.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FLAKY_FOUND if result.flaky else ExitCode.NOTHING_FLAKY


def _report(result: HuntResult, json_file: Path | None) -> None:
    from flakehound.report.hunt.as_json import report_json
    from flakehound.report.hunt.text import report_text

    try:
        write_output(json_file, report_json(result), resume=True)
    finally:
        print_result(report_text(result))
