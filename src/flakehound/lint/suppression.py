"""Which findings are not reported: comments in the source and the rules selected in `pyproject.toml` decide."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from flakehound.core.errors import UsageError
from flakehound.core.predictions import LintFinding

RULE_WITHOUT_REASON = "FH001"
_MARK = "flakehound: ignore"
_COMMENT = re.compile(r"#\s*flakehound:\s*ignore\[([^\]]*)\]\s*(.*)$")
_RULE_PREFIX = re.compile(r"^FH\d{0,3}$")
_TOKENS_WITHOUT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One comment `# flakehound: ignore[FH101] reason`."""

    line: int  # of the code it applies to
    rules: tuple[str, ...]
    reason: str  # "" where none is given

    def covers(self, rule: str) -> bool:
        """Whether the comment names the rule or its family, such as FH1."""
        return any(rule.startswith(prefix) for prefix in self.rules)


def suppressions_in(text: str) -> tuple[Suppression, ...]:
    """The suppression comments of a source file; one on its own line applies to the next line of code."""
    if _MARK not in text:
        return ()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return ()
    return tuple(_suppressions_in_tokens(tokens))


def _suppressions_in_tokens(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[Suppression]:
    pending: list[Suppression] = []
    for token in tokens:
        match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match:
            rules = tuple(rule.strip() for rule in match[1].split(",") if rule.strip())
            suppression = Suppression(line=token.start[0], rules=rules, reason=match[2].strip())
            if token.line[: token.start[1]].strip():
                yield suppression
            else:
                pending.append(suppression)
        elif pending and token.type not in _TOKENS_WITHOUT_CODE:
            yield from (replace(suppression, line=token.start[0]) for suppression in pending)
            pending = []


def without_suppressed(
    findings: Iterable[LintFinding], comments: Mapping[str, Sequence[Suppression]], case_path: str, case_line: int
) -> Iterator[LintFinding]:
    """The findings of a test that no comment suppresses: at the line of the finding, of its call, or of the test.

    A comment without a reason replaces the finding by a finding about the comment.
    """
    for finding in findings:
        suppression = _matching_comment(finding, comments, case_path, case_line)
        if suppression is None:
            yield finding
        elif not suppression.reason:
            message = f"{finding.rule} is ignored without a reason; write one behind the bracket"
            yield replace(finding, rule=RULE_WITHOUT_REASON, message=message, weak="")


def _matching_comment(
    finding: LintFinding, comments: Mapping[str, Sequence[Suppression]], case_path: str, case_line: int
) -> Suppression | None:
    places = {(finding.path, finding.line), (finding.call_path, finding.call_line), (case_path, case_line)}
    for path in {place[0] for place in places}:
        for suppression in comments.get(path, ()):
            if (path, suppression.line) in places and suppression.covers(finding.rule):
                return suppression
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSelection:
    """Which rules are reported for which files; `FH1` stands for all rules whose ids start with it."""

    select: tuple[str, ...] = ("FH",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # glob of paths -> rules

    def includes(self, rule: str, path: str) -> bool:
        """Whether a rule's findings in a file are reported; the longest matching prefix decides."""
        ignored = [
            *self.ignore,
            *(prefix for glob, rules in self.per_file_ignores.items() if _matches(path, glob) for prefix in rules),
        ]
        return _longest_match(rule, self.select) > _longest_match(rule, ignored)


def _matches(path: str, glob: str) -> bool:
    return fnmatchcase(path, glob) or fnmatchcase(path.rpartition("/")[2], glob)


def _longest_match(rule: str, prefixes: Iterable[str]) -> int:
    return max((len(prefix) for prefix in prefixes if rule.startswith(prefix)), default=0)


class BadSelection(UsageError):
    """A setting in `[tool.flakehound.lint]` that is not valid."""

    def __init__(self, key: str, value: object) -> None:
        super().__init__(
            f"{key} = {value!r} in [tool.flakehound.lint] is not understood",
            detail='For example: select = ["FH"], ignore = ["FH603"], per-file-ignores = {"slow/*" = ["FH3"]}',
        )


def selection_from(settings: Mapping[str, object]) -> RuleSelection:
    """The rules that a parsed `[tool.flakehound.lint]` table selects; other keys are ignored."""
    defaults = RuleSelection()
    files = settings.get("per-file-ignores", {})
    if not isinstance(files, dict):
        raise BadSelection("per-file-ignores", files)
    return RuleSelection(
        select=_parse_rules("select", settings.get("select", list(defaults.select))),
        ignore=_parse_rules("ignore", settings.get("ignore", [])),
        per_file_ignores={str(glob): _parse_rules("per-file-ignores", rules) for glob, rules in files.items()},
    )


def _parse_rules(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(rule, str) and _RULE_PREFIX.match(rule) for rule in value
    ):
        raise BadSelection(key, value)
    return tuple(value)
