"""Errors of flakehound itself: one warning with the reason, then pytest goes on without us."""

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
        self.occurred = False  # then whoever uses this does nothing more

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
        """A warning among pytest's own; not `warnings.warn`, which `-W error` would turn against the run."""
        warning = warnings.WarningMessage(
            pytest.PytestWarning(message), pytest.PytestWarning, __file__, 1, line=""
        )
        self._config.hook.pytest_warning_recorded.call_historic(
            kwargs={"warning_message": warning, "when": "runtest", "nodeid": "", "location": None}
        )


def _description_of(error: BaseException) -> str:
    name = type(error).__name__
    try:
        ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_PACKAGE)]
        place = " (%s:%s)" % (os.path.basename(ours[-1].filename), ours[-1].lineno) if ours else ""
        return "%s: %s%s" % (name, error, place)
    except Exception:  # of an error that cannot be printed
        return name
