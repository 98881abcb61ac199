"""Show the progress of a long command: live on a terminal, elsewhere a line every 10 seconds."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from flakehound.app.output_streams import discard_output
from flakehound.app.progress import SILENT, Progress, RunState

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_PLAIN_INTERVAL_S = 10.0
_FIRST_PLAIN_LINE_S = 2.0  # something is to be seen within three seconds of the start
_LIVE_INTERVAL_S = 0.2
_BAR_WIDTH = 24


@contextmanager
def shown_progress(*, quiet: bool = False, only_live: bool = False) -> Iterator[Progress]:
    """The progress display of a command: a live display, plain lines, or none when `quiet`.

    With `only_live` there is no progress unless standard error is a terminal.
    """
    if quiet or (only_live and not is_live()):
        yield SILENT
    elif not is_live():
        yield PlainProgress()
    else:
        live = LiveProgress()
        try:
            yield live
        finally:
            live.clear()


def is_live() -> bool:
    """Whether standard error is a terminal that can redraw lines."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


class PlainProgress:
    """Prints messages at once and the state every 10 seconds, one line each; the first one soon."""

    def __init__(self) -> None:
        self._next_due = time.monotonic() + _FIRST_PLAIN_LINE_S
        self._has_reader = True

    def message(self, text: str) -> None:
        """Print one line."""
        if not self._has_reader:
            return
        try:
            click.echo(text, err=True)
        except BrokenPipeError:
            # The reader is gone (`2>&1 | head -1`); that must not end the hunt.
            self._has_reader = False
            discard_output(sys.stderr)

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Print the state if the last one was printed long ago."""
        if self._is_due():
            shown = state()
            self.message(f"{shown.stage}: {_details(shown)}")

    def show_state(self, state: Callable[[], str]) -> None:
        """Print the state if the last one was printed long ago."""
        if self._is_due():
            self.message(state())

    def show_steps(self, stage: str, done: int, total: int) -> None:
        """Print nothing: use cases with steps report their results as messages."""

    def clear(self) -> None:
        """Do nothing: lines stay."""

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now < self._next_due:
            return False
        self._next_due = now + _PLAIN_INTERVAL_S
        return True


class LiveProgress:
    """Draws stage, bar and time at the bottom of the terminal; messages scroll above them."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._last_shown = -math.inf

    def message(self, text: str) -> None:
        """Print one line above the bar."""
        from rich.text import Text

        # A Text, because rich would read `[...]` of a node id in a string as markup. Never wrapped, so that a
        # command can be pasted.
        self._console.print(Text(text), soft_wrap=True)

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Draw the state of the runs, a few times per second at most."""
        if self._is_due():
            shown = state()
            total_s = shown.spent_s + shown.left_s if math.isfinite(shown.left_s) else None
            self._draw(_bar(shown.stage, shown.spent_s, total_s, _time(shown), _runs(shown) + _found(shown)))

    def show_state(self, state: Callable[[], str]) -> None:
        """Draw what goes on, a few times per second at most."""
        if self._is_due():
            stage, _colon, amount = state().partition(": ")
            self._draw(_bar(stage, 0.0, None, amount))

    def show_steps(self, stage: str, done: int, total: int) -> None:
        """Draw how many steps are done, a few times per second at most, and always the last one."""
        if self._is_due() or done == total:
            self._draw(_bar(stage, done, total, f"{done} of {total}"))

    def clear(self) -> None:
        """Remove the bar from the terminal; a later state draws it again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last_shown < _LIVE_INTERVAL_S:
            return False
        self._last_shown = now
        return True

    def _draw(self, bar: RenderableType) -> None:
        from rich.live import Live

        if self._live is None:
            # No automatic refresh: its thread could hold a lock while the process forks.
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(bar, refresh=True)


def _bar(stage: str, done: float, total: float | None, amount: str, details: str = "") -> RenderableType:
    """One line of stage, bar and amount, and one of details, each cut where the terminal ends."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(padding=(0, 1))
    line.add_column(no_wrap=True, overflow="ellipsis")
    line.add_column(width=_BAR_WIDTH)
    line.add_column(no_wrap=True)
    bar = ProgressBar(total=total, completed=done, width=_BAR_WIDTH, pulse=total is None)
    line.add_row(Text(stage, style="bold cyan"), bar, Text(amount))
    return Group(line, Text(f"  {details}", style="dim", no_wrap=True, overflow="ellipsis")) if details else line


def _details(state: RunState) -> str:
    return f"{_runs(state)}, {_time(state)}{_found(state)}"


def _runs(state: RunState) -> str:
    if not state.processes:
        return "no other run has ended yet"
    return f"{state.processes} runs of {state.test_runs} tests"


def _time(state: RunState) -> str:
    is_limited = math.isfinite(state.left_s)
    return f"{state.left_s:.0f} s left" if is_limited else f"{state.spent_s:.0f} s spent"


def _found(state: RunState) -> str:
    return "" if state.found is None else f", found: {state.found or 'nothing yet'}"
