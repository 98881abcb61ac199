"""Check the file of the option `--plot`."""

from __future__ import annotations

from pathlib import Path

from flakehound.app.output_files import check_writable
from flakehound.core.errors import UsageError, same_command
from flakehound.learn.extras import requires_libraries


def check_plot(plot_file: Path | None) -> None:
    """Raise an error before the work starts if the plot could not be written after it."""
    if plot_file is None:
        return
    check_writable(plot_file, "plot_file")
    with requires_libraries("matplotlib"):
        from matplotlib.figure import Figure
    kinds = Figure().canvas.get_supported_filetypes()
    if plot_file.suffix and plot_file.suffix[1:].lower() not in kinds:
        raise UsageError(
            f"{str(plot_file)!r} has no known suffix of a picture; known: {', '.join(sorted(kinds))}",
            remedy=same_command(plot_file=plot_file.with_suffix(".png")),
        )
