"""Find flaky pytest tests: which they are, of which kind, why, and how to make each fail again.

The public API, loaded when it is used:

    >>> import flakehound
    >>> result = flakehound.hunt("path/to/project", budget="10m")
    >>> [(verdict.id, verdict.kind.value) for verdict in result.flaky]

- `hunt()` runs a suite and returns a `HuntResult`, with a `Verdict` of one `Kind` for every test.
- `lint()` predicts flaky tests from their source and returns a `LintResult`.
- `read_report()` reads the `HuntResult` of an earlier hunt from its JSON report or from its store.
- `FlakehoundError` is the base class of every error that the caller can do something about.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flakehound.app.api import hunt, lint, read_report
    from flakehound.core.errors import FlakehoundError
    from flakehound.core.predictions import LintFinding, LintResult, Prediction
    from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay, Verdict
    from flakehound.report.hunt.result import HuntResult

__version__ = "0.1.0"

__all__ = [
    "Cause",
    "FlakehoundError",
    "HuntResult",
    "Kind",
    "LikelyCause",
    "LintFinding",
    "LintResult",
    "Prediction",
    "Replay",
    "Verdict",
    "__version__",
    "hunt",
    "lint",
    "read_report",
]

_MODULES = {
    "hunt": "flakehound.app.api",
    "lint": "flakehound.app.api",
    "read_report": "flakehound.app.api",
    "FlakehoundError": "flakehound.core.errors",
    "LintFinding": "flakehound.core.predictions",
    "LintResult": "flakehound.core.predictions",
    "Prediction": "flakehound.core.predictions",
    "Cause": "flakehound.core.verdicts",
    "Kind": "flakehound.core.verdicts",
    "LikelyCause": "flakehound.core.verdicts",
    "Replay": "flakehound.core.verdicts",
    "Verdict": "flakehound.core.verdicts",
    "HuntResult": "flakehound.report.hunt.result",
}


def __getattr__(name: str) -> Any:
    """Import what is public when it is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """This package, whose functions `hunt` and `lint` have the names of subpackages.

    Importing a subpackage sets it as an attribute of its parent, which would replace the function. Our own code
    imports from `flakehound.hunt.…` and `flakehound.lint.…` by their whole names, which needs no attribute.
    """

    @property
    def hunt(self) -> Any:
        return __getattr__("hunt")

    @hunt.setter
    def hunt(self, subpackage: ModuleType) -> None:
        """Leave the function in its place."""

    @property
    def lint(self) -> Any:
        return __getattr__("lint")

    @lint.setter
    def lint(self, subpackage: ModuleType) -> None:
        """Leave the function in its place."""


sys.modules[__name__].__class__ = _Package
