"""Lines of a given width, in which a node id is never broken."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId

_COUNT = re.compile(r"(?<=\w) (?=\d)|(?<=\d) (?=[\w%])")  # "7 of 42", "17 %": read as one
_GLUE = "\ue000"  # stands for a space that must not become a line break; no text uses this code point


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """How wide to write, and which node ids hold a space."""

    width: int
    spaced: tuple[NodeId, ...] = ()  # longest first, because one may be part of another

    @classmethod
    def for_ids(cls, ids: Iterable[NodeId], width: int) -> Paper:
        """Paper on which none of these ids breaks."""
        spaced = sorted((test for test in ids if " " in test), key=len, reverse=True)
        return cls(width=width, spaced=tuple(spaced))

    def prose(self, sentence: str, indent: int = 0) -> list[str]:
        """The sentence in lines that fit the width, except where an id alone is wider."""
        lines = textwrap.wrap(
            self._glued(sentence),
            width=self.width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + 2),
            break_long_words=False,
            break_on_hyphens=False,
        )
        return [line.replace(_GLUE, " ") for line in lines]

    def _glued(self, sentence: str) -> str:
        for test in self.spaced:
            sentence = sentence.replace(test, test.replace(" ", _GLUE))
        return _COUNT.sub(_GLUE, sentence)
