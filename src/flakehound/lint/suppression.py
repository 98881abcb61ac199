"""Findings that are not reported: by comments in the source, and by the rules chosen in `pyproject.toml`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from flakehound.core.errors import UsageError
from flakehound.core.predictions import LintFinding

NO_REASON = "FH001"
_MARK = "flakehound: ignore"
_COMMENT = re.compile(r"#\s*flakehound:\s*ignore\[([^\]]*)\]\s*(.*)$")
_RULE = re.compile(r"^FH\d{0,3}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """One comment `# flakehound: ignore[FH101] reason`."""

    line: int  # of the code it applies to
    rules: tuple[str, ...]
    reason: str  # "" where none is given

    def covers(self, rule: str) -> bool:
        """Whether it names the rule, or a family such as FH1."""
        return any(rule.startswith(one) for one in self.rules)


def suppressions_in(text: str) -> tuple[Suppression, ...]:
    """The comments of a source file; one on a line of its own applies to the next line of code."""
    if _MARK not in text:
        return ()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return ()
    return tuple(_found(tokens))


def _found(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[Suppression]:
    waiting: list[Suppression] = []
    for token in tokens:
        match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
        if match:
            rules = tuple(one.strip() for one in match[1].split(",") if one.strip())
            found = Suppression(line=token.start[0], rules=rules, reason=match[2].strip())
            if token.line[: token.start[1]].strip():
                yield found
            else:
                waiting.append(found)
        elif waiting and token.type not in _BLANK:
            yield from (replace(one, line=token.start[0]) for one in waiting)
            waiting = []


_BLANK = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def without_suppressed(
    findings: Iterable[LintFinding], comments: Mapping[str, Sequence[Suppression]], case_path: str, case_line: int
) -> Iterator[LintFinding]:
    """A test's findings without those that a comment at their line, or at the test's own line, takes out.

    A comment without a reason turns the finding into one about itself.
    """
    for finding in findings:
        found = _matching_comment(finding, comments, case_path, case_line)
        if found is None:
            yield finding
        elif not found.reason:
            message = f"{finding.rule} is ignored without a reason; write one behind the bracket"
            yield replace(finding, rule=NO_REASON, message=message)


def _matching_comment(
    finding: LintFinding, comments: Mapping[str, Sequence[Suppression]], case_path: str, case_line: int
) -> Suppression | None:
    places = {(finding.path, finding.line), (case_path, case_line)}
    for path in {finding.path, case_path}:
        for one in comments.get(path, ()):
            if (path, one.line) in places and one.covers(finding.rule):
                return one
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSelection:
    """Which rules are reported for which files; `FH1` stands for all rules whose ids begin so."""

    select: tuple[str, ...] = ("FH",)
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by glob of the path

    def includes(self, rule: str, path: str) -> bool:
        """Whether a rule's findings in a file are reported; of two prefixes that match the longer one wins."""
        off = [
            *self.ignore,
            *(one for glob, rules in self.per_file_ignores.items() if _matches(path, glob) for one in rules),
        ]
        return _longest_match(rule, self.select) > _longest_match(rule, off)


def _matches(path: str, glob: str) -> bool:
    return fnmatchcase(path, glob) or fnmatchcase(path.rpartition("/")[2], glob)


def _longest_match(rule: str, beginnings: Iterable[str]) -> int:
    return max((len(one) for one in beginnings if rule.startswith(one)), default=0)


class BadSelection(UsageError):
    """A setting in `[tool.flakehound.lint]` that is not valid."""

    def __init__(self, key: str, value: object) -> None:
        super().__init__(
            f"{key} = {value!r} in [tool.flakehound.lint] is not understood",
            detail='For example: select = ["FH"], ignore = ["FH603"], per-file-ignores = {"slow/*" = ["FH3"]}',
        )


def selection_from(settings: Mapping[str, object]) -> RuleSelection:
    """The choice of rules in a parsed `[tool.flakehound.lint]` table; keys of other parts are left alone."""
    defaults = RuleSelection()
    files = settings.get("per-file-ignores", {})
    if not isinstance(files, dict):
        raise BadSelection("per-file-ignores", files)
    return RuleSelection(
        select=_rules("select", settings.get("select", list(defaults.select))),
        ignore=_rules("ignore", settings.get("ignore", [])),
        per_file_ignores={str(glob): _rules("per-file-ignores", rules) for glob, rules in files.items()},
    )


def _rules(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and _RULE.match(one) for one in value):
        raise BadSelection(key, value)
    return tuple(value)
