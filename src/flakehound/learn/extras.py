"""The libraries of the extras `learn` and `study`, and the error if one is not installed.

They are imported inside the functions that use them, so that all other commands start fast and work without them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from flakehound.core.errors import UsageError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    RandomGenerator: TypeAlias = Generator
else:
    Array = RandomGenerator = Any  # annotations must not import numpy

LEARN, STUDY = "learn", "study"
_EXTRA_OF = {
    "numpy": LEARN,
    "scipy": LEARN,
    "sklearn": LEARN,
    "imblearn": LEARN,
    "matplotlib": STUDY,
    "shap": STUDY,
    "statsmodels": STUDY,
}


class MissingExtra(UsageError):
    """A library of an extra is not installed."""

    def __init__(self, library: str) -> None:
        super().__init__(
            f"this needs {library}, which is not installed",
            remedy=f"python -m pip install 'flakehound[{_EXTRA_OF[library]}]'",
        )


@contextmanager
def requires_libraries(*names: str) -> Iterator[None]:
    """Raise `MissingExtra` before the block if one of these libraries is missing, or in it if another one is.

    Can also be used as a decorator: `@requires_libraries("numpy", "scipy")`.
    """
    check_installed(*names)
    try:
        yield
    except ModuleNotFoundError as missing:
        library = (missing.name or "").partition(".")[0]
        if library not in _EXTRA_OF:
            raise
        raise MissingExtra(library) from missing


def check_installed(*names: str) -> None:
    """Raise `MissingExtra` for the first library that is not installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise MissingExtra(name)
