"""Select which rules and which tests a run of lint reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flakehound.app.lint.explain import unknown_rule
from flakehound.core.errors import UsageError, same_command
from flakehound.engine.git.changed_files import changed_files
from flakehound.engine.git.repository import NoRepository, open_repository
from flakehound.engine.git.revisions import NoSuchRevision
from flakehound.lint.analyse import CaseAnalysis
from flakehound.lint.collect.pytest_settings import MalformedSettings, parse_toml
from flakehound.lint.rules.registry import all_rules
from flakehound.lint.suppression import RuleSelection, selection_from


def rule_selection(rootdir: Path, select: tuple[str, ...], ignore: tuple[str, ...]) -> RuleSelection:
    """The rules that the options and the project's `pyproject.toml` select."""
    for name in (*select, *ignore):
        if not any(rule.id.startswith(name) for rule in all_rules()):
            raise unknown_rule(name)
    configured = selection_from(_lint_settings(rootdir))
    return replace(configured, select=select or configured.select, ignore=(*configured.ignore, *ignore))


def _lint_settings(rootdir: Path) -> Mapping[str, object]:
    """`[tool.flakehound.lint]` of the project; empty if there is none."""
    file = rootdir / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        table: object = parse_toml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, MalformedSettings) as error:
        raise UsageError(f"{str(file)!r} cannot be read: {error}", remedy="pytest --collect-only -q") from error
    for key in ("tool", "flakehound", "lint"):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    return table if isinstance(table, dict) else {}


def cases_with_prefix(cases: Sequence[CaseAnalysis], prefixes: Sequence[str]) -> Sequence[CaseAnalysis]:
    """The tests whose ids start with one of the prefixes; all tests without prefixes."""
    if not prefixes:
        return cases
    return [
        case for case in cases if any(f"{case.row.test_id}::".startswith(f"{prefix}::") for prefix in prefixes)
    ]


def cases_changed_since(cases: Sequence[CaseAnalysis], rootdir: Path, since: str | None) -> Sequence[CaseAnalysis]:
    """The tests in files that changed since a commit, or with a finding in such a file; all without a commit."""
    if since is None:
        return cases
    changed = _files_changed_since(rootdir, since)
    return [case for case in cases if _is_in_files(case, changed)]


def _is_in_files(case: CaseAnalysis, paths: Collection[str]) -> bool:
    return case.row.path in paths or any(finding.path in paths for finding in case.findings)


def _files_changed_since(rootdir: Path, since: str) -> set[str]:
    """The changed files below the rootdir, with paths relative to it."""
    repository = open_repository(rootdir)
    if isinstance(repository, NoRepository):
        raise UsageError(f"--changed-since needs git: {repository.why}", remedy=same_command(changed_since=None))
    commit = repository.commit(since)
    if commit is None:
        raise NoSuchRevision(repository, since)
    changes = changed_files(repository, repository.merge_base(commit) or commit)
    rootdir_in_repository = rootdir.resolve().relative_to(repository.top).as_posix()
    prefix = "" if rootdir_in_repository == "." else f"{rootdir_in_repository}/"
    return {file.path.removeprefix(prefix) for file in changes.files if file.path.startswith(prefix)}
