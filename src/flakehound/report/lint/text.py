"""What lint prints: one line per remark, as compilers do, then what it amounts to."""

from __future__ import annotations

from collections import Counter

from flakehound.core.predictions import Linted
from flakehound.report.phrases import counted, percent

_MOST_TESTS = 10


def lint_text(linted: Linted) -> str:
    """`file:line:col rule message`, then the tests most likely to flake."""
    lines = [f"{r.path}:{r.line}:{r.column} {r.rule} {r.message}" for r in linted.remarks]
    lines += [f"{one.path}:{one.line}:1 not read: {one.reason}" for one in linted.unread]
    return "\n".join([*lines, *([""] if lines else []), *_likeliest(linted), *_sum(linted)])


def linked_line(linted: Linted) -> str:
    """How many tests are linked to the code they test, without which half of the metrics are empty."""
    ways = ", ".join(f"{number} by {way}" for way, number in sorted(linted.linked_by.items()))
    found = sum(linted.linked_by.values())
    share = f"{found} of {counted(len(linted.predictions), 'test')} ({percent(linted.linked_share)} %)"
    return f"{share} linked to the code they test{': ' if ways else ''}{ways}"


def _likeliest(linted: Linted) -> list[str]:
    found = linted.found
    if not found:
        return []
    lines = [f"Most likely to flake, by {_source(linted)}:"]
    for one in found[:_MOST_TESTS]:
        rules = ", ".join(dict.fromkeys(remark.rule for remark in one.remarks))
        lines.append(f"  {percent(one.score):>4} %  {one.id}  ({rules})")
        lines += [f"          {one.why}"] if one.why else []
    if len(found) > _MOST_TESTS:
        lines.append(f"  and {counted(len(found) - _MOST_TESTS, 'more test')}")
    return lines


def _source(linted: Linted) -> str:
    if linted.score_from == "rules":
        return "the weights of the rules"
    return "the default model" if linted.model == "default" else f"the model in {linted.model}"


def _sum(linted: Linted) -> list[str]:
    hidden = ((linted.baselined, "in the baseline"), (linted.suppressed, "suppressed"))
    more = "".join(f", {number} {where}" for number, where in hidden if number)
    with_remarks = f"{counted(len(linted.found), 'test')} with {counted(len(linted.remarks), 'remark')}"
    told = f"{counted(len(linted.predictions), 'test')} read: {with_remarks}{more}"
    return [told, *_most_frequent(linted), *_next(linted)]


def _most_frequent(linted: Linted) -> list[str]:
    rules = Counter(remark.rule for remark in linted.remarks)
    names = {rule: text.name for rule, text in linted.rules.items()}
    told = [f"{rule} {names.get(rule, '')} {times}" for rule, times in rules.most_common(3)]
    return [f"Most frequent: {', '.join(told)}"] if len(rules) > 1 else []


def _next(linted: Linted) -> list[str]:
    if not linted.remarks:
        return []
    return [f"Why, and how to fix it: flakehound lint --explain {linted.remarks[0].rule}"]
