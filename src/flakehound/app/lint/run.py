"""Read a project, ask the rules, and keep what the user wants to hear."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flakehound.app.lint.files import Scan, scan
from flakehound.app.lint.scoring import MODEL, Opinion, Scorer, findings_in, scorer_for
from flakehound.app.output_files import write_json
from flakehound.core.errors import UsageError, same_command
from flakehound.core.outcomes import NodeId
from flakehound.core.predictions import Linted, Prediction, Remark, RuleText, Unread
from flakehound.engine.git.changed_files import changed_files
from flakehound.engine.git.repository import NoRepository, open_repository
from flakehound.engine.git.revisions import NoSuchRevision
from flakehound.lint import baseline
from flakehound.lint.analyse import FORMAT, remarks_on
from flakehound.lint.collect.pytest_settings import Malformed, toml_in
from flakehound.lint.findings import Finding, Rule
from flakehound.lint.metrics.table import COLUMNS
from flakehound.lint.rules.registry import all_rules
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
    metrics: Path | None = None  # where to write the table of metrics
    processes: int | None = None
    cached: bool = True
    score: str = MODEL  # or RULES


def linted(question: Question, scorer: Scorer | None = None) -> Linted:
    """What the rules say about the tests asked for; a scorer of one's own takes the place of the usual one."""
    found = all_remarks(question.paths, processes=question.processes, cached=question.cached)
    rootdir = found.layout.rootdir
    selection = _selection(question, rootdir)
    scorer = scorer or scorer_for(rootdir, question.score)
    every = [test for answer in found.answers.values() for test in answer]
    findings = {test["row"]["id"]: _findings(test, selection) for test in every}
    opinions = _opinions(every, findings, scorer)
    tests = _wanted(every, found)
    if question.since is not None:
        changed = _changed(rootdir, question.since)
        tests = [test for test in tests if _is_in(test, changed)]
    findings = {test["row"]["id"]: findings[test["row"]["id"]] for test in tests}
    if question.metrics is not None:
        write_json(question.metrics, _sheet(tests), "metrics")
    told = _without_known(findings, question)
    return Linted(
        predictions=[_prediction(test, findings[test["row"]["id"]], told, opinions) for test in tests],
        rules={rule.id: _text(rule) for rule in all_rules()},
        unread=[Unread(path=one.path, line=one.line or 1, reason=one.reason) for one in found.unparsable],
        baselined=sum(map(len, findings.values())) - len(told),
        suppressed=sum(test["suppressed"] for test in tests),
        score_from=scorer.source,
        model=scorer.name,
    )


def all_remarks(
    paths: Sequence[str], *, cwd: Path | None = None, processes: int | None = None, cached: bool = True
) -> Scan:
    """Metrics, findings and what is shared, for every test of the files asked for."""
    about = f"rules and metrics {FORMAT}"
    return scan(paths, work=remarks_on, about=about, cwd=cwd, processes=processes, cached=cached)


def _opinions(
    tests: Sequence[Mapping[str, Any]], findings: Mapping[str, Sequence[Finding]], scorer: Scorer
) -> dict[str, Opinion]:
    """On all tests, also those nobody asked for: a model looks at whole files."""
    ids = [test["row"]["id"] for test in tests]
    return dict(zip(ids, scorer.opinions(tests, [findings[one] for one in ids]), strict=True))


def _sheet(tests: Sequence[Mapping[str, Any]]) -> str:
    sheet = io.StringIO(newline="")
    writer = csv.DictWriter(sheet, COLUMNS)
    writer.writeheader()
    writer.writerows(test["row"] for test in tests)
    return sheet.getvalue()


def _findings(test: Mapping[str, Any], selection: Selection) -> list[Finding]:
    return [finding for finding in findings_in(test) if selection.wants(finding.rule, finding.path)]


def _without_known(findings: Mapping[str, Sequence[Finding]], question: Question) -> set[int]:
    """Identities of the findings that no baseline holds."""
    every = [finding for found in findings.values() for finding in found]
    if question.write_baseline is not None:
        write_json(question.write_baseline, baseline.written(every), "write_baseline")
    if question.baseline is None:
        return set(map(id, every))
    try:
        known = baseline.read(question.baseline.read_text(encoding="utf-8"), str(question.baseline))
    except OSError as problem:
        remedy = same_command(baseline=None, write_baseline=question.baseline)
        raise UsageError(f"cannot read {str(question.baseline)!r}: {problem.strerror}", remedy=remedy) from problem
    return set(map(id, baseline.new(every, known)))


def _prediction(
    test: Mapping[str, Any], found: Sequence[Finding], told: Collection[int], opinions: Mapping[str, Opinion]
) -> Prediction:
    row = test["row"]
    opinion = opinions[row["id"]]
    return Prediction(
        id=NodeId(row["id"]),
        path=row["path"],
        line=row["line"],
        score=opinion.flaky,
        nod=opinion.nod,
        order_dependent=opinion.order_dependent,
        why=opinion.why,
        linked_to=row["linked_to"],
        linked_by=row["linked_by"],
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
    """`[tool.flakehound.lint]` of the project; empty where there is none."""
    file = rootdir / "pyproject.toml"
    if not file.is_file():
        return {}
    try:
        found: object = toml_in(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, Malformed) as fault:
        raise UsageError(f"{str(file)!r} cannot be read: {fault}", remedy="pytest --collect-only -q") from fault
    for key in ("tool", "flakehound", "lint"):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _wanted(tests: list[dict[str, Any]], found: Scan) -> list[dict[str, Any]]:
    wanted = found.layout.wanted
    if not wanted:
        return tests
    return [test for test in tests if any(f"{test['row']['id']}::".startswith(f"{w}::") for w in wanted)]


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
    return RuleText(
        id=rule.id, name=rule.name, title=rule.title, why=rule.why, fix=rule.fix, cause=rule.cause.value
    )


def _changed(rootdir: Path, since: str) -> set[str]:
    """The files below the rootdir that changed, as node ids name them."""
    repository = open_repository(rootdir)
    if isinstance(repository, NoRepository):
        raise UsageError(f"--changed-since needs git: {repository.why}", remedy=same_command(changed_since=None))
    commit = repository.commit(since)
    if commit is None:
        raise NoSuchRevision(repository, since)
    told = changed_files(repository, repository.merge_base(commit) or commit)
    below = rootdir.resolve().relative_to(repository.top).as_posix()
    start = "" if below == "." else f"{below}/"
    return {file.path.removeprefix(start) for file in told.files if file.path.startswith(start)}


def _is_in(test: dict[str, Any], changed: Collection[str]) -> bool:
    return test["row"]["path"] in changed or any(finding["path"] in changed for finding in test["findings"])
