"""Groups of tests with something in common, for reports with more tests than anyone reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from flakehound.core.verdicts import Kind, Verdict
from flakehound.report.formatting import FLAKY_KINDS, counted

MAX_FLAKY_IN_FULL = 20
MAX_UNRESOLVED_IN_FULL = 10
_MAX_GROUPS = 4  # per list, of two lines each; the smallest ones are counted together


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGroup:
    """Tests of one kind with one thing in common."""

    in_common: str  # words that follow the number of tests
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTests:
    """The tests of a list that are shown one by one, and the groups of the others."""

    in_full: tuple[Verdict, ...]
    groups: tuple[VerdictGroup, ...]
    in_small_groups: int = 0  # tests that are in none of these groups


def flaky_selection(verdicts: Sequence[Verdict]) -> ShownTests:
    """The proven flaky tests; of many, the groups take turns, so that no polluter hides the others."""
    groups = _grouped(verdicts, _culprit_or_failure(verdicts))
    if len(verdicts) <= MAX_FLAKY_IN_FULL:
        return ShownTests(in_full=tuple(verdicts), groups=())
    by_turns = [one for turn in zip_longest(*(group.verdicts for group in groups)) for one in turn if one]
    shown = {verdict.id for verdict in by_turns[:MAX_FLAKY_IN_FULL]}
    rest = [verdict for verdict in verdicts if verdict.id not in shown]
    return _selection([one for one in verdicts if one.id in shown], _grouped(rest, _culprit_or_failure(verdicts)))


def unresolved_selection(verdicts: Sequence[Verdict]) -> ShownTests:
    """The unresolved tests: all of them if they are few, else only groups."""
    if len(verdicts) <= MAX_UNRESOLVED_IN_FULL:
        return ShownTests(in_full=tuple(verdicts), groups=())
    shared = _shared_failure(verdicts)
    return _selection([], _grouped(verdicts, lambda one: f"{reason_of(one)}{shared(one)}"))


def reason_of(verdict: Verdict) -> str:
    """Why nothing is proven, without the numbers that differ between tests."""
    sentence = verdict.evidence[0] if verdict.evidence else ""
    _counts, separator, reason = sentence.partition("; ")
    clauses = [reason] if separator else re.split(r"[:,] ", sentence)
    return next(
        (clause for clause in clauses if clause and not re.search(r"\d|::", clause)), "failed at least once"
    )


def group_line(group: VerdictGroup, *, more: bool) -> str:
    """The number of tests, their files, and what they have in common."""
    tests = counted(len(group.verdicts), "more test" if more else "test")
    return f"{tests} {_files_of(group.verdicts)}: {group.in_common}"


def _selection(in_full: Sequence[Verdict], groups: Sequence[VerdictGroup]) -> ShownTests:
    # A single group too many is shown: the line that would stand for it is as long.
    number = len(groups) if len(groups) <= _MAX_GROUPS + 1 else _MAX_GROUPS
    small = sum(len(group.verdicts) for group in groups[number:])
    return ShownTests(in_full=tuple(in_full), groups=tuple(groups[:number]), in_small_groups=small)


def _grouped(verdicts: Sequence[Verdict], in_common: Callable[[Verdict], str]) -> list[VerdictGroup]:
    """The largest groups first; equal ones in the order of a report."""
    found: dict[tuple[Hashable, str], list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.kind, in_common(verdict)), []).append(verdict)
    groups = [VerdictGroup(in_common=words, verdicts=tuple(tests)) for (_kind, words), tests in found.items()]
    kinds = [*FLAKY_KINDS, Kind.UNRESOLVED]
    return sorted(groups, key=lambda group: (-len(group.verdicts), kinds.index(group.verdicts[0].kind)))


def _culprit_or_failure(verdicts: Sequence[Verdict]) -> Callable[[Verdict], str]:
    shared = _shared_failure(verdicts)

    def in_common(verdict: Verdict) -> str:
        if verdict.polluters:
            return f"polluted by {verdict.polluters[0]}"
        if verdict.state_setters:
            return f"set up by {verdict.state_setters[0]}"
        return f"{verdict.kind.value}{shared(verdict)}"

    return in_common


def _shared_failure(verdicts: Sequence[Verdict]) -> Callable[[Verdict], str]:
    """Words about the most frequent failure of a test, empty unless another test has it too."""
    times = Counter(_main_failure(verdict) for verdict in verdicts)

    def words(verdict: Verdict) -> str:
        failure = _main_failure(verdict)
        return f", same failure {failure}" if failure and times[failure] > 1 else ""

    return words


def _main_failure(verdict: Verdict) -> str:
    return max(verdict.signatures, key=lambda signature: verdict.signatures[signature], default="")


def _files_of(verdicts: Sequence[Verdict]) -> str:
    """The file of the tests, or the number of their files."""
    files = {verdict.id.partition("::")[0] for verdict in verdicts}
    return f"in {min(files)}" if len(files) == 1 else f"in {counted(len(files), 'file')}"
