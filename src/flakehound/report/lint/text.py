"""What lint prints: one line per finding, as compilers do, then a summary."""

from __future__ import annotations

from collections import Counter

from flakehound.core.predictions import LintResult
from flakehound.report.formatting import counted, percent

_MOST_TESTS = 10


def lint_text(result: LintResult) -> str:
    """`file:line:col rule message`, then the tests most likely to flake."""
    lines = [f"{r.path}:{r.line}:{r.column} {r.rule} {r.message}" for r in result.findings]
    lines += [f"{one.path}:{one.line}:1 not read: {one.reason}" for one in result.unread]
    return "\n".join([*lines, *([""] if lines else []), *_likeliest(result), *_sum(result)])


def linked_line(result: LintResult) -> str:
    """How many tests are linked to the code they test, without which half of the metrics are empty."""
    ways = ", ".join(f"{number} by {way}" for way, number in sorted(result.linked_by.items()))
    found = sum(result.linked_by.values())
    share = f"{found} of {counted(len(result.predictions), 'test')} ({percent(result.linked_share)} %)"
    return f"{share} linked to the code they test{': ' if ways else ''}{ways}"


def _likeliest(result: LintResult) -> list[str]:
    found = result.flagged
    if not found:
        return []
    lines = [f"Most likely to flake, by {_source(result)}:"]
    for one in found[:_MOST_TESTS]:
        rules = ", ".join(dict.fromkeys(finding.rule for finding in one.findings))
        lines.append(f"  {percent(one.score):>4} %  {one.id}  ({rules})")
        lines += [f"          {one.why}"] if one.why else []
    if len(found) > _MOST_TESTS:
        lines.append(f"  and {counted(len(found) - _MOST_TESTS, 'more test')}")
    return lines


def _source(result: LintResult) -> str:
    if result.score_from == "rules":
        return "the weights of the rules"
    return "the default model" if result.model == "default" else f"the model in {result.model}"


def _sum(result: LintResult) -> list[str]:
    hidden = ((result.baselined, "in the baseline"), (result.suppressed, "suppressed"))
    more = "".join(f", {number} {where}" for number, where in hidden if number)
    with_remarks = f"{counted(len(result.flagged), 'test')} with {counted(len(result.findings), 'remark')}"
    totals = f"{counted(len(result.predictions), 'test')} read: {with_remarks}{more}"
    return [totals, *_most_frequent(result), *_next(result)]


def _most_frequent(result: LintResult) -> list[str]:
    rules = Counter(finding.rule for finding in result.findings)
    names = {rule: text.name for rule, text in result.rules.items()}
    counts = [f"{rule} {names.get(rule, '')} {times}" for rule, times in rules.most_common(3)]
    return [f"Most frequent: {', '.join(counts)}"] if len(rules) > 1 else []


def _next(result: LintResult) -> list[str]:
    if not result.findings:
        return []
    return [f"Why, and how to fix it: flakehound lint --explain {result.findings[0].rule}"]
