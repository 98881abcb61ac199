"""The message of a remark, as every format prints it."""

from __future__ import annotations

from flakehound.core.predictions import Remark
from flakehound.report.formatting import counted


def message_with_tests(remark: Remark) -> str:
    """What a remark says, why it is weak, and how its tests reach the line unless it is in a test."""
    finding = remark.finding
    message = f"{finding.message} ({finding.weak})" if finding.weak else finding.message
    if not finding.via:
        return message
    return f"{message}; reached by {counted(len(remark.tests), 'test')} through {' -> '.join(finding.via)}"
