"""The functions that `import flakehound` offers. They do the same as the commands and print nothing."""

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
from flakehound.app.sessions.default_paths import DEFAULT_STORE
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
    fresh: bool = False,
) -> HuntResult:
    """Find the flaky tests of the suite in a folder, as `flakehound hunt` does there with the same options.

    Without `budget`, `runs` and `shuffles` a hunt takes 10 minutes or 30 suite times, whichever is shorter. Runs
    are stored in `.flakehound` in that folder, unless `store` names another file. An interrupt (Ctrl-C) ends the
    hunt early and returns what is known so far, with `interrupted` set.
    """
    own_store = None if store is None else Path(store).absolute()
    suite = SuiteOptions(
        jobs=jobs, seed=seed, python=python, isolation=isolation, test_timeout=_duration_text(test_timeout)
    )
    options = replace(
        _options_in(_folder(path), replace(suite, pytest_args=tuple(pytest_args)), own_store, resume=resume),
        budget_s=None if budget is None else seconds_in(str(budget)),
        runs=runs,
        shuffles=shuffles,
        policy=PolicyOptions(policy=_checked(policy, POLICIES, "policy")),
        techniques=tuple(_checked(name, TECHNIQUES, "technique") for name in techniques),
        fresh=fresh,
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

    `files` are files, folders and node ids as pytest takes them, relative to that folder. Without any, pytest's
    settings in the project say where its tests are.
    """
    options = LintOptions(
        paths=tuple(os.fspath(file) for file in files),
        cwd=_folder(path),
        select=tuple(select),
        ignore=tuple(ignore),
        changed_since=changed_since,
        baseline=None if baseline is None else Path(baseline),
        score=_checked(score, (MODEL, RULES), "score"),
        processes=jobs,
        cached=cache,
    )
    return lint_project(options)


def read_report(path: AnyPath = ".") -> HuntResult:
    """Read the result of an earlier hunt from a file of `hunt --json`, a store, or a folder with a store.

    From a store the newest report is read. A report does not hold interpreter, pytest arguments and store: these
    fields have their defaults.
    """
    file = Path(path) / DEFAULT_STORE if os.path.isdir(path) else Path(path)
    if file.is_file() and not is_database(file):
        return result_from_json(file.read_text(encoding="utf-8"), str(file))
    with existing_store(file) as store:
        report = store.newest_report()
    if report is None:
        raise UsageError(f"there is no report of a hunt in {str(file)!r}", remedy="flakehound hunt")
    return result_from_json(report, str(file))


def _options_in(folder: Path, suite: SuiteOptions, own_store: Path | None, *, resume: bool) -> HuntOptions:
    if suite.jobs is not None and suite.jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {suite.jobs}")
    if suite.isolation is not None:
        _checked(suite.isolation, ("fork", "spawn"), "isolation")
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


def _duration_text(duration: Duration | None) -> str | None:
    return None if duration is None else str(duration)


def _checked(value: str, choices: Sequence[str], option: str) -> str:
    if value not in choices:
        raise UsageError(f"{value!r} is no {option}; known: {', '.join(choices)}")
    return value
