"""Follow every line of a file back through its changes, as `git log -L` follows one.

Pure. A line that a commit did not touch moves by the lines inserted and deleted above it. A line in a changed hunk
corresponds, one commit earlier, to all the lines that the hunk replaced, and git follows those.
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
    """Successive lines of the current file that are also successive in an earlier version, and unchanged since."""

    current_line: int  # number of the first line in the current file
    earlier_line: int  # its number in the earlier version
    length: int

    @property
    def lines(self) -> range:
        """The line numbers in the current file."""
        return range(self.current_line, self.current_line + self.length)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePositions:
    """Where the lines of a current file are in an earlier version of it."""

    path: str  # of the current file
    blocks: tuple[LineBlock, ...] = ()
    # Ranges of the earlier version, each with the lines of the current file that they became.
    groups: Mapping[tuple[Range, ...], frozenset[int]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the earlier version has none of the lines."""
        return not self.blocks and not self.groups

    def split_by(self, hunks: Sequence[Hunk]) -> tuple[LinePositions, LinePositions]:
        """The lines that the hunks do not touch, and the lines that they touch."""
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
        lines_by_ranges: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        blocks: list[LineBlock] = []
        for piece, hunk in chain.from_iterable(_pieces(block, hunks) for block in self.blocks):
            if hunk is None:
                blocks += _shift_block(piece, hunks)
            elif hunk.old[0] < hunk.old[1]:
                lines_by_ranges[(hunk.old,)].update(piece.lines)
        for ranges, lines in self.groups.items():
            earlier = _ranges_in_parent(ranges, hunks)
            if earlier:
                lines_by_ranges[earlier] |= lines
        groups = {ranges: frozenset(lines) for ranges, lines in lines_by_ranges.items()}
        return LinePositions(path=self.path, blocks=tuple(blocks), groups=groups)

    def merged_with(self, other: LinePositions) -> LinePositions:
        """The union of positions that were found along two branches of the history."""
        ranges_of: dict[int, tuple[Range, ...]] = {}
        for ranges, lines in (*self.groups.items(), *other.groups.items()):
            for line in lines:
                ranges_of[line] = _merge_ranges((*ranges_of.get(line, ()), *ranges))
        lines_by_ranges: dict[tuple[Range, ...], set[int]] = defaultdict(set)
        for line, ranges in ranges_of.items():
            lines_by_ranges[ranges].add(line)
        groups = {ranges: frozenset(lines) for ranges, lines in lines_by_ranges.items()}
        return LinePositions(path=self.path, blocks=_sorted_blocks({*self.blocks, *other.blocks}), groups=groups)

    def count(self, counts: array[int]) -> None:
        """Add one change to every line; call it with the lines that a commit touched."""
        for lines in (*(block.lines for block in self.blocks), *self.groups.values()):
            missing = max(lines, default=-1) + 1 - len(counts)
            counts.extend([0] * max(0, missing))
            for line in lines:
                counts[line] += 1


def _pieces(block: LineBlock, hunks: Sequence[Hunk]) -> Iterator[tuple[LineBlock, Hunk | None]]:
    """A block split at the edges of hunks, each piece with the hunk that contains it; None: in no hunk."""
    start, end = block.earlier_line, block.earlier_line + block.length
    shift = block.current_line - block.earlier_line
    for hunk in hunks:
        first, last = max(hunk.new[0], start), min(hunk.new[1], end)
        if first >= last:
            continue
        if first > start:
            yield LineBlock(current_line=start + shift, earlier_line=start, length=first - start), None
        yield LineBlock(current_line=first + shift, earlier_line=first, length=last - first), hunk
        start = last
    if start < end:
        yield LineBlock(current_line=start + shift, earlier_line=start, length=end - start), None


def _is_touched(ranges: Iterable[Range], new: Range) -> bool:
    # As in git: lines deleted within a range touch it, lines deleted at its edge do not.
    return any(begin < new[1] and new[0] < end for begin, end in ranges)


def _shift_block(block: LineBlock, hunks: Iterable[Hunk]) -> Iterator[LineBlock]:
    """An untouched block at its position one commit earlier, split where lines were deleted within it."""
    start, end = block.earlier_line, block.earlier_line + block.length
    shift, offset = block.current_line - block.earlier_line, 0
    for hunk in hunks:
        if hunk.new[0] >= end:
            break
        if hunk.new[0] > start:
            yield LineBlock(current_line=start + shift, earlier_line=start + offset, length=hunk.new[0] - start)
            start = hunk.new[0]
        offset += (hunk.old[1] - hunk.old[0]) - (hunk.new[1] - hunk.new[0])
    if start < end:
        yield LineBlock(current_line=start + shift, earlier_line=start + offset, length=end - start)


def _ranges_in_parent(ranges: tuple[Range, ...], hunks: Sequence[Hunk]) -> tuple[Range, ...]:
    touching_hunks = [hunk for hunk in hunks if _is_touched(ranges, hunk.new)]
    remaining = ranges
    for hunk in touching_hunks:
        remaining = tuple(_subtract(remaining, hunk.new))
    moved_ranges = [(begin + _offset(begin, hunks), end + _offset(begin, hunks)) for begin, end in remaining]
    return _merge_ranges((*moved_ranges, *(hunk.old for hunk in touching_hunks)))


def _subtract(ranges: Iterable[Range], removed: Range) -> Iterable[Range]:
    for begin, end in ranges:
        if begin < min(end, removed[0]):
            yield begin, min(end, removed[0])
        if max(begin, removed[1]) < end:
            yield max(begin, removed[1]), end


def _offset(line: int, hunks: Iterable[Hunk]) -> int:
    return sum((hunk.old[1] - hunk.old[0]) - (hunk.new[1] - hunk.new[0]) for hunk in hunks if hunk.new[0] <= line)


def _merge_ranges(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same lines in as few ranges as possible, ascending."""
    merged: list[Range] = []
    for begin, end in sorted(ranges):
        if begin == end:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _sorted_blocks(blocks: Iterable[LineBlock]) -> tuple[LineBlock, ...]:
    return tuple(sorted(blocks, key=lambda block: (block.earlier_line, block.current_line)))


Version = dict[str, tuple[LinePositions, ...]]
"""The positions of lines of current files in one commit, by path in that commit."""
Counts = Mapping[str, "array[int]"]
"""How often each line was changed, by path of the current file."""


def initial_version(paths: Iterable[str]) -> Version:
    """The working tree, in which every line has its own position."""
    return {
        path: (LinePositions(path=path, blocks=(LineBlock(current_line=0, earlier_line=0, length=UNLIMITED),)),)
        for path in paths
    }


def merge_versions(first: Version, second: Version) -> Version:
    """The union of the positions that two children of one commit found in it."""
    merged = dict(first)
    for path, all_positions in second.items():
        by_path = {positions.path: positions for positions in merged.get(path, ())}
        for positions in all_positions:
            known = by_path.get(positions.path)
            by_path[positions.path] = positions if known is None else known.merged_with(positions)
        merged[path] = tuple(by_path.values())
    return merged


def parent_versions(version: Version, diffs: Sequence[Sequence[FileDiff]], counts: Counts | None) -> list[Version]:
    """The positions in each parent of a commit, given the differences from each of them.

    A line that equals the line of one parent is followed in that parent only; a line that differs from all parents
    was changed by this commit, is counted, and is followed in all of them.
    """
    earlier: list[Version] = [{} for _parent in diffs]
    pending = version
    for number, parent_diffs in enumerate(diffs):
        pending = _pass_unchanged_to_parent(pending, parent_diffs, earlier[number])
    for changed in chain.from_iterable(pending.values()):
        if counts is not None:
            changed.count(counts[changed.path])
    for number, parent_diffs in enumerate(diffs):
        for diff in parent_diffs:
            if diff.new_path in pending and diff.old_path is not None:
                in_parent = [positions.in_parent(diff.hunks) for positions in pending[diff.new_path]]
                _add(earlier[number], diff.old_path, in_parent)
    return earlier


def _pass_unchanged_to_parent(pending: Version, diffs: Iterable[FileDiff], earlier: Version) -> Version:
    """Add to one parent's version the lines that are unchanged there; returns the others."""
    by_path = {diff.new_path: diff for diff in diffs}
    remaining: Version = {}
    for path, all_positions in pending.items():
        diff = by_path.get(path)
        if diff is None:
            _add(earlier, path, all_positions)
            continue
        parts = [positions.split_by(diff.hunks) for positions in all_positions]
        if diff.old_path is not None:
            _add(earlier, diff.old_path, [untouched.in_parent(diff.hunks) for untouched, _touched in parts])
        _add(remaining, path, [touched for _untouched, touched in parts])
    return remaining


def _add(version: Version, path: str, all_positions: Iterable[LinePositions]) -> None:
    added = tuple(positions for positions in all_positions if not positions.is_empty)
    if added:
        version.update(merge_versions({path: version[path]}, {path: added}) if path in version else {path: added})
