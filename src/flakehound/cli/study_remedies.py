"""Commands that errors of a study offer."""

from __future__ import annotations

from flakehound.cli import remedies


def again(**changed: object) -> str:
    """The study that runs now, with some parameters changed; None leaves one out."""
    command = remedies.again(**changed)
    words = command.split(" ", 2)
    return command if words[1] == "study" else " ".join(["flakehound", "study", *words[1:]])
