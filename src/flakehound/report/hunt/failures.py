"""The failures of one test, with one example per signature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.records import Failure
from flakehound.report.formatting import counted

_LAST_LINES = 25  # pytest puts the error at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureExample:
    """One failure that stands for all failures with the same signature."""

    signature: str
    failure: Failure
    seen_in: str  # what the run was made for, empty when unknown


def failure_examples(history: History, test: NodeId) -> list[FailureExample]:
    """One failure per signature, from the run with the fewest tests before it."""
    found: dict[str, FailureExample] = {}
    for execution in sorted(history.failures_of(test), key=lambda execution: execution.position):
        failure = execution.record.failures.get(execution.position)
        if failure is not None:
            signature = signature_of(failure)
            example = FailureExample(signature=signature, failure=failure, seen_in=execution.record.why)
            found.setdefault(signature, example)
    return list(found.values())


def failure_lines(times: Mapping[str, int], examples: Sequence[FailureExample]) -> Iterator[str]:
    """Each signature, how often it was seen, and the last lines of one of its failures."""
    by_signature: dict[str, FailureExample] = {}
    for example in examples:
        by_signature.setdefault(example.signature, example)
    for signature in dict.fromkeys([*times, *by_signature]):
        yield _heading(signature, times.get(signature))
        if signature in by_signature:
            yield from _example_lines(by_signature[signature])


def _heading(signature: str, times: int | None) -> str:
    return signature if times is None else f"{signature}, seen {counted(times, 'time')}"


def _example_lines(example: FailureExample) -> Iterator[str]:
    failure = example.failure
    location = f" at {failure.where}" if failure.where else ""
    yield f"  {failure.exception} in {failure.phase}{location}"
    if example.seen_in:
        yield f"  seen in: {example.seen_in}"
    lines = failure.text.splitlines()
    left_out = max(0, len(lines) - _LAST_LINES)
    if left_out:
        yield f"    ({counted(left_out, 'line')} left out)"
    yield from (f"    {line}" for line in lines[left_out:])
