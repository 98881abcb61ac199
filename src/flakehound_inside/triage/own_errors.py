"""Our own failures: one warning with the reason, then we stand aside."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Guard:
    """A `with` block that swallows what goes wrong inside it, except an interrupt of the user's."""

    def __init__(
        self, config: pytest.Config, words: str = "flakehound stands aside, pytest goes on without it"
    ) -> None:
        self._config = config
        self._words = words
        self.broken = False

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            return False
        self.stand_aside(error)
        return True

    def stand_aside(self, error: BaseException) -> None:
        """From now on do nothing; the first time, say why."""
        if not self.broken:
            self.broken = True
            self.warn("%s: %s" % (self._words, _told(error)))

    def warn(self, words: str) -> None:
        """A warning among pytest's own; not `warnings.warn`, which `-W error` would turn against the run."""
        warning = warnings.WarningMessage(pytest.PytestWarning(words), pytest.PytestWarning, __file__, 1, line="")
        self._config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": warning, "when": "runtest", "nodeid": "", "location": None}
        )


def _told(error: BaseException) -> str:
    name = type(error).__name__
    try:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_PACKAGE)]
        place = " (%s:%s)" % (os.path.basename(ours[-1].filename), ours[-1].lineno) if ours else ""
        return "%s: %s%s" % (name, error, place)
    except Exception:  # of an error that cannot be printed
        return name
