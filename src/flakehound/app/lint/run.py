"""Lint a project: analyse its tests, score them, and select what is reported."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.lint.cache import AnswerCodec
from flakehound.app.lint.default_view import with_default_view
from flakehound.app.lint.files import ScanResult, scan
from flakehound.app.lint.scoring import MODEL, FlakinessScore, LintScorer, scorer_for
from flakehound.app.lint.selection import cases_changed_since, cases_with_prefix, rule_selection
from flakehound.app.lint.unseen import command_for_unseen, unseen_tests
from flakehound.app.output_files import write_output
from flakehound.app.progress import SILENT, Progress
from flakehound.core.errors import UsageError, same_command
from flakehound.core.outcomes import NodeId
from flakehound.core.predictions import LintFinding, LintResult, Prediction, RuleText, UnreadFile, remarks_of
from flakehound.lint import baseline
from flakehound.lint.analyse import CaseAnalysis, analyse_file
from flakehound.lint.encoding import FORMAT, decode_analyses, encode_analyses
from flakehound.lint.metrics.table import COLUMNS
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules.registry import all_rules
from flakehound.lint.suppression import RuleSelection

_CODEC = AnswerCodec(name=f"rules and metrics {FORMAT}", encode=encode_analyses, decode=decode_analyses)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintOptions:
    """Validated options of one `flakehound lint`."""

    # Files, folders and tests, as pytest takes them; () are those that the project configures.
    paths: tuple[str, ...] = ()
    cwd: Path | None = None  # the folder that pytest would be started in; None: the current one
    override: tuple[str, ...] = ()  # pytest's options, as NAME=VALUE
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    changed_since: str | None = None  # a git revision
    baseline: Path | None = None
    write_baseline: Path | None = None
    metrics: Path | None = None  # the CSV file to write
    processes: int | None = None  # None: as many as cores
    cached: bool = True
    score: str = MODEL  # or RULES
    show_all: bool = False  # also remarks that are hidden by default


def lint_project(
    options: LintOptions, scorer: LintScorer | None = None, *, progress: Progress = SILENT
) -> LintResult:
    """Lint the tests of a project; `scorer` replaces the one that the options name."""
    scanned = _analyse(options, progress)
    rootdir = scanned.layout.rootdir
    selection = rule_selection(rootdir, options.select, options.ignore)
    scorer = scorer or scorer_for(rootdir, options.score)
    cases = all_cases(scanned)
    findings = {case.row.test_id: _selected_findings(case, selection) for case in cases}
    scores = _scores(cases, findings, scorer)
    cases = cases_changed_since(
        cases_with_prefix(cases, scanned.layout.id_prefixes), rootdir, options.changed_since
    )
    if options.metrics is not None:
        write_output(options.metrics, _metrics_csv(cases), "metrics")
    unseen = unseen_tests(scanned.layout, findings.keys(), scanned.read_paths)
    reported = [finding for case_id in _distinct_ids(cases) for finding in findings[case_id]]
    new = _not_in_baseline(reported, options)
    predictions = tuple(_prediction(case, scores, findings, new) for case in cases)
    remarks = remarks_of(predictions)
    return LintResult(
        predictions=predictions,
        remarks=remarks if options.show_all else with_default_view(remarks, len(predictions), options.select),
        rules={rule.id: _rule_text(rule) for rule in all_rules()},
        unread=_unread_files(scanned),
        unseen=unseen,
        command_for_unseen=command_for_unseen(scanned.layout, unseen),
        tests_read=len(findings),
        baselined=_places(reported) - _places(new),
        suppressed=sum(case.suppressed for case in cases),
        score_from=scorer.source,
        model=scorer.name,
    )


def _analyse(options: LintOptions, progress: Progress) -> ScanResult[tuple[CaseAnalysis, ...]]:
    return analyse_project(
        options.paths,
        cwd=options.cwd,
        overrides=options.override,
        processes=options.processes,
        cached=options.cached,
        progress=progress,
    )


def _selected_findings(case: CaseAnalysis, selection: RuleSelection) -> list[LintFinding]:
    """The findings of selected rules; the settings for the test's file and for the finding's file count."""
    return [
        finding
        for finding in case.findings
        if selection.includes(finding.rule, finding.path) and selection.includes(finding.rule, case.row.path)
    ]


def analyse_project(
    paths: Sequence[str],
    *,
    cwd: Path | None = None,
    overrides: Sequence[str] = (),
    processes: int | None = None,
    cached: bool = True,
    progress: Progress = SILENT,
) -> ScanResult[tuple[CaseAnalysis, ...]]:
    """Analyse every test in the given files: findings, metrics and the other inputs of the score."""
    return scan(
        paths,
        analyse_file,
        codec=_CODEC if cached else None,
        cwd=cwd,
        overrides=overrides,
        processes=processes,
        progress=progress,
    )


def all_cases(scanned: ScanResult[tuple[CaseAnalysis, ...]]) -> Sequence[CaseAnalysis]:
    """The tests of all files, in pytest's order."""
    return [case for cases in scanned.answers.values() for case in cases]


def _distinct_ids(cases: Sequence[CaseAnalysis]) -> list[str]:
    return list(dict.fromkeys(case.row.test_id for case in cases))


def _scores(
    cases: Sequence[CaseAnalysis], findings: Mapping[str, Sequence[LintFinding]], scorer: LintScorer
) -> dict[str, FlakinessScore]:
    """The scores by test, also of tests that are not reported: a model uses all tests of a file."""
    ids = [case.row.test_id for case in cases]
    return dict(zip(ids, scorer.scores(cases, [findings[test_id] for test_id in ids]), strict=True))


def _metrics_csv(cases: Sequence[CaseAnalysis]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(case.row.cells() for case in cases)
    return text.getvalue()


def _not_in_baseline(findings: Sequence[LintFinding], options: LintOptions) -> frozenset[LintFinding]:
    """The findings that are not in the baseline; also writes the new baseline if an option says so."""
    if options.write_baseline is not None:
        write_output(options.write_baseline, baseline.baseline_text(findings), "write_baseline")
    if options.baseline is None:
        return frozenset(findings)
    try:
        known = baseline.parse_baseline(options.baseline.read_text(encoding="utf-8"), str(options.baseline))
    except OSError as problem:
        remedy = same_command(baseline=None, write_baseline=options.baseline)
        raise UsageError(f"cannot read {str(options.baseline)!r}: {problem.strerror}", remedy=remedy) from problem
    return frozenset(baseline.new_findings(findings, known))


def _unread_files(scanned: ScanResult[tuple[CaseAnalysis, ...]]) -> tuple[UnreadFile, ...]:
    return tuple(UnreadFile(path=bad.path, line=bad.line or 1, reason=bad.reason) for bad in scanned.unparsable)


def _places(findings: Iterable[LintFinding]) -> int:
    return len({(finding.rule, finding.path, finding.line) for finding in findings})


def _prediction(
    case: CaseAnalysis,
    scores: Mapping[str, FlakinessScore],
    findings: Mapping[str, Sequence[LintFinding]],
    new: frozenset[LintFinding],
) -> Prediction:
    row, score = case.row, scores[case.row.test_id]
    return Prediction(
        id=NodeId(row.test_id),
        path=row.path,
        line=row.line,
        score=score.flaky,
        nod=score.nod,
        order_dependent=score.order_dependent,
        why=score.why,
        linked_to=row.linked_to,
        linked_by=row.linked_by,
        findings=tuple(finding for finding in findings[row.test_id] if finding in new),
    )


def _rule_text(rule: LintRule) -> RuleText:
    return RuleText(id=rule.id, name=rule.name, title=rule.title, why=rule.why, fix=rule.fix, cause=rule.cause)
