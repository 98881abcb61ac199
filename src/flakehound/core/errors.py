"""Errors a user can cause, each with a remedy, and the exit codes tools may rely on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

Answer = TypeVar("Answer")


class ExitCode(IntEnum):
    """What `flakehound` tells the shell."""

    NOTHING_FLAKY = 0
    FLAKY_FOUND = 1
    USAGE = 2
    SUITE_UNUSABLE = 3
    INTERRUPTED = 130


class FlakehoundError(Exception):
    """Something the user can mend: what happened, and a command that works when pasted."""

    exit_code = ExitCode.SUITE_UNUSABLE

    def __init__(self, what: str, *, remedy: str | None = None, detail: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy  # a shell command, or None when no command can help
        self.detail = detail  # longer evidence, such as pytest's own words


class UsageError(FlakehoundError):
    """The command line asks for something that cannot be."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why something could not be done, where that is an answer and not the end."""

    what: str


def attempted(step: Callable[[], Answer]) -> Answer | Problem:
    """What a step gives, or why it cannot: for work that goes on without it."""
    try:
        return step()
    except FlakehoundError as error:
        return Problem(what=error.what)
