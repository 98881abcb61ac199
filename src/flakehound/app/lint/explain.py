"""Explain lint rules to the user."""

from __future__ import annotations

import difflib

from flakehound.core.errors import UsageError
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules.registry import all_rules


def explain_rules(name: str) -> str:
    """Explain the rules of this id, family or name, with examples."""
    matching = [rule for rule in all_rules() if rule.id.startswith(name.upper()) or rule.name == name]
    if not matching:
        raise unknown_rule(name)
    return "\n\n".join(_explanation(rule) for rule in matching)


def unknown_rule(name: str) -> UsageError:
    """The error about a rule that does not exist; it suggests the one with the most similar name."""
    known = [word for rule in all_rules() for word in (rule.id, rule.name)]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
    return UsageError(f"there is no rule {name!r}", remedy=f"flakehound lint --explain {nearest}")


def _explanation(rule: LintRule) -> str:
    bad, good = (_indent(example) for example in (rule.bad, rule.good))
    head = f"{rule.id} {rule.name}: {rule.title} (cause: {rule.cause.value})"
    return f"{head}\n\n{rule.why}\n\nBad:\n{bad}\n\nGood:\n{good}\n\n{rule.fix}"


def _indent(example: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in example.strip().splitlines())
