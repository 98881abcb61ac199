"""Recognise two failures of one cause although addresses, numbers and paths in them differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from flakehound.core.records import Failure

# Order matters: an address holds digits, a path holds addresses and digits.
_VOLATILE = (
    (re.compile(r"(?:/[\w.@+~-]+){2,}"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"), "<digest>"),
    (re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), "<n>"),
)
_MEASURED = re.compile(r"\d+\.\d{2,}")


def are_measured(failures: Iterable[Failure]) -> bool:
    """Whether failures name fractions that differ from run to run: something measured or drawn decides."""
    named = {tuple(_MEASURED.findall(failure.message.partition("\n")[0])) for failure in failures}
    return len(named - {()}) > 1


def without_volatile_parts(message: str) -> str:
    """The message with what differs from run to run replaced by its sort."""
    for pattern, sort in _VOLATILE:
        message = pattern.sub(sort, message)
    return message


def signature_of(failure: Failure) -> str:
    """Eight hex digits that two failures of one cause share.

    The raising place and the type decide; the message only by its first line, because pytest's
    explanation of an assertion prints values that differ from run to run.
    """
    first_line = failure.message.partition("\n")[0]
    if failure.where and first_line.startswith("AssertionError: assert "):
        first_line = ""  # it holds the values compared; the place tells which assertion it is
    parts = (failure.phase, failure.exception, failure.where, without_volatile_parts(first_line))
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:8]
