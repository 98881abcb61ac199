"""Find all rules by listing this package, and apply them to a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause
from flakehound.lint import rules
from flakehound.lint.facts.case_context import CaseContext
from flakehound.lint.rules._checks import FindersByReach, FunctionCheck, finders_of, finders_with_hits
from flakehound.lint.rules._rule import LintRule


@cache
def all_rules() -> tuple[LintRule, ...]:
    """Every rule, in the order of the ids."""
    names = [info.name for info in iter_modules(rules.__path__) if not info.name.startswith("_")]
    modules = [import_module(f"{rules.__name__}.{name}") for name in names if name != "registry"]
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: str(rule.id)))


# Ordered by frequency among 76 hand-labelled NOD tests (network 30, randomness 28, io 6, ...). Causes that cannot
# change the result of a test in an unchanged order come last.
_CAUSES_BY_FREQUENCY = (
    Cause.NETWORK,
    Cause.RANDOMNESS,
    Cause.IO,
    Cause.CONCURRENCY,
    Cause.TIME,
    Cause.ASYNC_WAIT,
    Cause.UNORDERED_COLLECTION,
    Cause.FLOATING_POINT,
    Cause.RESOURCE_LEAK,
    Cause.TEST_ORDER,
    Cause.ENVIRONMENT,
)
_RANK = {cause: rank for rank, cause in enumerate(_CAUSES_BY_FREQUENCY)}


def findings_of(context: CaseContext, chosen: Iterable[LintRule] | None = None) -> tuple[LintFinding, ...]:
    """The findings of all rules, or of the chosen ones, in a test: the likeliest cause first, then the nearest."""
    rules_used = rules_with_hits(context) if chosen is None else chosen
    found = [finding for rule in rules_used for finding in rule.findings(context)]
    return tuple(sorted(found, key=_order))


def rules_with_hits(context: CaseContext) -> Iterator[LintRule]:
    """The rules that may have a finding in a test.

    The signs of a function are computed once for all tests, so most rules need not be applied to most tests.
    """
    finders = finders_with_hits(context, _all_finders())
    for rule in all_rules():
        if not isinstance(rule.check, FunctionCheck) or rule.check.find in finders:
            yield rule


@cache
def _all_finders() -> FindersByReach:
    return finders_of(rule.check for rule in all_rules())


def _order(finding: LintFinding) -> tuple[int, int, str, str, int]:
    return _RANK[finding.cause], len(finding.via), finding.rule, finding.path, finding.line
