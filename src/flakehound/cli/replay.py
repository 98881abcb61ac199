"""`flakehound replay`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flakehound.cli.target import store_option
from flakehound.core.errors import ExitCode, UsageError
from flakehound.core.plans import Isolation, RunPlan, Setting
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Replay

if TYPE_CHECKING:
    from flakehound.cli.stored import StoredHunt

MOST_TRIES = 40  # for a failure that comes and goes


@click.command("replay", context_settings={"help_option_names": ["-h", "--help"]})
@store_option
@click.option("--times", type=click.IntRange(min=1), help="Runs to make. Default: until it fails, at most 40.")
@click.argument("test")
def command(store_path: Path, times: int | None, test: str) -> int:
    """Make TEST fail again: the shortest order and the seed known to do it.

    Shows the failure and, where one exists, the plain pytest command that does the same.
    Exit code 1 means that it failed again.
    """
    from flakehound.cli.stored import read_last_hunt
    from flakehound.report.commands import plain_pytest_command

    stored = read_last_hunt(store_path)
    verdict = stored.verdict_on(test, "replay")
    if verdict.replay is None:
        raise UsageError(f"{verdict.id} was never seen failing", remedy="flakehound hunt --budget 10m")
    failed, made, last = _replay(stored, verdict.replay, times)
    _show(verdict.replay, failed, made, last)
    plain = plain_pytest_command(stored.hunted, verdict)
    if plain is not None:
        elsewhere = Path.cwd() != Path(stored.hunted.cwd)
        move = f"cd {shlex.quote(stored.hunted.cwd)} && " if elsewhere else ""
        click.echo(f"plain pytest: {move}{plain}")
    return ExitCode.FLAKY_FOUND if failed else ExitCode.NOTHING_FLAKY


def _replay(stored: StoredHunt, replay: Replay, times: int | None) -> tuple[int, int, RunRecord | None]:
    """Failures, runs made, and the last failing run (or the last run at all)."""
    from flakehound.engine.limits import Limits
    from flakehound.engine.opening import open_suite

    options = stored.session.options
    hash_seed = replay.hash_seed if replay.hash_seed is not None else int(options.get("hash_seed", "0"))
    opened = open_suite(
        stored.target,
        jobs=1,
        isolation=replay.isolation,
        hash_seed=hash_seed,
        limits=Limits(),
        with_reference=False,
    )
    gone = [test for test in replay.order if test not in opened.suite.order]
    if gone:
        opened.close()
        raise UsageError(f"the suite no longer has {gone[0]!r}", remedy="flakehound hunt")
    opened.pool.self_seeded = json.loads(options.get("self_seeded", "[]"))
    plan = RunPlan(
        order=replay.order,
        why="replay",
        setting=Setting.PROBE,
        isolation=opened.isolation,
        seed=replay.seed,
        hash_seed=hash_seed if opened.isolation is Isolation.SPAWN else None,
    )
    failed = made = 0
    last: RunRecord | None = None
    try:
        while made < (times or MOST_TRIES):
            records = opened.pool.run_now(plan, Limits())
            made += 1
            if records[-1].last.is_failure:
                failed += 1
                last = records[-1]
                if times is None:
                    break
            last = last or records[-1]
    finally:
        opened.close()
    return failed, made, last


def _show(replay: Replay, failed: int, made: int, last: RunRecord | None) -> None:
    seeds = f", random seed {replay.seed}" if replay.seed is not None else ""
    seeds += f", PYTHONHASHSEED={replay.hash_seed}" if replay.hash_seed is not None else ""
    click.echo(f"{'FAILED' if failed else 'PASSED'}  {replay.order[-1]}  failed {failed} of {made} replays")
    click.echo("order" + seeds + ":")
    for test in replay.order:
        click.echo(f"    {test}")
    failure = last.failures.get(len(last.order) - 1) if last is not None else None
    if failure is not None:
        click.echo(failure.text)
