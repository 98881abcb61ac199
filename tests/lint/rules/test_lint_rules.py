"""Every rule on its own bad and good example, and on small samples of what it must and must not find."""

from __future__ import annotations

import pytest

from flakehound.lint.cases import cases_of
from flakehound.lint.findings import Finding
from flakehound.lint.project import Project
from flakehound.lint.rules._context import Memory
from flakehound.lint.rules._joining import context_of
from flakehound.lint.rules.registry import all_rules, findings_of

RULES = {rule.name: rule for rule in all_rules()}


def linted(*, rule: str = "", **files: str) -> list[Finding]:
    """Findings on the tests of a project of a few files, of one rule or of all."""
    project = Project({f"{name}.py": text.encode() for name, text in files.items()})
    memory = Memory()
    chosen = [RULES[rule]] if rule else None
    return [
        finding
        for module in project.test_modules()
        for case in cases_of(module, project.patterns, project)
        for finding in findings_of(context_of(case, project, memory), chosen)
    ]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_finds_its_own_bad_example(name):
    assert linted(rule=name, test_it=RULES[name].bad)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_leaves_its_own_good_example_alone(name):
    assert linted(rule=name, test_it=RULES[name].good) == []
