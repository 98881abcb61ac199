"""Recognise the same failure in two revisions, in which lines have moved and compared values differ.

`core/failure_signatures.py` compares failures of one revision, where the raising line identifies an assertion.
"""

from __future__ import annotations

import hashlib
import re
from posixpath import basename

from flakehound.core.failure_signatures import without_volatile_parts
from flakehound.core.records import Failure

_QUOTED = re.compile(r"""b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*\"""")
_BRACKETED = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}|\((?:[^()]*,[^()]*)\)")
_MAX_NESTED = 5  # brackets within brackets that are replaced
# How pytest marks the raising line in its report.
_RAISING_LINE = re.compile(r"^>\s+(.*\S)\s*$", re.MULTILINE)


def shape_of(failure: Failure) -> str:
    """Eight hex digits that the same failure has in both revisions.

    It depends on the phase, the type, the file and text of the raising line, and the first line of the message
    without values: numbers, texts, collections, addresses and paths.
    """
    file = basename(failure.where.rpartition(":")[0])
    raising_lines = _RAISING_LINE.findall(failure.text)
    message = _without_values(failure.message.partition("\n")[0])
    parts = (failure.phase, failure.exception, file, raising_lines[-1] if raising_lines else "", message)
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:8]


def _without_values(message: str) -> str:
    message = _QUOTED.sub("<text>", message)
    for _ in range(_MAX_NESTED):
        shorter = _BRACKETED.sub("<values>", message)
        if shorter == message:
            break
        message = shorter
    return without_volatile_parts(message)
