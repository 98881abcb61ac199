"""`flakehound polluter`."""

from __future__ import annotations

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.app.sessions.target import isolation_from, jobs_from, seed_from, target_from, test_limit_from
from flakehound.cli.options import suite_options
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode


@click.command("polluter", cls=CommandWithRemedies)
@click.argument("test")
@suite_options
def command(suite: SuiteOptions, test: str) -> int:
    """Find which other tests make TEST fail, or without which it fails.

    Runs TEST alone and after all others, then halves the others until only those that matter are left:
    one polluter, several that are needed together, or the state-setter of a test that fails alone.

    \b
    Example:
        flakehound polluter tests/test_user.py::test_login tests
    """
    from flakehound.app.polluter import PolluterSearch, find_polluter
    from flakehound.report.polluter import polluter_json, polluter_text

    check_writable(suite.json_file)
    search = PolluterSearch(
        target=target_from(suite),
        test=test,
        jobs=jobs_from(suite),
        isolation=isolation_from(suite),
        seed=seed_from(suite),
        test_limit_s=test_limit_from(suite),
    )
    with shown_progress(only_live=True) as progress:
        found = find_polluter(search, progress)
    try:
        write_output(suite.json_file, polluter_json(found.verdict))
    finally:
        print_result(polluter_text(found.verdict, found.plain_pytest))
    return ExitCode.FLAKY_FOUND if found.verdict.kind.is_flaky else ExitCode.NOTHING_FLAKY
