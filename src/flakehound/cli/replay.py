"""`flakehound replay`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flakehound.app.sessions.commands import command_in_folder
from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode, UsageError
from flakehound.core.plans import Isolation, RunPlan, Setting, Suite
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Replay

if TYPE_CHECKING:
    from flakehound.app.sessions.stored import StoredHunt

MOST_TRIES = 40  # for a failure that comes and goes


@click.command("replay", cls=CommandWithRemedies)
@store_option
@click.option(
    "--times",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Runs to make. Default: until it fails, at most {MOST_TRIES}.",
)
@click.argument("test")
def command(store_path: Path, times: int | None, test: str) -> int:
    """Make TEST fail again: the shortest order and the seed known to do it.

    Shows the failure and, where one exists, the plain pytest command that does the same.
    Exit code 1 means that it failed again.
    """
    from flakehound.app.sessions.stored import read_last_hunt
    from flakehound.report.commands import plain_pytest_command

    stored = read_last_hunt(store_path)
    verdict = stored.verdict_on(test)
    if verdict.replay is None:
        raise UsageError(f"{verdict.id} was never seen failing", remedy=stored.hunt_command("--budget", "10m"))
    stored.check_still_there()
    tries = _replayed(stored, verdict.replay, times)
    failed = sum(run.last.is_failure for run in tries)
    _show(verdict.replay, failed, tries)
    plain = plain_pytest_command(stored.hunted, verdict)
    if plain is not None:
        click.echo(f"plain pytest: {command_in_folder(Path(stored.hunted.cwd), plain)}")
    return ExitCode.FLAKY_FOUND if failed else ExitCode.NOTHING_FLAKY


def _replayed(stored: StoredHunt, replay: Replay, times: int | None) -> list[RunRecord]:
    """The runs made: as many as named, else up to the first that fails."""
    from flakehound.engine.processes.limits import Limits
    from flakehound.engine.suite.open_suite import open_suite

    hash_seed = _hash_seed(stored, replay)
    opened = open_suite(
        stored.target,
        jobs=1,
        isolation=replay.isolation,
        hash_seed=hash_seed,
        limits=Limits(),
        with_reference=False,
    )
    try:
        _check_tests(stored, replay, opened.suite)
        opened.pool.self_seeded = stored.session.settings.self_seeded
        plan = _plan(replay, opened.isolation, hash_seed)
        tries: list[RunRecord] = []
        while len(tries) < (times or MOST_TRIES):
            tries.append(opened.pool.run_now(plan, Limits())[-1])
            if times is None and tries[-1].last.is_failure:
                break
        return tries
    finally:
        opened.close()


def _hash_seed(stored: StoredHunt, replay: Replay) -> int:
    return replay.hash_seed if replay.hash_seed is not None else stored.session.settings.hash_seed


def _check_tests(stored: StoredHunt, replay: Replay, suite: Suite) -> None:
    present = set(suite.order)
    gone = [test for test in replay.order if test not in present]
    if gone:
        raise UsageError(f"the suite no longer has {gone[0]!r}", remedy=stored.hunt_command())


def _plan(replay: Replay, isolation: Isolation, hash_seed: int) -> RunPlan:
    return RunPlan(
        order=replay.order,
        why="replay",
        setting=Setting.PROBE,
        isolation=isolation,
        seed=replay.seed,
        hash_seed=hash_seed if isolation is Isolation.SPAWN else None,
    )


def _show(replay: Replay, failed: int, tries: Sequence[RunRecord]) -> None:
    seeds = f", random seed {replay.seed}" if replay.seed is not None else ""
    seeds += f", PYTHONHASHSEED={replay.hash_seed}" if replay.hash_seed is not None else ""
    verdict = "FAILED" if failed else "PASSED"
    click.echo(f"{verdict}  {replay.order[-1]}  failed {failed} of {len(tries)} replays")
    click.echo("order" + seeds + ":")
    for test in replay.order:
        click.echo(f"    {test}")
    last_failing = next((run for run in reversed(tries) if run.last.is_failure), None)
    failure = last_failing.failures.get(len(last_failing.order) - 1) if last_failing is not None else None
    if failure is not None:
        click.echo(failure.text)
