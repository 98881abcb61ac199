"""Find the polluter of one test. For speed, nothing is started or imported that the search does not need."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flakehound.app.progress import SILENT, Progress
from flakehound.core.errors import UsageError, same_command
from flakehound.core.plans import Isolation
from flakehound.engine.processes.handshake import pytest_command
from flakehound.engine.processes.launch import Target
from flakehound.engine.processes.limits import Limits
from flakehound.engine.suite.open_suite import open_suite

if TYPE_CHECKING:
    from flakehound.core.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PolluterSearch:
    """Which test to examine in which suite, and how to run it."""

    target: Target
    test: str
    jobs: int
    isolation: Isolation | None
    seed: int
    test_limit_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolluterResult:
    """What other tests do to one test."""

    verdict: Verdict
    plain_pytest: str | None  # the pytest command that makes it fail, None where there is none


def find_polluter(search: PolluterSearch, progress: Progress = SILENT) -> PolluterResult:
    """Run the test alone and after others until it is known which of them make it fail (or pass)."""
    target, test = search.target, search.test
    opened = open_suite(
        target,
        jobs=search.jobs,
        isolation=search.isolation,
        hash_seed=search.seed % 4294967295,
        limits=Limits(),
        with_reference=False,
        during_collection=_import_the_search,
    )
    try:
        if test not in opened.suite.order:
            raise _unknown_test(test, opened.suite.order, target)
        from flakehound.app.suspect_search import search_polluter

        verdict = search_polluter(
            opened,
            test,
            jobs=search.jobs,
            seed=search.seed,
            test_limit_s=search.test_limit_s,
            progress=progress,
        )
        plain = _plain_pytest(verdict, target, opened.handshake.rootdir)
        return PolluterResult(verdict=verdict, plain_pytest=plain)
    finally:
        opened.close()


def _plain_pytest(verdict: Verdict, target: Target, rootdir: str) -> str | None:
    from flakehound.report.commands import plain_pytest

    if verdict.replay is None:
        return None
    return plain_pytest(verdict.replay, target.python, target.pytest_args, cwd=str(target.cwd), rootdir=rootdir)


def _import_the_search() -> None:
    # This takes no extra time: pytest collects in another process meanwhile.
    importlib.import_module("flakehound.app.suspect_search")


def _unknown_test(test: str, order: Sequence[str], target: Target) -> UsageError:
    import difflib

    similar = difflib.get_close_matches(test, order, n=3, cutoff=0.3)
    remedy = same_command(test=similar[0]) if similar else pytest_command(target, "--collect-only", "-q")
    return UsageError(f"the suite has no test {test!r}", remedy=remedy, detail="\n".join(similar))
