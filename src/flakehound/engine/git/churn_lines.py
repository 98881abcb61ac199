"""Follow every line of a file back through its changes, as `git log -L` follows one.

Pure. A line that a commit did not touch moves with what was inserted and deleted above it. A line that lies in a
changed hunk becomes, one commit earlier, all the lines that the hunk replaced: git follows those from there on.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

Range = tuple[int, int]  # first line and the one behind the last, counted from 0
ENDLESS = 1 << 60  # nobody needs to know how long a file is


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines that one commit put in place of others."""

    old: Range  # in the parent
    new: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What one commit did to one file."""

    old_path: str | None  # None: the commit made the file
    new_path: str
    hunks: tuple[Hunk, ...]  # ascending


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Neighbouring lines of today that are neighbours still, each untouched so far."""

    today: int  # the first one's number
    at: int  # where that line is in the version we have come to
    length: int

    @property
    def lines(self) -> range:
        """The lines of today."""
        return range(self.today, self.today + self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """Where the lines of one of today's files are in an earlier version of it."""

    path: str  # today
    runs: tuple[Run, ...] = ()
    # Ranges that stand for changed lines -> the lines of today that they became.
    groups: Mapping[tuple[Range, ...], frozenset[int]] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """Whether no line is that old."""
        return not self.runs and not self.groups

    def parted(self, hunks: Sequence[Hunk]) -> tuple[Trail, Trail]:
        """What the hunks leave alone, and the rest; both still where they are now."""
        pieces = [piece for run in self.runs for piece in _pieces(run, hunks)]
        touched = {
            ranges: lines
            for ranges, lines in self.groups.items()
            if any(_is_touched(ranges, hunk.new) for hunk in hunks)
        }
        calm = {ranges: lines for ranges, lines in self.groups.items() if ranges not in touched}
        return (
            Trail(path=self.path, runs=tuple(run for run, hunk in pieces if hunk is None), groups=calm),
            Trail(path=self.path, runs=tuple(run for run, hunk in pieces if hunk is not None), groups=touched),
        )

    def one_back(self, hunks: Sequence[Hunk]) -> Trail:
        """The same lines one commit earlier; lines that the commit added are gone."""
        found: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        runs: list[Run] = []
        for piece, hunk in chain.from_iterable(_pieces(run, hunks) for run in self.runs):
            if hunk is None:
                runs += _shifted(piece, hunks)
            elif hunk.old[0] < hunk.old[1]:
                found[(hunk.old,)].update(piece.lines)
        for ranges, lines in self.groups.items():
            earlier = _earlier(ranges, hunks)
            if earlier:
                found[earlier] |= lines
        groups = {ranges: frozenset(lines) for ranges, lines in found.items()}
        return Trail(path=self.path, runs=tuple(runs), groups=groups)

    def joined(self, other: Trail) -> Trail:
        """Both together: what came to this version along two branches."""
        ranges_of: dict[int, tuple[Range, ...]] = {}
        for ranges, lines in (*self.groups.items(), *other.groups.items()):
            for line in lines:
                ranges_of[line] = _united((*ranges_of.get(line, ()), *ranges))
        found: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        for line, ranges in ranges_of.items():
            found[ranges].add(line)
        groups = {ranges: frozenset(lines) for ranges, lines in found.items()}
        return Trail(path=self.path, runs=_in_order({*self.runs, *other.runs}), groups=groups)

    def count(self, counts: array[int]) -> None:
        """Add one to every line that is here; only for a part that a commit touched."""
        for lines in (*(run.lines for run in self.runs), *self.groups.values()):
            missing = max(lines, default=-1) + 1 - len(counts)
            counts.extend([0] * max(0, missing))
            for line in lines:
                counts[line] += 1


def _pieces(run: Run, hunks: Sequence[Hunk]) -> Iterator[tuple[Run, Hunk | None]]:
    """A run in parts, each with the hunk that it lies in; None: in no hunk."""
    place, end = run.at, run.at + run.length
    move = run.today - run.at
    for hunk in hunks:
        first, last = max(hunk.new[0], place), min(hunk.new[1], end)
        if first >= last:
            continue
        if first > place:
            yield Run(today=place + move, at=place, length=first - place), None
        yield Run(today=first + move, at=first, length=last - first), hunk
        place = last
    if place < end:
        yield Run(today=place + move, at=place, length=end - place), None


def _is_touched(ranges: Iterable[Range], new: Range) -> bool:
    # As in git: lines deleted between two lines of one range touch it, at its edge they do not.
    return any(begin < new[1] and new[0] < end for begin, end in ranges)


def _shifted(run: Run, hunks: Iterable[Hunk]) -> Iterator[Run]:
    """An untouched run where it was one commit earlier; split where lines were deleted between its own."""
    place, end = run.at, run.at + run.length
    move, offset = run.today - run.at, 0
    for hunk in hunks:
        if hunk.new[0] >= end:
            break
        if hunk.new[0] > place:
            yield Run(today=place + move, at=place + offset, length=hunk.new[0] - place)
            place = hunk.new[0]
        offset += (hunk.old[1] - hunk.old[0]) - (hunk.new[1] - hunk.new[0])
    if place < end:
        yield Run(today=place + move, at=place + offset, length=end - place)


def _earlier(ranges: tuple[Range, ...], hunks: Sequence[Hunk]) -> tuple[Range, ...]:
    touching = [hunk for hunk in hunks if _is_touched(ranges, hunk.new)]
    left = ranges
    for hunk in touching:
        left = tuple(_without(left, hunk.new))
    moved = [(begin + _offset(begin, hunks), end + _offset(begin, hunks)) for begin, end in left]
    return _united((*moved, *(hunk.old for hunk in touching)))


def _without(ranges: Iterable[Range], taken: Range) -> Iterable[Range]:
    for begin, end in ranges:
        if begin < min(end, taken[0]):
            yield begin, min(end, taken[0])
        if max(begin, taken[1]) < end:
            yield max(begin, taken[1]), end


def _offset(line: int, hunks: Iterable[Hunk]) -> int:
    return sum((hunk.old[1] - hunk.old[0]) - (hunk.new[1] - hunk.new[0]) for hunk in hunks if hunk.new[0] <= line)


def _united(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same lines in as few ranges as can be, ascending."""
    found: list[Range] = []
    for begin, end in sorted(ranges):
        if begin == end:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return tuple(found)


def _in_order(runs: Iterable[Run]) -> tuple[Run, ...]:
    return tuple(sorted(runs, key=lambda run: (run.at, run.today)))


Version = dict[str, tuple[Trail, ...]]
"""Path in some commit -> the trails of today's files that lead there."""
Counts = Mapping[str, "array[int]"]
"""Path today -> how often each line was changed."""


def beginning(paths: Iterable[str]) -> Version:
    """Today: every line is where it is."""
    return {path: (Trail(path=path, runs=(Run(today=0, at=0, length=ENDLESS),)),) for path in paths}


def merged(one: Version, other: Version) -> Version:
    """What two children of one commit found their way to."""
    both = dict(one)
    for path, trails in other.items():
        known = {trail.path: trail for trail in both.get(path, ())}
        for trail in trails:
            known[trail.path] = known[trail.path].joined(trail) if trail.path in known else trail
        both[path] = tuple(known.values())
    return both


def behind(version: Version, diffs: Sequence[Sequence[FileDiff]], counts: Counts | None) -> list[Version]:
    """The versions that a commit's parents have, given what differs from each of them.

    A line that is as it was in one parent is followed there only; one that differs from all of them was changed
    by this very commit, is counted, and is followed everywhere.
    """
    earlier: list[Version] = [{} for _parent in diffs]
    pending = version
    for number, found in enumerate(diffs):
        pending = _taken_over(pending, found, earlier[number])
    for trail in (trail for trails in pending.values() for trail in trails):
        if counts is not None:
            trail.count(counts[trail.path])
    for number, found in enumerate(diffs):
        for diff in found:
            if diff.new_path in pending and diff.old_path is not None:
                back = [trail.one_back(diff.hunks) for trail in pending[diff.new_path]]
                _put(earlier[number], diff.old_path, back)
    return earlier


def _taken_over(pending: Version, diffs: Iterable[FileDiff], earlier: Version) -> Version:
    """Hand to one parent what is there as it is here; the rest comes back."""
    by_path = {diff.new_path: diff for diff in diffs}
    left: Version = {}
    for path, trails in pending.items():
        diff = by_path.get(path)
        if diff is None:
            _put(earlier, path, trails)
            continue
        parted = [trail.parted(diff.hunks) for trail in trails]
        if diff.old_path is not None:
            _put(earlier, diff.old_path, [calm.one_back(diff.hunks) for calm, _rest in parted])
        _put(left, path, [rest for _calm, rest in parted])
    return left


def _put(version: Version, path: str, trails: Iterable[Trail]) -> None:
    lasting = tuple(trail for trail in trails if not trail.is_over)
    if lasting:
        version.update(merged({path: version[path]}, {path: lasting}) if path in version else {path: lasting})
