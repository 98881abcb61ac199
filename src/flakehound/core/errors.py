"""Errors a user can cause, each with a remedy, and the exit codes tools may rely on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")


class ExitCode(IntEnum):
    """Exit codes of `flakehound`."""

    NOTHING_FLAKY = 0
    FLAKY_FOUND = 1
    USAGE = 2
    SUITE_UNUSABLE = 3
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCommand:
    """The user's command again with some of its parameters changed.

    Only the command line has the words that the user typed, so only `cli` can turn this into text.
    """

    changes: Mapping[str, object]  # parameter name -> new value; None leaves the parameter out


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSequence:
    """Commands that are run one after the other while each succeeds, as with `&&` in a shell."""

    commands: tuple[str | SameCommand, ...]


def same_command(**changes: object) -> SameCommand:
    """The user's command again with these parameters changed; None leaves one out."""
    return SameCommand(changes=changes)


# What can be done about an error. A string is a shell command as the user can paste it.
Remedy: TypeAlias = str | SameCommand | CommandSequence


class FlakehoundError(Exception):
    """An error the user can fix: what happened, and a command that works when pasted."""

    exit_code = ExitCode.SUITE_UNUSABLE

    def __init__(self, what: str, *, remedy: Remedy | None = None, detail: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy  # None when no command can help
        self.detail = detail  # longer evidence, such as pytest's own output


class UsageError(FlakehoundError):
    """The options or arguments are wrong or contradict each other."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedStep:
    """Why an optional step could not be done; the work goes on without it."""

    what: str


def attempt(step: Callable[[], Result]) -> Result | FailedStep:
    """Execute an optional step; returns its result, or the error that prevented it."""
    try:
        return step()
    except FlakehoundError as error:
        return FailedStep(what=error.what)
