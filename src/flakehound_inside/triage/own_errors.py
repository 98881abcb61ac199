"""Errors of flakehound itself: one warning with the reason, then pytest continues without flakehound."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class OwnErrors:
    """A `with` block that turns an exception inside it into a warning, except an interrupt by the user."""

    def __init__(
        self, config: pytest.Config, message: str = "flakehound stands aside, pytest goes on without it"
    ) -> None:
        self._config = config
        self._message = message
        self.occurred = False  # then its users do nothing more

    def __enter__(self) -> OwnErrors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            return False
        self.report(error)
        return True

    def report(self, error: BaseException) -> None:
        """Remember that an error occurred; warn of the first one."""
        if not self.occurred:
            self.occurred = True
            self.warn("%s: %s" % (self._message, _description_of(error)))

    def warn(self, message: str) -> None:
        """Add a warning to those of pytest; not with `warnings.warn`, which `-W error` would make an error."""
        warning = warnings.WarningMessage(
            pytest.PytestWarning(message), pytest.PytestWarning, __file__, 1, line=""
        )
        self._config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": warning, "when": "runtest", "nodeid": "", "location": None}
        )


def _description_of(error: BaseException) -> str:
    name = type(error).__name__
    try:
        own_frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_PACKAGE)]
        location = (
            " (%s:%s)" % (os.path.basename(own_frames[-1].filename), own_frames[-1].lineno) if own_frames else ""
        )
        return "%s: %s%s" % (name, error, location)
    except Exception:  # the error cannot be printed
        return name
