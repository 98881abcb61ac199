"""`flakehound polluter`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from flakehound.cli.target import check_writable, seed_from, suite_options, target_from, test_limit_from
from flakehound.core.errors import ExitCode, UsageError
from flakehound.core.plans import Isolation
from flakehound.core.verdicts import Verdict
from flakehound.engine.launch import Target


@click.command("polluter", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Processes at once. Default: all cores.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of every random choice. Default: a fresh one.")
@suite_options
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the answer as JSON.",
)
@click.argument("test")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def command(
    jobs: int | None,
    seed: int | None,
    python: str | None,
    isolation: str | None,
    keep_plugins: tuple[str, ...],
    test_timeout: str | None,
    memory_limit: str | None,
    json_file: Path | None,
    test: str,
    pytest_args: tuple[str, ...],
) -> int:
    """Find which other tests make TEST fail, or without which it fails.

    Runs TEST alone and after all others, then halves the others until only those that matter are left:
    one polluter, several that are needed together, or the state-setter of a test that fails alone.

    \b
    Example:
        flakehound polluter tests/test_user.py::test_login tests
    """
    from flakehound.cli.blaming import blame

    check_writable(json_file)
    target = target_from(pytest_args, python, keep_plugins, memory_limit)
    verdict, rootdir = blame(
        target,
        test,
        jobs=jobs or len(os.sched_getaffinity(0)),
        isolation=Isolation(isolation) if isolation else None,
        seed=seed_from(seed),
        test_limit_s=test_limit_from(test_timeout, "polluter"),
    )
    if json_file is not None:
        json_file.write_text(json.dumps(_as_json(verdict), indent=2))
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


def unknown_test(test: str, near: list[str]) -> UsageError:
    """The suite has no such test."""
    import shlex

    remedy = shlex.join(["flakehound", "polluter", near[0]]) if near else "pytest --collect-only -q"
    return UsageError(f"the suite has no test {test!r}", remedy=remedy, detail="\n".join(near))
