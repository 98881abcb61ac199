"""The functions that `import flakehound` offers; they do what the commands do, and print nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

from flakehound.app.hunt.options import HuntOptions, PolicyOptions, options_for_suite
from flakehound.app.hunt.run import run_hunt
from flakehound.app.lint.run import LintOptions, lint_project
from flakehound.app.lint.scoring import MODEL, RULES
from flakehound.app.sessions.places import DEFAULT_STORE
from flakehound.app.sessions.store_file import existing_store
from flakehound.app.sessions.suite_options import SuiteOptions
from flakehound.core.errors import UsageError
from flakehound.core.predictions import LintResult
from flakehound.engine.suite.budget import seconds_in
from flakehound.hunt.options import POLICIES, TECHNIQUES
from flakehound.report.hunt.from_json import result_from_json
from flakehound.report.hunt.result import HuntResult
from flakehound.store.opening import is_database

AnyPath: TypeAlias = "str | os.PathLike[str]"
Duration: TypeAlias = "float | str"
"""Seconds, or a text such as "90s", "10m" or "1h30m"."""


def hunt(
    path: AnyPath = ".",
    *,
    budget: Duration | None = None,
    runs: int | None = None,
    shuffles: int | None = None,
    pytest_args: Sequence[str] = (),
    policy: str = POLICIES[0],
    techniques: Sequence[str] = TECHNIQUES,
    jobs: int | None = None,
    seed: int | None = None,
    python: str | None = None,
    isolation: Literal["fork", "spawn"] | None = None,
    test_timeout: Duration | None = None,
    store: AnyPath | None = None,
    resume: bool = False,
) -> HuntResult:
    """Find the flaky tests of the suite in a folder, as `flakehound hunt` does there with the same options.

    Without `budget`, `runs` and `shuffles` a hunt takes 10 minutes or 30 suite times, whichever is shorter. Runs
    are stored in `.flakehound` in that folder, unless `store` names another file. An interrupt (Ctrl-C) ends the
    hunt early and returns what is known by then, with `interrupted` set.
    """
    own_store = None if store is None else Path(store).absolute()
    suite = SuiteOptions(
        jobs=jobs, seed=seed, python=python, isolation=isolation, test_timeout=_text(test_timeout)
    )
    options = replace(
        _options_in(_folder(path), replace(suite, pytest_args=tuple(pytest_args)), own_store, resume=resume),
        budget_s=None if budget is None else seconds_in(str(budget)),
        runs=runs,
        shuffles=shuffles,
        policy=PolicyOptions(policy=_known(policy, POLICIES, "policy")),
        techniques=tuple(_known(name, TECHNIQUES, "technique") for name in techniques),
    )
    return run_hunt(options)


def lint(
    path: AnyPath = ".",
    *,
    files: Sequence[AnyPath] = (),
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    changed_since: str | None = None,
    baseline: AnyPath | None = None,
    score: Literal["model", "rules"] = "model",
    jobs: int | None = None,
    cache: bool = True,
) -> LintResult:
    """Predict flaky tests from their source, as `flakehound lint` does in a folder; nothing is imported or run.

    `files` are files, folders and parts of files as pytest takes them, seen from that folder; without any, the
    project's settings of pytest say where its tests are.
    """
    options = LintOptions(
        paths=tuple(os.fspath(file) for file in files),
        cwd=_folder(path),
        select=tuple(select),
        ignore=tuple(ignore),
        changed_since=changed_since,
        baseline=None if baseline is None else Path(baseline),
        score=_known(score, (MODEL, RULES), "score"),
        processes=jobs,
        cached=cache,
    )
    return lint_project(options)


def read_report(path: AnyPath = ".") -> HuntResult:
    """The result of an earlier hunt: from a file of `hunt --json`, from a store, or from the store of a folder.

    Of a store it is the newest report. What a report does not hold (interpreter, pytest arguments, store) has its
    default.
    """
    place = Path(path) / DEFAULT_STORE if os.path.isdir(path) else Path(path)
    if place.is_file() and not is_database(place):
        return result_from_json(place.read_text(encoding="utf-8"), str(place))
    with existing_store(place) as store:
        report = store.newest_report()
    if report is None:
        raise UsageError(f"there is no report of a hunt in {str(place)!r}", remedy="flakehound hunt")
    return result_from_json(report, str(place))


def _options_in(folder: Path, suite: SuiteOptions, own_store: Path | None, *, resume: bool) -> HuntOptions:
    if suite.jobs is not None and suite.jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {suite.jobs}")
    if suite.isolation is not None:
        _known(suite.isolation, ("fork", "spawn"), "isolation")
    return options_for_suite(
        suite,
        own_store or folder / DEFAULT_STORE,
        shown_store=None if own_store is None else str(own_store),
        folder=folder,
        resume=resume,
    )


def _folder(path: AnyPath) -> Path:
    if not os.path.isdir(path):
        raise UsageError(f"{os.fspath(path)!r} is not a folder")
    return Path(path).resolve()


def _text(duration: Duration | None) -> str | None:
    return None if duration is None else str(duration)


def _known(value: str, values: Sequence[str], what: str) -> str:
    if value not in values:
        raise UsageError(f"{value!r} is no {what}; known: {', '.join(values)}")
    return value
