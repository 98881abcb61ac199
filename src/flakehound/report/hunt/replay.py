"""What `flakehound replay` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Replay


def replay_text(replay: Replay, runs: Sequence[RunRecord], plain_pytest: str | None) -> str:
    """How often the test failed, the order that was run, the last failure and the same with plain pytest."""
    return "\n".join(_lines(replay, runs, plain_pytest))


def _lines(replay: Replay, runs: Sequence[RunRecord], plain_pytest: str | None) -> Iterator[str]:
    failed = [run for run in runs if run.last.is_failure]
    outcome = "FAILED" if failed else "PASSED"
    yield f"{outcome}  {replay.order[-1]}  failed {len(failed)} of {len(runs)} replays"
    yield f"order{_seeds(replay)}:"
    yield from (f"    {test}" for test in replay.order)
    failure = failed[-1].failures.get(len(failed[-1].order) - 1) if failed else None
    if failure is not None:
        yield failure.text
    if plain_pytest is not None:
        yield f"plain pytest: {plain_pytest}"


def _seeds(replay: Replay) -> str:
    seeds = f", random seed {replay.seed}" if replay.seed is not None else ""
    return seeds + (f", PYTHONHASHSEED={replay.hash_seed}" if replay.hash_seed is not None else "")
