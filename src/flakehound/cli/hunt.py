"""`flakehound hunt`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flakehound.cli.target import (
    DEFAULT_STORE,
    check_writable,
    seed_from,
    store_option,
    suite_options,
    target_from,
    test_limit_from,
)
from flakehound.core.errors import ExitCode
from flakehound.core.plans import Isolation
from flakehound.hunt.options import TECHNIQUES


@click.command("hunt", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--budget",
    metavar="T",
    help="Time to spend, such as 90s, 10m, 1h30m. Default: 10 minutes or 30 suite times, whichever is shorter.",
)
@click.option("--runs", type=click.IntRange(min=1), help="Runs in the original order. Default: as many as fit.")
@click.option("--shuffles", type=click.IntRange(min=0), help="Runs in other orders. Default: as many as fit.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes at once. Default: all cores.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of every random choice. Default: a fresh one, printed."
)
@click.option(
    "--technique",
    "techniques",
    multiple=True,
    type=click.Choice(TECHNIQUES),
    help="Only these; may be repeated. Default: all.",
)
@click.option(
    "--pairs",
    type=click.Choice(["auto", "exact", "grouped", "none"]),
    default="auto",
    show_default=True,
    help="PAIRWISE: every pair in its own process, or many candidates before each test at once.",
)
@suite_options
@store_option
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the report as JSON.",
)
@click.option("--resume", is_flag=True, help="Go on with the last hunt of this suite instead of starting anew.")
@click.option("--quiet", "-q", is_flag=True, help="No progress, only the report.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def command(
    budget: str | None,
    runs: int | None,
    shuffles: int | None,
    jobs: int | None,
    seed: int | None,
    techniques: tuple[str, ...],
    pairs: str,
    python: str | None,
    isolation: str | None,
    keep_plugins: tuple[str, ...],
    test_timeout: str | None,
    memory_limit: str | None,
    store_path: Path,
    json_file: Path | None,
    resume: bool,
    quiet: bool,
    pytest_args: tuple[str, ...],
) -> int:
    """Find the flaky tests of a suite.

    PYTEST_ARGS are given to pytest as they are; put them behind `--` when they start with a dash.

    \b
    Examples:
        flakehound hunt                            the whole suite, default time
        flakehound hunt --budget 10m tests/api     ten minutes for one folder
        flakehound hunt --runs 100 --shuffles 0    only reruns in the original order
        flakehound hunt -- -k "not slow" -m unit   with pytest's own options
    """
    from flakehound.cli.hunting import Wishes, hunt
    from flakehound.engine.budget import seconds
    from flakehound.report.text import report_text

    check_writable(json_file)
    wishes = Wishes(
        target=target_from(pytest_args, python, keep_plugins, memory_limit),
        budget_s=seconds(budget) if budget is not None else None,
        runs=runs,
        shuffles=shuffles,
        jobs=jobs,
        seed=seed_from(seed),
        techniques=techniques or TECHNIQUES,
        pairs=pairs,
        isolation=Isolation(isolation) if isolation else None,
        test_limit_s=test_limit_from(test_timeout, "hunt"),
        store_path=store_path,
        shown_store=str(store_path) if store_path != DEFAULT_STORE else None,
        resume=resume,
        quiet=quiet,
    )
    hunted = hunt(wishes)
    if json_file is not None:
        from flakehound.report.as_json import report_json

        json_file.write_text(report_json(hunted))
    click.echo(report_text(hunted, colour=sys.stdout.isatty()))
    if hunted.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FLAKY_FOUND if hunted.flaky else ExitCode.NOTHING_FLAKY
