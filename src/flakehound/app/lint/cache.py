"""Cached answers about test files, valid while the content of every file they depend on is the same."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, TypeVar

from flakehound.lint.source.modules import Unparsable

Answer = TypeVar("Answer")
_FORMAT = 2  # of the cache file
_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCodec(Generic[Answer]):
    """How answers about test files are written to the cache as JSON, and read back."""

    name: str  # of the question with all its options; answers to another one are not reused
    encode: Callable[[Answer], Any]
    decode: Callable[[Any], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer(Generic[Answer]):
    """The answer about one test file, with what it depends on."""

    inputs: Mapping[str, str]  # path -> digest of each file that the answer depends on
    answer: Answer | None  # None: the file cannot be parsed
    unparsable: tuple[Unparsable, ...] = ()  # files among the inputs


def digest(*contents: bytes) -> str:
    """A short hash of some content."""
    maker = blake2b(digest_size=16)
    for content in contents:
        maker.update(len(content).to_bytes(8, "little"))
        maker.update(content)
    return maker.hexdigest()


class AnswerCache(Generic[Answer]):
    """A file of answers; one that cannot be read or was written by other code counts as empty."""

    def __init__(self, file: Path, codec: AnswerCodec[Answer]) -> None:
        self._file = file
        self._codec = codec
        self._key = digest(codec.name.encode(), _code_version().encode())
        self._encoded = self._read()

    def answer(self, path: str, digests: Mapping[str, str | None]) -> FileAnswer[Answer] | None:
        """The cached answer about a test file; None if there is none, or an input has changed."""
        try:
            encoded = self._encoded[path]
            if any(digests.get(one) != known for one, known in encoded["inputs"].items()):
                return None
            return self._decoded(encoded)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, answers: Mapping[str, FileAnswer[Answer]]) -> None:
        """Replace the cache's content by these answers."""
        files = {path: self._encode(one) for path, one in answers.items()}
        text = json.dumps({"key": self._key, "files": files}, separators=(",", ":"))
        # A folder that we may not write to costs the time of the next run, and nothing else.
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            new.write_text(text, encoding="utf-8")
            new.replace(self._file)

    def _read(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return dict(found["files"]) if found["key"] == self._key else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _encode(self, one: FileAnswer[Answer]) -> dict[str, Any]:
        return {
            "inputs": dict(one.inputs),
            "answer": None if one.answer is None else self._codec.encode(one.answer),
            "unparsable": [{"path": bad.path, "line": bad.line, "reason": bad.reason} for bad in one.unparsable],
        }

    def _decoded(self, encoded: Mapping[str, Any]) -> FileAnswer[Answer]:
        answer = encoded["answer"]
        return FileAnswer(
            inputs=encoded["inputs"],
            answer=None if answer is None else self._codec.decode(answer),
            unparsable=tuple(Unparsable(**bad) for bad in encoded["unparsable"]),
        )


def _code_version() -> str:
    """A hash of the code that answers are computed with, and of the grammar.

    The version number, which is in the package itself, would keep old answers during development of the rules.
    """
    files = (_PACKAGE / "__init__.py", *code_of_answers())
    contents = (content for file in files for content in (file.name.encode(), file.read_bytes()))
    return f"{_FORMAT} {sys.version_info[:2]} {digest(*contents)}"


def code_of_answers() -> list[Path]:
    """Every file whose code an answer can depend on: the lint package, what it may import, and what calls it."""
    folders = (_PACKAGE / name for name in ("lint", "core", "app/lint"))
    return [file for folder in folders for file in sorted(folder.rglob("*.py"))]
