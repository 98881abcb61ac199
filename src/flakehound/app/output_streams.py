"""Output whose reader may go away before we are done, as `head` does."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


class ReaderGone(Exception):
    """Nobody reads our output any more."""


@contextlib.contextmanager
def told_apart() -> Iterator[None]:
    """Give a broken pipe a name of its own: click would answer it with code 1, our "flaky tests found"."""
    try:
        yield
    except BrokenPipeError as broken:
        raise ReaderGone from broken


def fill_in_streams() -> None:
    """Let streams that were closed before we began (`2>&-`) lead nowhere: Python has none for them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def silence(stream: TextIO) -> None:
    """Let a stream lead nowhere from now on.

    What it still holds is flushed when Python ends, and a closed pipe would fail once more then.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
