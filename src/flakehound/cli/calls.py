"""`flakehound calls`."""

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

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("calls", cls=CommandWithRemedies)
@click.option(
    "--mode",
    type=click.Choice(["all", "characteristic"]),
    default="all",
    show_default=True,
    help="all: every function. characteristic: only those that suggest a cause of flakiness, at little cost.",
)
@click.option(
    "--counts/--no-counts",
    default=True,
    show_default=True,
    help="Count every call. With --no-counts each function is listed once, several times faster on Python 3.12 "
    "and newer.",
)
@click.option(
    "--csv",
    "csv_file",
    type=_FILE,
    metavar="FILE",
    help="Write every call to this CSV: id, phase, file, class, function, ...",
)
@suite_options
@store_option
@click.option("--quiet", "-q", is_flag=True, help="No progress, only the result.")
def command(
    suite: SuiteOptions, mode: str, counts: bool, csv_file: Path | None, store_path: Path, quiet: bool
) -> int:
    """Trace which functions each test calls, and which causes of flakiness they suggest.

    Runs the suite once with a tracer. Calls of fixtures are listed apart from calls of the test itself.

    \b
    Examples:
        flakehound calls                                  likely causes per test
        flakehound calls --csv calls.csv tests/api        every call of one folder's tests
        flakehound calls --mode characteristic            quick: only what suggests a cause
    """
    from flakehound.app.sessions.store_file import check_store
    from flakehound.app.trace.run import CallsOptions, trace_suite
    from flakehound.calls.causes import likely_causes
    from flakehound.core.calls import TraceMode
    from flakehound.report.calls.as_csv import calls_csv
    from flakehound.report.calls.text import calls_json, calls_text

    for file in (suite.json_file, csv_file):
        check_writable(file)
    check_store(store_path)
    options = CallsOptions(
        target=target_from(suite),
        mode=TraceMode(mode),
        counts=counts,
        seed=seed_from(suite),
        isolation=isolation_from(suite),
        test_limit_s=test_limit_from(suite),
        store_path=store_path,
    )
    with shown_progress(quiet=quiet) as progress:
        found = trace_suite(options, progress)
    causes = {test: likely_causes([trace], found.known) for test, trace in found.traces.items()}
    write_output(csv_file, calls_csv(found.traces))
    write_output(suite.json_file, calls_json(found.traces, causes))
    print_result(calls_text(found.traces, causes, lost=len(found.outcomes) - len(found.traces), notes=found.notes))
    return ExitCode.NOTHING_FLAKY
