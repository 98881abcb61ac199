"""What reruns leave in the process: objects that were not closed, exceptions of their finalizers and threads.

Where warnings are errors, pytest fails the next test, or the whole run, for such an exception. A failed test may
leave an open file in its traceback; its reruns leave more of them, for which no test of the user must fail.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterator

    import pytest

# Where pytest 8.4 and later store exceptions until the next phase of a test; earlier versions have no store.
_STORES = (("unraisableexception", "unraisable_exceptions"), ("threadexception", "thread_exceptions"))
_LAST_FAILURE = ("last_type", "last_value", "last_traceback", "last_exc")  # attributes of `sys`
_ROUNDS = 2  # a finalizer may leave garbage itself


@contextlib.contextmanager
def removed_leftovers(config: pytest.Config) -> Iterator[None]:
    """Remove what the block leaves behind; what was there before stays, for pytest to find it as without us."""
    stored_before = [(store, list(store)) for store in _stores_of(config)]
    for store, _exceptions in stored_before:
        store.clear()
    last_failure = {name: getattr(sys, name) for name in _LAST_FAILURE if hasattr(sys, name)}
    # Frozen objects are not collected: garbage of the user's tests stays where it is.
    freezes = hasattr(gc, "freeze") and not gc.get_freeze_count()
    if freezes:
        gc.freeze()
    try:
        yield
    finally:
        _restore(last_failure)
        _collect_garbage()
        if freezes:
            gc.unfreeze()
        for store, exceptions in stored_before:
            store.clear()
            store.extend(exceptions)


def _stores_of(config: pytest.Config) -> list[Any]:
    stash: Any = getattr(config, "stash", None)
    stores = []
    for module, name in _STORES:
        key = getattr(sys.modules.get("_pytest." + module), name, None)
        store = stash.get(key, None) if stash is not None and key is not None else None
        if hasattr(store, "extend") and hasattr(store, "clear"):
            stores.append(store)
    return stores


def _restore(last_failure: dict[str, Any]) -> None:
    for name in _LAST_FAILURE:
        if name in last_failure:
            setattr(sys, name, last_failure[name])
        elif hasattr(sys, name):
            delattr(sys, name)


def _collect_garbage() -> None:
    hook = sys.unraisablehook
    sys.unraisablehook = _ignore
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _round in range(_ROUNDS):
                gc.collect()
    finally:
        sys.unraisablehook = hook


def _ignore(_unraisable: object) -> None:
    """In place of the hook for exceptions of finalizers."""
