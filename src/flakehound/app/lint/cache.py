"""Cache answers about test files, as long as the files that they depend on do not change."""

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
from flakehound.store.folder import create_folder

Answer = TypeVar("Answer")
_FORMAT = 2  # of the cache file
_PACKAGE = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCodec(Generic[Answer]):
    """How answers about test files are written to the cache as JSON, and read back."""

    name: str  # names the analysis with its options; answers of another analysis are not reused
    encode: Callable[[Answer], Any]
    decode: Callable[[Any], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer(Generic[Answer]):
    """The answer about one test file, and the files that it depends on."""

    inputs: Mapping[str, str]  # path -> digest of the file
    answer: Answer | None  # None: the file cannot be parsed
    unparsable: tuple[Unparsable, ...] = ()  # inputs that cannot be parsed


def digest(*contents: bytes) -> str:
    """A hash of some contents."""
    hasher = blake2b(digest_size=16)
    for content in contents:
        hasher.update(len(content).to_bytes(8, "little"))
        hasher.update(content)
    return hasher.hexdigest()


class AnswerCache(Generic[Answer]):
    """A cache file; it counts as empty if it cannot be read or other code wrote it."""

    def __init__(self, file: Path, codec: AnswerCodec[Answer]) -> None:
        self._file = file
        self._codec = codec
        self._key = digest(codec.name.encode(), _code_version().encode())
        self._encoded = self._read()

    def answer(self, path: str, digests: Mapping[str, str | None]) -> FileAnswer[Answer] | None:
        """The cached answer about a test file; None if there is none, or an input has changed."""
        try:
            encoded = self._encoded[path]
            if any(digests.get(name) != known for name, known in encoded["inputs"].items()):
                return None
            return self._decode(encoded)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, answers: Mapping[str, FileAnswer[Answer]]) -> None:
        """Replace the content of the cache by these answers."""
        files = {path: self._encode(answer) for path, answer in answers.items()}
        text = json.dumps({"key": self._key, "files": files}, separators=(",", ":"))
        # If the folder is not writable, the next run takes longer; that is no error.
        with suppress(OSError):
            create_folder(self._file.parent)
            new = self._file.with_suffix(f".{os.getpid()}.new")
            new.write_text(text, encoding="utf-8")
            new.replace(self._file)

    def _read(self) -> Mapping[str, Any]:
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            return dict(content["files"]) if content["key"] == self._key else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _encode(self, file: FileAnswer[Answer]) -> dict[str, Any]:
        return {
            "inputs": dict(file.inputs),
            "answer": None if file.answer is None else self._codec.encode(file.answer),
            "unparsable": [{"path": bad.path, "line": bad.line, "reason": bad.reason} for bad in file.unparsable],
        }

    def _decode(self, encoded: Mapping[str, Any]) -> FileAnswer[Answer]:
        answer = encoded["answer"]
        return FileAnswer(
            inputs=encoded["inputs"],
            answer=None if answer is None else self._codec.decode(answer),
            unparsable=tuple(Unparsable(**bad) for bad in encoded["unparsable"]),
        )


def _code_version() -> str:
    """A hash of the code that computes answers, with the version of Python.

    The version of the package alone would keep old answers while the rules are developed.
    """
    files = (_PACKAGE / "__init__.py", *code_of_answers())
    contents = (content for file in files for content in (file.name.encode(), file.read_bytes()))
    return f"{_FORMAT} {sys.version_info[:2]} {digest(*contents)}"


def code_of_answers() -> list[Path]:
    """All files whose code an answer can depend on: `lint`, `core`, which it imports, and this package."""
    folders = (_PACKAGE / name for name in ("lint", "core", "app/lint"))
    return [file for folder in folders for file in sorted(folder.rglob("*.py"))]
