"""Recognise two failures of one cause although addresses, numbers and paths in them differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from flakehound.core.records import Failure

# Replaced in this order: an address contains digits, a path contains addresses and digits.
_VOLATILE_PARTS = (
    (re.compile(r"(?:/[\w.@+~-]+){2,}"), "<path>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b(?=[0-9a-f]*[a-f])[0-9a-f]{16,}\b"), "<digest>"),
    (re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), "<n>"),
)
_FRACTION = re.compile(r"\d+\.\d{2,}")


def have_varying_fractions(failures: Iterable[Failure]) -> bool:
    """Whether the messages contain fractions that differ from run to run: a measured or random value decides."""
    fractions = {tuple(_FRACTION.findall(failure.message.partition("\n")[0])) for failure in failures}
    return len(fractions - {()}) > 1


def without_volatile_parts(message: str) -> str:
    """The message with a placeholder for each part that differs from run to run."""
    for pattern, placeholder in _VOLATILE_PARTS:
        message = pattern.sub(placeholder, message)
    return message


def signature_of(failure: Failure) -> str:
    """Eight hex digits that two failures with the same cause share.

    The signature depends on the raising line, the type, and the first line of the message. Later lines are left
    out, because pytest's explanation of an assertion prints values that differ from run to run.
    """
    first_line = failure.message.partition("\n")[0]
    if failure.where and first_line.startswith("AssertionError: assert "):
        first_line = ""  # it contains the compared values; the raising line identifies the assertion
    parts = (failure.phase, failure.exception, failure.where, without_volatile_parts(first_line))
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:8]
