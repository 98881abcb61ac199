"""All rules, found by listing this package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause
from flakehound.lint import rules
from flakehound.lint.findings import Rule
from flakehound.lint.rules._context import Context, Looking, Looks, looks_of


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the ids."""
    names = [info.name for info in iter_modules(rules.__path__) if not info.name.startswith("_")]
    modules = [import_module(f"{rules.__name__}.{name}") for name in names if name != "registry"]
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: str(rule.id)))


# As often as 76 hand-labelled NOD tests had them (network 30, randomness 28, io 6, ...); what cannot make a test
# fail now and pass then in one and the same order comes last.
_LIKELIEST = (
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
_PLACE = {cause: place for place, cause in enumerate(_LIKELIEST)}


def findings_of(context: Context, chosen: Iterable[Rule] | None = None) -> tuple[LintFinding, ...]:
    """Everything the rules say about one test, the likeliest cause first, then what its own lines do."""
    rules_used = _speaking(context) if chosen is None else chosen
    found = [finding for rule in rules_used for finding in rule.findings(context)]
    return tuple(sorted(found, key=_order))


def _speaking(context: Context) -> Iterator[Rule]:
    """The rules that may have something to say; most functions are silent about most rules, and that is known."""
    loud = context.loud(_all_looks())
    for rule in all_rules():
        if not isinstance(rule.check, Looking) or rule.check.look in loud:
            yield rule


@cache
def _all_looks() -> Looks:
    return looks_of(rule.check for rule in all_rules())


def _order(finding: LintFinding) -> tuple[int, int, str, str, int]:
    return _PLACE[finding.cause], len(finding.via), finding.rule, finding.path, finding.line
