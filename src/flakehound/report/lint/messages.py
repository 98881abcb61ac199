"""The message of a remark, as every format prints it."""

from __future__ import annotations

from flakehound.core.predictions import Remark, UnseenTests
from flakehound.report.formatting import counted


def message_with_tests(remark: Remark) -> str:
    """What a remark says, why it is weak, and how its tests reach the line unless it is in a test."""
    finding = remark.finding
    message = f"{finding.message} ({finding.weak})" if finding.weak else finding.message
    if not finding.via:
        return message
    return f"{message}; reached by {counted(len(remark.tests), 'test')} through {' -> '.join(finding.via)}"


def reason_unseen(unseen: UnseenTests) -> str:
    """Why tests are not read."""
    tests = counted(unseen.tests, "test")
    if unseen.class_name:
        return f"{tests} of class {unseen.class_name}, whose name does not match python_classes"
    return f"{tests} in a file whose name does not match python_files"
