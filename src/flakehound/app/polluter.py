"""Search the polluter of one test, with nothing started that the search does not need."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flakehound.core.errors import UsageError, same_command
from flakehound.core.plans import Isolation
from flakehound.engine.processes.handshake import pytest_command
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

if TYPE_CHECKING:
    from flakehound.core.verdicts import Verdict


def blame(
    target: Target,
    test: str,
    *,
    jobs: int,
    isolation: Isolation | None,
    seed: int,
    test_limit_s: float | None = None,
) -> tuple[Verdict, str]:
    """What other tests do to one test, and the suite's rootdir."""
    opened = open_suite(
        target,
        jobs=jobs,
        isolation=isolation,
        hash_seed=seed % 4294967295,
        limits=Limits(),
        with_reference=False,
        meanwhile=_import_the_search,
    )
    try:
        if test not in opened.suite.order:
            raise _unknown(test, opened.suite.order, target)
        from flakehound.app.suspect_search import search

        return search(opened, test, jobs=jobs, seed=seed, test_limit_s=test_limit_s), opened.handshake.rootdir
    finally:
        opened.close()


def _import_the_search() -> None:
    # While pytest collects in another process, this costs nobody any time.
    importlib.import_module("flakehound.app.suspect_search")


def _unknown(test: str, known: Sequence[str], target: Target) -> UsageError:
    import difflib

    near = difflib.get_close_matches(test, known, n=3, cutoff=0.3)
    remedy = same_command(test=near[0]) if near else pytest_command(target, "--collect-only", "-q")
    return UsageError(f"the suite has no test {test!r}", remedy=remedy, detail="\n".join(near))
