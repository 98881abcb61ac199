"""Follow every line of a file back through its changes, as `git log -L` follows one.

Pure. A line that a commit did not touch moves by the lines inserted and deleted above it. A line in a changed hunk
corresponds, one commit earlier, to all the lines that the hunk replaced: git follows those from there on.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

Range = tuple[int, int]  # first line and the one after the last, counted from 0
UNLIMITED = 1 << 60  # the number of lines of a file does not matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Lines of a commit that replace lines of its parent."""

    old: Range  # in the parent
    new: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What one commit did to one file."""

    old_path: str | None  # None: the commit made the file
    new_path: str
    hunks: tuple[Hunk, ...]  # ascending


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBlock:
    """Successive lines of today's file that are successive in the examined version, too, and unchanged since."""

    today: int  # number of the first line in today's file
    at: int  # its number in the examined version
    length: int

    @property
    def lines(self) -> range:
        """The line numbers in today's file."""
        return range(self.today, self.today + self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePositions:
    """Where the lines of one of today's files are in an earlier version of it."""

    path: str  # of today's file
    blocks: tuple[LineBlock, ...] = ()
    # Ranges of the examined version -> the lines of today's file that they were changed into.
    groups: Mapping[tuple[Range, ...], frozenset[int]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the examined version has none of the lines."""
        return not self.blocks and not self.groups

    def split_by(self, hunks: Sequence[Hunk]) -> tuple[LinePositions, LinePositions]:
        """The lines that the hunks do not touch, and the rest, both in the examined version."""
        pieces = [piece for block in self.blocks for piece in _pieces(block, hunks)]
        touched = {
            ranges: lines
            for ranges, lines in self.groups.items()
            if any(_is_touched(ranges, hunk.new) for hunk in hunks)
        }
        untouched = {ranges: lines for ranges, lines in self.groups.items() if ranges not in touched}
        return (
            LinePositions(
                path=self.path, blocks=tuple(block for block, hunk in pieces if hunk is None), groups=untouched
            ),
            LinePositions(
                path=self.path, blocks=tuple(block for block, hunk in pieces if hunk is not None), groups=touched
            ),
        )

    def in_parent(self, hunks: Sequence[Hunk]) -> LinePositions:
        """The positions one commit earlier, without lines that the commit added."""
        found: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        blocks: list[LineBlock] = []
        for piece, hunk in chain.from_iterable(_pieces(block, hunks) for block in self.blocks):
            if hunk is None:
                blocks += _shifted(piece, hunks)
            elif hunk.old[0] < hunk.old[1]:
                found[(hunk.old,)].update(piece.lines)
        for ranges, lines in self.groups.items():
            earlier = _ranges_in_parent(ranges, hunks)
            if earlier:
                found[earlier] |= lines
        groups = {ranges: frozenset(lines) for ranges, lines in found.items()}
        return LinePositions(path=self.path, blocks=tuple(blocks), groups=groups)

    def merged_with(self, other: LinePositions) -> LinePositions:
        """The union of positions that were found along two branches of the history."""
        ranges_of: dict[int, tuple[Range, ...]] = {}
        for ranges, lines in (*self.groups.items(), *other.groups.items()):
            for line in lines:
                ranges_of[line] = _united((*ranges_of.get(line, ()), *ranges))
        found: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        for line, ranges in ranges_of.items():
            found[ranges].add(line)
        groups = {ranges: frozenset(lines) for ranges, lines in found.items()}
        return LinePositions(path=self.path, blocks=_in_order({*self.blocks, *other.blocks}), groups=groups)

    def count(self, counts: array[int]) -> None:
        """Add one change to every line; to be called for lines that a commit touched."""
        for lines in (*(block.lines for block in self.blocks), *self.groups.values()):
            missing = max(lines, default=-1) + 1 - len(counts)
            counts.extend([0] * max(0, missing))
            for line in lines:
                counts[line] += 1


def _pieces(block: LineBlock, hunks: Sequence[Hunk]) -> Iterator[tuple[LineBlock, Hunk | None]]:
    """A block split at the edges of hunks, each piece with the hunk that contains it; None: in no hunk."""
    place, end = block.at, block.at + block.length
    move = block.today - block.at
    for hunk in hunks:
        first, last = max(hunk.new[0], place), min(hunk.new[1], end)
        if first >= last:
            continue
        if first > place:
            yield LineBlock(today=place + move, at=place, length=first - place), None
        yield LineBlock(today=first + move, at=first, length=last - first), hunk
        place = last
    if place < end:
        yield LineBlock(today=place + move, at=place, length=end - place), None


def _is_touched(ranges: Iterable[Range], new: Range) -> bool:
    # As in git: lines deleted within a range touch it, lines deleted at its edge do not.
    return any(begin < new[1] and new[0] < end for begin, end in ranges)


def _shifted(block: LineBlock, hunks: Iterable[Hunk]) -> Iterator[LineBlock]:
    """An untouched block at its position one commit earlier, split where lines were deleted within it."""
    place, end = block.at, block.at + block.length
    move, offset = block.today - block.at, 0
    for hunk in hunks:
        if hunk.new[0] >= end:
            break
        if hunk.new[0] > place:
            yield LineBlock(today=place + move, at=place + offset, length=hunk.new[0] - place)
            place = hunk.new[0]
        offset += (hunk.old[1] - hunk.old[0]) - (hunk.new[1] - hunk.new[0])
    if place < end:
        yield LineBlock(today=place + move, at=place + offset, length=end - place)


def _ranges_in_parent(ranges: tuple[Range, ...], hunks: Sequence[Hunk]) -> tuple[Range, ...]:
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
    """The same lines in as few ranges as possible, ascending."""
    found: list[Range] = []
    for begin, end in sorted(ranges):
        if begin == end:
            continue
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return tuple(found)


def _in_order(blocks: Iterable[LineBlock]) -> tuple[LineBlock, ...]:
    return tuple(sorted(blocks, key=lambda block: (block.at, block.today)))


Version = dict[str, tuple[LinePositions, ...]]
"""Path in one commit -> the positions of lines of today's files there."""
Counts = Mapping[str, "array[int]"]
"""Path of today's file -> how often each line was changed."""


def initial_version(paths: Iterable[str]) -> Version:
    """The working tree, in which every line has its own position."""
    return {
        path: (LinePositions(path=path, blocks=(LineBlock(today=0, at=0, length=UNLIMITED),)),) for path in paths
    }


def merge_versions(one: Version, other: Version) -> Version:
    """The union of the positions that two children of one commit found in it."""
    both = dict(one)
    for path, positions in other.items():
        known = {one.path: one for one in both.get(path, ())}
        for found in positions:
            known[found.path] = known[found.path].merged_with(found) if found.path in known else found
        both[path] = tuple(known.values())
    return both


def parent_versions(version: Version, diffs: Sequence[Sequence[FileDiff]], counts: Counts | None) -> list[Version]:
    """The positions in each parent of a commit, given the differences from each of them.

    A line that equals the line of one parent is followed in that parent only; a line that differs from all parents
    was changed by this commit, is counted, and is followed in all of them.
    """
    earlier: list[Version] = [{} for _parent in diffs]
    pending = version
    for number, found in enumerate(diffs):
        pending = _hand_over_unchanged(pending, found, earlier[number])
    for changed in (one for positions in pending.values() for one in positions):
        if counts is not None:
            changed.count(counts[changed.path])
    for number, found in enumerate(diffs):
        for diff in found:
            if diff.new_path in pending and diff.old_path is not None:
                in_parent = [positions.in_parent(diff.hunks) for positions in pending[diff.new_path]]
                _add(earlier[number], diff.old_path, in_parent)
    return earlier


def _hand_over_unchanged(pending: Version, diffs: Iterable[FileDiff], earlier: Version) -> Version:
    """Add to one parent's version the lines that are unchanged there; returns the others."""
    by_path = {diff.new_path: diff for diff in diffs}
    left: Version = {}
    for path, positions in pending.items():
        diff = by_path.get(path)
        if diff is None:
            _add(earlier, path, positions)
            continue
        parts = [one.split_by(diff.hunks) for one in positions]
        if diff.old_path is not None:
            _add(earlier, diff.old_path, [untouched.in_parent(diff.hunks) for untouched, _touched in parts])
        _add(left, path, [touched for _untouched, touched in parts])
    return left


def _add(version: Version, path: str, positions: Iterable[LinePositions]) -> None:
    added = tuple(one for one in positions if not one.is_empty)
    if added:
        version.update(merge_versions({path: version[path]}, {path: added}) if path in version else {path: added})
