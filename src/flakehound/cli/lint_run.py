"""Read a project, ask the rules, and keep what the user wants to hear."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from flakehound.cli.lint_work import FORMAT, metrics_on, remarks_on
from flakehound.cli.linting import Scan, Work, scan
from flakehound.cli.remedies import again
from flakehound.core.errors import UsageError
from flakehound.core.outcomes import NodeId
from flakehound.core.predictions import Linted, Prediction, Remark, RuleText, Unread
from flakehound.core.verdicts import Cause
from flakehound.engine.changed_files import changed_files
from flakehound.engine.git import NoRepository, open_repository
from flakehound.engine.revisions import NoSuchRevision
from flakehound.lint import baseline
from flakehound.lint.findings import Finding, Rule
from flakehound.lint.metrics.table import COLUMNS
from flakehound.lint.rules.registry import all_rules
from flakehound.lint.score import score
from flakehound.lint.suppression import Selection, selection_from


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the user wants to know, and of which tests."""

    paths: tuple[str, ...]
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    since: str | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    processes: int | None = None
    cached: bool = True


def linted(question: Question) -> Linted:
    """What the rules say about the tests asked for."""
    found = _scanned(question, remarks_on, f"rules {FORMAT}")
    selection = _selection(question, found.layout.rootdir)
    tests = _tests(found)
    if question.since is not None:
        changed = _changed(found.layout.rootdir, question.since)
        tests = [test for test in tests if _is_in(test, changed)]
    findings = {test["id"]: _findings(test, selection) for test in tests}
    told = _without_known(findings, question)
    return Linted(
        predictions=[_prediction(test, findings[test["id"]], told) for test in tests],
        rules={rule.id: _text(rule) for rule in all_rules()},
        unread=[Unread(path=one.path, line=one.line or 1, reason=one.reason) for one in found.unparsable],
        baselined=sum(map(len, findings.values())) - len(told),
        suppressed=sum(test["suppressed"] for test in tests),
    )


def _findings(test: dict[str, Any], selection: Selection) -> list[Finding]:
    found = [
        Finding(**{**one, "cause": Cause(one["cause"]), "via": tuple(one["via"])}) for one in test["findings"]
    ]
    return [finding for finding in found if selection.wants(finding.rule, finding.path)]


def _without_known(findings: Mapping[str, Sequence[Finding]], question: Question) -> set[int]:
    """Identities of the findings that no baseline holds."""
    every = [finding for found in findings.values() for finding in found]
    if question.write_baseline is not None:
        _write(question.write_baseline, baseline.written(every), "write_baseline")
    if question.baseline is None:
        return set(map(id, every))
    try:
        known = baseline.read(question.baseline.read_text(encoding="utf-8"), str(question.baseline))
    except OSError as problem:
        remedy = again(baseline=None, write_baseline=question.baseline)
        raise UsageError(f"cannot read {str(question.baseline)!r}: {problem.strerror}", remedy=remedy) from problem
    return set(map(id, baseline.new(every, known)))


def _prediction(test: dict[str, Any], found: Sequence[Finding], told: Collection[int]) -> Prediction:
    return Prediction(
        id=NodeId(test["id"]),
        path=test["path"],
        line=test["line"],
        score=score(found, SimpleNamespace(**test["sizes"])),
        remarks=tuple(_remark(finding) for finding in found if id(finding) in told),
    )


def _remark(finding: Finding) -> Remark:
    return Remark(
        rule=finding.rule,
        cause=finding.cause.value,
        path=finding.path,
        line=finding.line,
        column=finding.column,
        message=finding.message,
        fingerprint=baseline.fingerprint(finding),
    )


def _selection(question: Question, rootdir: Path) -> Selection:
    for given in (*question.select, *question.ignore):
        if not any(rule.id.startswith(given) for rule in all_rules()):
            raise _unknown(given)
    configured = selection_from(_settings(rootdir))
    return replace(
        configured,
        select=question.select or configured.select,
        ignore=(*configured.ignore, *question.ignore),
    )


def _settings(rootdir: Path) -> Mapping[str, object]:
    """`[tool.flakehound.lint]`; Python 3.10 cannot read TOML, and has the defaults."""
    file = rootdir / "pyproject.toml"
    if sys.version_info < (3, 11) or not file.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise UsageError(f"{str(file)!r} cannot be read: {fault}", remedy="pytest --collect-only -q") from fault
    return dict(table.get("tool", {}).get("flakehound", {}).get("lint", {}))


def written_metrics(question: Question, path: Path) -> None:
    """Write the metrics of the tests asked for."""
    found = _scanned(question, metrics_on, f"metrics {FORMAT}")
    sheet = io.StringIO(newline="")
    writer = csv.DictWriter(sheet, COLUMNS)
    writer.writeheader()
    writer.writerows(_tests(found))
    _write(path, sheet.getvalue(), "metrics")


def _write(path: Path, text: str, option: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        other = again(**{option: path.name if path.name else "lint.out"})
        raise UsageError(f"cannot write {str(path)!r}: {problem.strerror}", remedy=other) from problem


def _scanned(question: Question, work: Work, about: str) -> Scan:
    return scan(question.paths, work=work, about=about, processes=question.processes, cached=question.cached)


def _tests(found: Scan) -> list[dict[str, Any]]:
    wanted = found.layout.wanted
    tests = [test for answer in found.answers.values() for test in answer]
    if not wanted:
        return tests
    return [test for test in tests if any(test["id"] == w or test["id"].startswith(f"{w}::") for w in wanted)]


def _is_meant(rule: Rule, given: str) -> bool:
    return rule.id.startswith(given.upper()) or rule.name == given


def _unknown(given: str) -> UsageError:
    import difflib

    known = [word for rule in all_rules() for word in (rule.id, rule.name)]
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.0)[0]
    return UsageError(f"there is no rule {given!r}", remedy=f"flakehound lint --explain {near}")


def explained(given: str) -> str:
    """What a rule means, with its examples."""
    meant = [rule for rule in all_rules() if _is_meant(rule, given)]
    if not meant:
        raise _unknown(given)
    return "\n\n".join(_page(rule) for rule in meant)


def _page(rule: Rule) -> str:
    bad, good = (_indented(example) for example in (rule.bad, rule.good))
    head = f"{rule.id} {rule.name}: {rule.title} (cause: {rule.cause.value})"
    return f"{head}\n\n{rule.why}\n\nBad:\n{bad}\n\nGood:\n{good}\n\n{rule.fix}"


def _indented(example: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in example.strip().splitlines())


def _text(rule: Rule) -> RuleText:
    return RuleText(id=rule.id, name=rule.name, title=rule.title, why=rule.why, fix=rule.fix)


def _changed(rootdir: Path, since: str) -> set[str]:
    """The files below the rootdir that changed, as node ids name them."""
    repository = open_repository(rootdir)
    if isinstance(repository, NoRepository):
        raise UsageError(f"--changed-since needs git: {repository.why}", remedy=again(changed_since=None))
    commit = repository.commit(since)
    if commit is None:
        raise NoSuchRevision(repository, since)
    told = changed_files(repository, repository.merge_base(commit) or commit)
    below = rootdir.resolve().relative_to(repository.top).as_posix()
    start = "" if below == "." else f"{below}/"
    return {file.path.removeprefix(start) for file in told.files if file.path.startswith(start)}


def _is_in(test: dict[str, Any], changed: Collection[str]) -> bool:
    return test["path"] in changed or any(finding["path"] in changed for finding in test["findings"])
