"""Draw the picture of the README: `python docs/take_picture.py` hunts the example suite in a real terminal.

The report is what a terminal of 116 columns receives, colours included; rich draws it as SVG.
"""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent
COLUMNS = 116
COMMAND = ["hunt", "--budget", "45s", "--seed", "3"]
LEAVE_OUT = ("note:",)


def main() -> None:
    """Hunt, and write docs/_static/hunt.svg."""
    from rich.console import Console
    from rich.text import Text

    lines = terminal_output(["flakehound", *COMMAND])
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(Text.from_ansi("$ flakehound hunt"))
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    svg = console.export_svg(title="flakehound hunt")
    # Without links to web fonts: the reader's own font is used.
    svg = "\n".join(line for line in svg.splitlines() if "url(" not in line or "clip-path" in line)
    (DOCS / "_static" / "hunt.svg").write_text(svg + "\n", encoding="utf-8")


def terminal_output(command: list[str]) -> list[str]:
    """What a command writes to its standard output if that is a terminal."""
    controller, terminal = pty.openpty()
    program = str(Path(sys.executable).parent / command[0])
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [program, *command[1:]],
        cwd=DOCS.parent / "examples" / "shaky",
        env=environment,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    ):
        os.close(terminal)
        received = b""
        while part := _read(controller):
            received += part
    lines = received.decode().replace("\r\n", "\n").splitlines()
    return [line for line in lines if not line.startswith(LEAVE_OUT)]


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the terminal is closed
        return b""


if __name__ == "__main__":
    main()
