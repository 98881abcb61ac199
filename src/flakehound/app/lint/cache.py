"""Answers about test files, kept by the content of everything they were told from."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import flakehound
from flakehound import lint

_FORMAT = 1


def digest(*contents: bytes) -> str:
    """A short name for some content."""
    maker = blake2b(digest_size=16)
    for content in contents:
        maker.update(len(content).to_bytes(8, "little"))
        maker.update(content)
    return maker.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One file's answer, and the digests of the files it depends on."""

    inputs: Mapping[str, str]
    answer: Any


class Cache:
    """A file of answers; one that cannot be read or is of another version is taken for empty."""

    def __init__(self, file: Path | None, about: str) -> None:
        self._file = file
        self._key = digest(about.encode(), _version().encode())
        self._kept = self._read()

    def answer(self, path: str, digest_of: Mapping[str, str | None]) -> Kept | None:
        """What is kept for a test file, if nothing that it depends on has changed."""
        kept = self._kept.get(path)
        if kept is None or any(digest_of.get(one) != known for one, known in kept.inputs.items()):
            return None
        return kept

    def write(self, answers: Mapping[str, Kept]) -> None:
        """Keep these answers, and forget those of files that are gone."""
        if self._file is None:
            return
        files = {path: {"inputs": dict(one.inputs), "answer": one.answer} for path, one in answers.items()}
        text = json.dumps({"key": self._key, "files": files}, separators=(",", ":"))
        # The cache is a convenience: a folder we may not write to costs time and nothing else.
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_suffix(f".{id(self)}.new")
            new.write_text(text, encoding="utf-8")
            new.replace(self._file)

    def _read(self) -> dict[str, Kept]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8")) if self._file else {}
            if found.get("key") != self._key:
                return {}
            return {path: Kept(inputs=one["inputs"], answer=one["answer"]) for path, one in found["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _version() -> str:
    """Of our code and of the grammar; an answer of an older one may be wrong.

    The version number alone would keep old answers while somebody works on the rules.
    """
    folder = Path(lint.__file__).parent
    ours = [file.read_bytes() for file in sorted(folder.rglob("*.py"))]
    return f"{_FORMAT} {flakehound.__version__} {sys.version_info[:2]} {digest(*ours)}"
