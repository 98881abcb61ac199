"""Join the words of a flakehound command for a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def flakehound_command(name: str, options: Iterable[str], arguments: Iterable[str] = ()) -> str:
    """A flakehound command; with `--` before the arguments if one of them starts with a dash."""
    positional = list(arguments)
    separator = ["--"] if any(word.startswith("-") for word in positional) else []
    return shlex.join(["flakehound", *name.split(), *options, *separator, *positional])
