"""`flakehound features`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.app.sessions.target import isolation_from, seed_from, target_from, test_limit_from
from flakehound.cli.options import store_option, suite_options
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

RUNS = 3


@click.command("features", cls=CommandWithRemedies)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=RUNS,
    show_default=True,
    metavar="N",
    help="Number of measured runs; each figure is their mean.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write one row per test to this file.",
)
@suite_options
@store_option
@click.option("--quiet", "-q", is_flag=True, help="No progress, only the result.")
def command(suite: SuiteOptions, runs: int, csv_file: Path | None, store_path: Path, quiet: bool) -> int:
    """Measure 18 features of each test: what it reads, waits for, covers and starts, and its source code.

    Runs go one at a time, so that they do not disturb what is measured; --jobs allows more.

    \b
    Examples:
        flakehound features --csv features.csv
        flakehound features --runs 10 tests/api
    """
    from flakehound.app.measure import MeasureOptions, measure_suite
    from flakehound.app.sessions.store_file import check_store
    from flakehound.report.features_table import as_csv, as_json, as_text

    check_writable(suite.json_file)
    check_writable(csv_file, option="csv_file")
    check_store(store_path)
    options = MeasureOptions(
        target=target_from(suite),
        runs=runs,
        jobs=suite.jobs or 1,
        seed=seed_from(suite),
        isolation=isolation_from(suite),
        test_limit_s=test_limit_from(suite),
        store_path=store_path,
    )
    with shown_progress(quiet=quiet) as progress:
        found = measure_suite(options, progress)
    try:
        write_output(csv_file, as_csv(found), "csv_file")
        write_output(suite.json_file, as_json(found))
    finally:
        print_result(as_text(found, str(csv_file) if csv_file else None))
    return ExitCode.INTERRUPTED if found.interrupted else ExitCode.NOTHING_FLAKY
