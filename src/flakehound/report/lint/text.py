"""The result of lint as text: one line for each finding, as compilers print it, then a summary."""

from __future__ import annotations

from collections import Counter

from flakehound.core.predictions import LintResult
from flakehound.report.formatting import counted, percent

_MAX_TESTS_SHOWN = 10


def lint_text(result: LintResult) -> str:
    """The findings as `file:line:col rule message`, the tests most likely to flake, and totals."""
    lines = [
        f"{finding.path}:{finding.line}:{finding.column} {finding.rule} {finding.message}"
        for finding in result.findings
    ]
    lines += [f"{file.path}:{file.line}:1 not read: {file.reason}" for file in result.unread]
    return "\n".join([*lines, *([""] if lines else []), *_likely_flaky_tests(result), *_summary(result)])


def linked_line(result: LintResult) -> str:
    """How many tests are linked to the code they test; the others have only half of the metrics."""
    counts = ", ".join(f"{number} by {source}" for source, number in sorted(result.linked_by.items()))
    linked = sum(result.linked_by.values())
    share = f"{linked} of {counted(len(result.predictions), 'test')} ({percent(result.linked_share)} %)"
    return f"{share} linked to the code they test{': ' if counts else ''}{counts}"


def _likely_flaky_tests(result: LintResult) -> list[str]:
    flagged = result.flagged
    if not flagged:
        return []
    lines = [f"Most likely to flake, by {_score_source(result)}:"]
    for prediction in flagged[:_MAX_TESTS_SHOWN]:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in prediction.findings))
        lines.append(f"  {percent(prediction.score):>4} %  {prediction.id}  ({rules})")
        lines += [f"          {prediction.why}"] if prediction.why else []
    if len(flagged) > _MAX_TESTS_SHOWN:
        lines.append(f"  and {counted(len(flagged) - _MAX_TESTS_SHOWN, 'more test')}")
    return lines


def _score_source(result: LintResult) -> str:
    if result.score_from == "rules":
        return "the weights of the rules"
    return "the default model" if result.model == "default" else f"the model in {result.model}"


def _summary(result: LintResult) -> list[str]:
    hidden = ((result.baselined, "in the baseline"), (result.suppressed, "suppressed"))
    hidden_counts = "".join(f", {number} {where}" for number, where in hidden if number)
    flagged = f"{counted(len(result.flagged), 'test')} with {counted(len(result.findings), 'remark')}"
    totals = f"{counted(len(result.predictions), 'test')} read: {flagged}{hidden_counts}"
    return [totals, *_most_frequent(result), *_next_command(result)]


def _most_frequent(result: LintResult) -> list[str]:
    rules = Counter(finding.rule for finding in result.findings)
    names = {rule: text.name for rule, text in result.rules.items()}
    counts = [f"{rule} {names.get(rule, '')} {times}" for rule, times in rules.most_common(3)]
    return [f"Most frequent: {', '.join(counts)}"] if len(rules) > 1 else []


def _next_command(result: LintResult) -> list[str]:
    if not result.findings:
        return []
    return [f"Why, and how to fix it: flakehound lint --explain {result.findings[0].rule}"]
