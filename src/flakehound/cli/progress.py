"""Show how far a long command is: live on a terminal, a line now and then elsewhere."""

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

_PLAIN_EVERY_S = 20.0
_LIVE_EVERY_S = 0.2
_BAR_WIDTH = 24


@contextmanager
def shown_progress(*, quiet: bool = False, only_live: bool = False) -> Iterator[Progress]:
    """Where a command's use case reports to: a live display, plain lines, or nothing when `quiet`.

    `only_live` is for commands that print no progress where standard error is no terminal.
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
    """Whether standard error is a terminal on which lines can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


class PlainProgress:
    """Prints messages at once and the state of runs now and then, one line each."""

    def __init__(self) -> None:
        self._last_shown = time.monotonic()
        self._is_read = True

    def message(self, text: str) -> None:
        """Print one line."""
        if not self._is_read:
            return
        try:
            click.echo(text, err=True)
        except BrokenPipeError:
            # Nobody watches any more (`2>&1 | head -1`); that must not end the hunt.
            self._is_read = False
            discard_output(sys.stderr)

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Print the state if the last one was printed long ago."""
        now = time.monotonic()
        if now - self._last_shown >= _PLAIN_EVERY_S:
            self._last_shown = now
            shown = state()
            self.message(f"{shown.stage}: {_details(shown)}")

    def show_steps(self, stage: str, done: int, total: int) -> None:
        """Print nothing: use cases with steps report their results as messages."""

    def clear(self) -> None:
        """Do nothing: lines stay."""


class LiveProgress:
    """Draws stage, bar and time at the bottom of the terminal; messages scroll away above them."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._last_shown = -math.inf

    def message(self, text: str) -> None:
        """Print one line above the bar."""
        from rich.text import Text

        # Text and not a string: `[...]` of a node id is no markup. A command to paste must stay on its line.
        self._console.print(Text(text), soft_wrap=True)

    def show_runs(self, state: Callable[[], RunState]) -> None:
        """Draw the state of the runs, a few times per second at most."""
        if self._is_due():
            shown = state()
            total_s = shown.spent_s + shown.left_s if math.isfinite(shown.left_s) else None
            self._draw(_bar(shown.stage, shown.spent_s, total_s, _time(shown), _runs(shown) + _found(shown)))

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
        if now - self._last_shown < _LIVE_EVERY_S:
            return False
        self._last_shown = now
        return True

    def _draw(self, bar: RenderableType) -> None:
        from rich.live import Live

        if self._live is None:
            # Drawn only when told to: a thread that draws it could hold a lock while the process forks.
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
    return f"{state.processes} runs of {state.test_runs} tests"


def _time(state: RunState) -> str:
    is_limited = math.isfinite(state.left_s)
    return f"{state.left_s:.0f} s left" if is_limited else f"{state.spent_s:.0f} s spent"


def _found(state: RunState) -> str:
    return "" if state.found is None else f", found: {state.found or 'nothing yet'}"
