"""Say which tests of a project are not read, although their names say that they are tests."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from flakehound.app.lint.layout import Layout
from flakehound.core.predictions import UnseenTests
from flakehound.lint.collect.unseen_tests import NamedLikeTests, named_like_tests, unseen_classes
from flakehound.lint.links.reached_code import has_test_folder

_MAX_PATTERNS = 20  # in a command; with more files the folder is named
_WORDS_IN_NAMES = ("test", "smoke", "spec")


def unseen_tests(
    layout: Layout, test_ids: Collection[str], read_paths: Collection[str]
) -> tuple[UnseenTests, ...]:
    """The classes and files with tests that pytest's own rules do not collect in this layout.

    `read_paths` are the files that were read, as tests or because tests use them: those are no forgotten tests.
    """
    files = {path: named_like_tests(text) for path, text in _texts(layout, layout.test_files)}
    collected = {tuple(test_id.split("::")[:2]) for test_id in test_ids}
    classes = [
        UnseenTests(path=path, line=found.line, class_name=found.name, tests=found.tests)
        for path, found in unseen_classes(files, collected)  # type: ignore[arg-type]
    ]
    others = [path for path in layout.other_files if path not in read_paths and _may_have_tests(path)]
    return (*classes, *_unseen_files({path: named_like_tests(text) for path, text in _texts(layout, others)}))


def command_for_unseen(layout: Layout, unseen: Collection[UnseenTests]) -> str:
    """The command that reads the tests, too; "" if there are none."""
    if not unseen:
        return ""
    words = ["flakehound", "lint"]
    if any(one.class_name for one in unseen):
        words += ["-o", "python_classes=*"]
    names = sorted({one.path.rpartition("/")[2] for one in unseen if not one.class_name})
    if names:
        patterns = (*layout.settings.patterns.files, *(names if len(names) <= _MAX_PATTERNS else ["*.py"]))
        words += ["-o", f"python_files={' '.join(patterns)}"]
    return shlex.join(words)


def _unseen_files(files: Mapping[str, NamedLikeTests]) -> Iterator[UnseenTests]:
    for path, found in files.items():
        if found.tests:
            yield UnseenTests(path=path, line=1, class_name="", tests=found.tests)


def _may_have_tests(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name != "conftest.py" and (has_test_folder(path) or any(word in name for word in _WORDS_IN_NAMES))


def _texts(layout: Layout, paths: Collection[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        file = Path(layout.rootdir, path)
        try:
            yield path, file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # reported where it is read as a test file
