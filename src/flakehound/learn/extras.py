"""The libraries of the extras `learn` and `study`, imported only when something needs them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, TypeAlias

from flakehound.core.errors import UsageError

# Arrays of numpy. Any, because whoever checks our types need not have the extra.
Array: TypeAlias = Any

LEARN, STUDY = "learn", "study"
_EXTRA_OF = {
    "numpy": LEARN,
    "scipy": LEARN,
    "sklearn": LEARN,
    "imblearn": LEARN,
    "matplotlib": STUDY,
    "shap": STUDY,
    "statsmodels": STUDY,
    "scikit_posthocs": STUDY,
}


class MissingExtra(UsageError):
    """A library of an extra is not installed."""

    def __init__(self, library: str) -> None:
        extra = _EXTRA_OF[library.partition(".")[0]]
        super().__init__(
            f"this needs {library.partition('.')[0]}, which is not installed",
            remedy=f"python -m pip install 'flakehound[{extra}]'",
        )


def library(name: str) -> Any:
    """The module of that dotted name; an error that says how to install it where it is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _EXTRA_OF:
            raise
        raise MissingExtra(missing.name or name) from missing


def check_installed(*names: str) -> None:
    """Raise for the first library that is missing; better before long work than after it."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name)


def numpy() -> Any:
    """Numpy itself."""
    return library("numpy")
