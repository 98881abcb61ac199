"""Handle standard streams that are closed, or whose reader ends before we do, as `head` does."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


class ReaderGone(Exception):
    """Nobody reads our output any more."""


@contextlib.contextmanager
def broken_pipe_as_reader_gone() -> Iterator[None]:
    """Raise `ReaderGone` for a broken pipe; click would exit with code 1, which means "flaky tests found"."""
    try:
        yield
    except BrokenPipeError as broken:
        raise ReaderGone from broken


def replace_closed_streams() -> None:
    """Connect standard streams that were closed before we started (`2>&-`) to the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def discard_output(stream: TextIO) -> None:
    """Connect a stream to the null device.

    Python flushes its streams when it exits, which would fail again for a closed pipe.
    """
    with contextlib.suppress(OSError, ValueError):
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)
