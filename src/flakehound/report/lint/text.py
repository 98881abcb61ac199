"""The result of lint as text: a line for each remark, as compilers print it, the riskiest tests, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flakehound.core.predictions import HiddenBy, LintResult, Prediction, Remark, UnseenTests
from flakehound.report.formatting import counted, few, percent
from flakehound.report.lint.messages import message_with_tests

DEFAULT_TOP = 5
_MAX_IDS_SHOWN = 5
_MAX_PLACES_SHOWN = 3  # of classes or files that are not read
_REASONS_HIDDEN = {
    HiddenBy.RULE: "of rules that predict little",
    HiddenBy.PLACE: "at places that say little about a test",
    HiddenBy.LIMIT: "above one for 10 tests",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextView:
    """What the text report shows of a result."""

    top: int = DEFAULT_TOP  # how many of the riskiest tests
    min_risk: float = 0.0  # tests with a lower score are not listed
    verbose: bool = False  # whether to list tests that reach a remark


def lint_text(result: LintResult, view: TextView | None = None) -> str:
    """The remarks as `file:line:col rule message`, the riskiest tests, and totals."""
    view = view or TextView()
    lines = [line for remark in result.shown for line in _remark_lines(remark, view)]
    lines += [f"{file.path}:{file.line}:1 not read: {file.reason}" for file in result.unread]
    return "\n".join([*lines, *([""] if lines else []), *_riskiest_tests(result, view), *_summary(result)])


def linked_line(result: LintResult) -> str:
    """How many tests are linked to the code they test; the others have only half of the metrics."""
    counts = ", ".join(f"{number} by {source}" for source, number in sorted(result.linked_by.items()))
    linked = sum(result.linked_by.values())
    share = f"{linked} of {counted(len(result.predictions), 'test')} ({percent(result.linked_share)} %)"
    return f"{share} linked to the code they test{': ' if counts else ''}{counts}"


def _remark_lines(remark: Remark, view: TextView) -> Iterator[str]:
    finding = remark.finding
    yield f"{finding.path}:{finding.line}:{finding.column} {finding.rule} {message_with_tests(remark)}"
    if view.verbose:
        yield f"    {few(remark.tests, _MAX_IDS_SHOWN)}"


def _riskiest_tests(result: LintResult, view: TextView) -> list[str]:
    listed = [prediction for prediction in result.riskiest if prediction.score >= view.min_risk]
    if not listed or not view.top:
        return []
    lines = [f"Riskiest tests first, by {_score_source(result)}:"]
    for prediction in listed[: view.top]:
        lines += _lines_of_test(prediction)
    left = len(listed) - view.top
    return [*lines, f"  and {counted(left, 'more test')}: --top N lists N"] if left > 0 else lines


def _lines_of_test(prediction: Prediction) -> list[str]:
    rules = ", ".join(dict.fromkeys(finding.rule for finding in prediction.findings))
    line = f"  {percent(prediction.score):>4} %  {prediction.id}{f'  ({rules})' if rules else ''}"
    return [line, *([f"          {prediction.why}"] if prediction.why else [])]


def _score_source(result: LintResult) -> str:
    if result.score_from == "rules":
        return "the weights of the rules"
    return "the default model" if result.model == "default" else f"the model in {result.model}"


def _summary(result: LintResult) -> list[str]:
    left_out = ((result.baselined, "in the baseline"), (result.suppressed, "suppressed"))
    counts = "".join(f", {number} {where}" for number, where in left_out if number)
    tests = len({test for remark in result.shown for test in remark.tests})
    remarks = f"{counted(len(result.shown), 'remark')} about {counted(tests, 'test')}"
    totals = f"{counted(len(result.predictions), 'test')} read: {remarks}{counts}"
    return [totals, *_unseen(result), *_hidden(result.remarks), *_most_frequent(result), *_next_command(result)]


def _unseen(result: LintResult) -> list[str]:
    if not result.unseen:
        return [] if result.tests_read else ["No test was found: name the folder or the files with tests"]
    in_classes = [one for one in result.unseen if one.class_name]
    in_files = [one for one in result.unseen if not one.class_name]
    lines = [
        *_unseen_in(in_classes, "class", "classes", "python_classes"),
        *_unseen_in(in_files, "file", "files", "python_files"),
    ]
    return [*lines, f"If a plugin of pytest or another command runs them: {result.command_for_unseen}"]


def _unseen_in(unseen: Sequence[UnseenTests], one: str, several: str, option: str) -> list[str]:
    if not unseen:
        return []
    tests = counted(sum(found.tests for found in unseen), "test")
    kind = f"1 {one} whose name does" if len(unseen) == 1 else f"{len(unseen):,} {several} whose names do"
    places = few([f"{found.path}:{found.line} {found.class_name}".rstrip() for found in unseen], _MAX_PLACES_SHOWN)
    return [f"Not read: {tests} in {kind} not match {option}: {places}"]


def _hidden(remarks: Sequence[Remark]) -> list[str]:
    counts = Counter(remark.hidden_by for remark in remarks if remark.hidden_by is not None)
    if not counts:
        return []
    reasons = ", ".join(f"{counts[reason]:,} {text}" for reason, text in _REASONS_HIDDEN.items() if counts[reason])
    return [f"{counted(sum(counts.values()), 'more remark')} with --all: {reasons}"]


def _most_frequent(result: LintResult) -> list[str]:
    rules = Counter(remark.finding.rule for remark in result.shown)
    names = {rule: text.name for rule, text in result.rules.items()}
    counts = [f"{rule} {names.get(rule, '')} {times}" for rule, times in rules.most_common(3)]
    return [f"Most frequent: {', '.join(counts)}"] if len(rules) > 1 else []


def _next_command(result: LintResult) -> list[str]:
    if not result.shown:
        return []
    return [f"Why, and how to fix it: flakehound lint --explain {result.shown[0].finding.rule}"]
