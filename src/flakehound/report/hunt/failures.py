"""Failures of one test: one example per signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flakehound.core.records import Failure
from flakehound.report.phrases import counted

_LAST_LINES = 25  # pytest puts the error at the end


def failure_lines(times: Mapping[str, int], failures: Sequence[tuple[str, Failure, str]]) -> Iterator[str]:
    """Each signature, how often it was seen, and the end of one of its failures."""
    examples: dict[str, tuple[Failure, str]] = {}
    for signature, failure, seen in failures:
        examples.setdefault(signature, (failure, seen))
    for signature in dict.fromkeys([*times, *examples]):
        yield _heading(signature, times.get(signature))
        if signature in examples:
            yield from _example(*examples[signature])


def _heading(signature: str, times: int | None) -> str:
    return signature if times is None else f"{signature}, seen {counted(times, 'time')}"


def _example(failure: Failure, seen: str) -> Iterator[str]:
    place = f" at {failure.where}" if failure.where else ""
    yield f"  {failure.exception} in {failure.phase}{place}"
    if seen:
        yield f"  seen in: {seen}"
    lines = failure.text.splitlines()
    left_out = max(0, len(lines) - _LAST_LINES)
    if left_out:
        yield f"    ({counted(left_out, 'line')} left out)"
    yield from (f"    {line}" for line in lines[left_out:])
