"""docs/reference/rules.md is generated: `FLAKEHOUND_WRITE_DOCS=1 pytest tests/lint/rules` writes it."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules.registry import all_rules

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rules.md"
INTRODUCTION = """# The rules of `flakehound lint`

Each rule finds one cause of flakiness in the source. A finding is a reason to look at the test, not a proof:
`benchmarks/lint_recall.py` measures how many known flaky tests have one. Calls into helpers, fixtures and the code
under test are followed two calls deep; such a finding says through which functions the test reaches it. Not every
finding is shown by default: see [what is shown](../guide/lint.md#what-is-shown).

Suppress a finding with a comment that gives the reason, at its line, at the line of the call in the test, or at
the line of the test:

```python
assert draw() < 1  # flakehound: ignore[FH101] seeded in conftest
```

A comment without a reason is itself a finding, FH001. For whole rules or files:

```toml
[tool.flakehound.lint]
select = ["FH"]
ignore = ["FH603"]
per-file-ignores = {"tests/slow/*" = ["FH3"]}
```
"""


def page() -> str:
    rules = all_rules()
    head = "| rule | name | cause | finds |\n|---|---|---|---|\n"
    table = head + "\n".join(_table_row(rule) for rule in rules)
    return "\n".join([INTRODUCTION, table, "", *(_section(rule) for rule in rules)])


def _table_row(rule: LintRule) -> str:
    return f"| [{rule.id}](#{_anchor(rule)}) | {rule.name} | {rule.cause.value} | {rule.title} |"


def _anchor(rule: LintRule) -> str:
    return f"{rule.id}-{rule.name}".lower()


def _section(rule: LintRule) -> str:
    return (
        f"## {rule.id} {rule.name}\n\n{rule.title}. Cause: `{rule.cause.value}`.\n\n"
        f"{_wrap(f'**Why it flakes.** {rule.why}')}\n\n"
        f"{_wrap(f'**How to fix it.** {rule.fix}')}\n\n"
        f"```python\n# found\n{rule.bad}```\n\n```python\n# not found\n{rule.good}```\n"
    )


def _wrap(paragraph: str) -> str:
    return textwrap.fill(paragraph, 119, break_long_words=False, break_on_hyphens=False)


def test_the_page_of_rules_is_up_to_date():
    if os.environ.get("FLAKEHOUND_WRITE_DOCS"):
        PAGE.write_text(page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == page()
