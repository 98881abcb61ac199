"""`flakehound polluter`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from flakehound.app.output_files import check_writable, write_json
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.app.sessions.target import isolation_from, jobs_from, seed_from, target_from, test_limit_from
from flakehound.cli.options import suite_options
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode

if TYPE_CHECKING:
    from flakehound.core.verdicts import Verdict
    from flakehound.engine.processes.launch import Target


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
    from flakehound.app.polluter import blame

    check_writable(suite.json_file)
    target = target_from(suite)
    verdict, rootdir = blame(
        target,
        test,
        jobs=jobs_from(suite),
        isolation=isolation_from(suite),
        seed=seed_from(suite),
        test_limit_s=test_limit_from(suite),
    )
    try:
        write_json(suite.json_file, json.dumps(_as_json(verdict), indent=2))
    finally:
        _show(verdict, target, rootdir)
    return ExitCode.FLAKY_FOUND if verdict.kind.is_flaky else ExitCode.NOTHING_FLAKY


def _as_json(verdict: Verdict) -> dict[str, object]:
    return {
        "id": verdict.id,
        "kind": verdict.kind.value,
        "polluters": verdict.polluters,
        "state_setters": verdict.state_setters,
        "joint": verdict.joint,
        "minimal_order": verdict.minimal_order,
        "evidence": verdict.evidence,
    }


def _show(verdict: Verdict, target: Target, rootdir: str) -> None:
    from flakehound.report.commands import plain_pytest

    click.echo(f"{verdict.kind.value.upper()}  {verdict.id}")
    for line in verdict.evidence:
        click.echo(f"    {line}")
    if verdict.replay is not None and verdict.kind.is_flaky:
        plain = plain_pytest(
            verdict.replay, target.python, target.pytest_args, cwd=str(target.cwd), rootdir=rootdir
        )
        click.echo(f"    {plain}" if plain else "    no plain pytest command does the same")
