"""Run the shortest order known to make a test fail again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flakehound.app.sessions.commands import command_in_folder
from flakehound.app.sessions.stored import StoredHunt, read_last_hunt
from flakehound.core.errors import UsageError
from flakehound.core.plans import Isolation, Setting, SingleRun, Suite
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Replay
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite
from flakehound.report.commands import plain_pytest_command

MAX_REPLAYS = 40  # of a failure that does not occur in every run


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedFailure:
    """The runs that tried to make a test fail again."""

    replay: Replay
    runs: tuple[RunRecord, ...]
    plain_pytest: str | None  # the pytest command that does the same, None where there is none

    @property
    def failed(self) -> int:
        """How many of the runs failed."""
        return sum(run.last.is_failure for run in self.runs)


def replay_failure(store_path: Path, test: str, *, times: int | None) -> ReplayedFailure:
    """Replay the failure of a test of the last hunt; `times` None: until it fails, at most `MAX_REPLAYS` times."""
    stored = read_last_hunt(store_path)
    verdict = stored.verdict_on(test)
    if verdict.replay is None:
        raise UsageError(f"{verdict.id} was never seen failing", remedy=stored.hunt_command("--budget", "10m"))
    stored.check_suite_exists()
    plain = plain_pytest_command(stored.result, verdict)
    return ReplayedFailure(
        replay=verdict.replay,
        runs=tuple(_run(stored, verdict.replay, times)),
        plain_pytest=None if plain is None else command_in_folder(Path(stored.result.cwd), plain),
    )


def _run(stored: StoredHunt, replay: Replay, times: int | None) -> list[RunRecord]:
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
        runs: list[RunRecord] = []
        while len(runs) < (times or MAX_REPLAYS):
            runs.append(opened.pool.run_now(plan, Limits())[-1])
            if times is None and runs[-1].last.is_failure:
                break
        return runs
    finally:
        opened.close()


def _hash_seed(stored: StoredHunt, replay: Replay) -> int:
    return replay.hash_seed if replay.hash_seed is not None else stored.session.settings.hash_seed


def _check_tests(stored: StoredHunt, replay: Replay, suite: Suite) -> None:
    present = set(suite.order)
    missing = [test for test in replay.order if test not in present]
    if missing:
        raise UsageError(f"the suite no longer has {missing[0]!r}", remedy=stored.hunt_command())


def _plan(replay: Replay, isolation: Isolation, hash_seed: int) -> SingleRun:
    return SingleRun(
        order=replay.order,
        why="replay",
        setting=Setting.PROBE,
        isolation=isolation,
        seed=replay.seed,
        hash_seed=hash_seed if isolation is Isolation.SPAWN else None,
    )
