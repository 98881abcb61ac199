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
# How our plugin separates further failures of one run of a test: of a subtest, or of the teardown.
_LATER_FAILURE = re.compile(r"^(==== then failed in .* ====)$", re.MULTILINE)
# What differs between two trees or processes; numbers and texts are values.
_OF_PROCESS = re.compile(r"(?:/[\w.@+~-]+){2,}|\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f-]*[a-f])[0-9a-f-]{16,}\b")


def shape_of(failure: Failure) -> str:
    """Eight hex digits that the same failure has in both revisions.

    It depends on the phase, the type, the file and text of the raising line, and the first line of the message
    without values: numbers, texts, collections, addresses and paths. Of further failures in the same run, it
    depends on the phase, the type and the text of the raising line.
    """
    file = basename(failure.where.rpartition(":")[0])
    raising_lines = [_raising_line_in(part) for part in _LATER_FAILURE.split(failure.text)]
    message = _without_values(failure.message.partition("\n")[0])
    parts = (failure.phase, failure.exception, file, *raising_lines, message)
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:8]


def values_of(failure: Failure) -> str:
    """Eight hex digits that two failures have if also the values in their messages are the same."""
    text = _OF_PROCESS.sub("", failure.message)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:8]


def _raising_line_in(part: str) -> str:
    if _LATER_FAILURE.fullmatch(part):
        return part
    lines = _RAISING_LINE.findall(part)
    return lines[-1] if lines else ""


def _without_values(message: str) -> str:
    message = _QUOTED.sub("<text>", message)
    for _ in range(_MAX_NESTED):
        shorter = _BRACKETED.sub("<values>", message)
        if shorter == message:
            break
        message = shorter
    return without_volatile_parts(message)
