"""Wrap sentences to lines of a given width without breaking a node id."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId

_COUNT = re.compile(r"(?<=\w) (?=\d)|(?<=\d) (?=[\w%])")  # "7 of 42", "17 %": not broken
_NO_BREAK_SPACE = "\ue000"  # stands for a space that must not become a line break; no text uses this code point


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWrapper:
    """Wraps sentences to lines of a width, never within a node id."""

    width: int
    ids_with_spaces: tuple[NodeId, ...] = ()  # longest first, because one may be part of another

    @classmethod
    def for_ids(cls, ids: Iterable[NodeId], width: int) -> LineWrapper:
        """A wrapper that breaks none of these ids."""
        ids_with_spaces = sorted((test for test in ids if " " in test), key=len, reverse=True)
        return cls(width=width, ids_with_spaces=tuple(ids_with_spaces))

    def wrap(self, sentence: str, indent: int = 0, *, hanging: int = 2) -> list[str]:
        """The sentence in lines that fit the width, except where an id alone is wider.

        `hanging`: by how much further than the first line the others are indented.
        """
        lines = textwrap.wrap(
            self._with_unbreakable_parts(sentence),
            width=self.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hanging),
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]

    def _with_unbreakable_parts(self, sentence: str) -> str:
        for test in self.ids_with_spaces:
            sentence = sentence.replace(test, test.replace(" ", _NO_BREAK_SPACE))
        return _COUNT.sub(_NO_BREAK_SPACE, sentence)
