"""Find functions that look like tests and that pytest's own rules do not collect, from the text of files alone.

Lines are searched instead of syntax trees, because most files have none and need not be parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

_CLASS = re.compile(r"class\s+(\w+)\s*(?:\((.*))?")
_METHOD = re.compile(r"[ \t]+(?:async\s+)?def\s+test\w*\s*\(")
_FUNCTION = re.compile(r"(?:async\s+)?def\s+test\w*\s*\(")
_SWITCHED_OFF = re.compile(r"[ \t]+__test__\s*=\s*False\b")
_WORD = re.compile(r"\w+")


@dataclass(slots=True, kw_only=True)
class ClassWithTests:
    """A class at the top level of a file with functions that are named like tests."""

    name: str
    line: int
    tests: int = 0
    is_switched_off: bool = False  # by `__test__ = False`


@dataclass(slots=True, kw_only=True)
class NamedLikeTests:
    """What a file has that is named like tests."""

    functions: int = 0  # at the top level
    classes: list[ClassWithTests] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)  # names of classes that others derive from

    @property
    def tests(self) -> int:
        """The number of functions and methods."""
        return self.functions + sum(found.tests for found in self.classes)


def named_like_tests(text: str) -> NamedLikeTests:
    """The functions and classes of a file whose names say that they are tests."""
    found = NamedLikeTests()
    current: ClassWithTests | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] in ("", " ", "\t"):
            if current is not None and _METHOD.match(line):
                current.tests += 1
            elif current is not None and _SWITCHED_OFF.match(line):
                current.is_switched_off = True
        elif match := _CLASS.match(line):
            current = ClassWithTests(name=match[1], line=number)
            found.bases.update(_WORD.findall(match[2] or ""))
            found.classes.append(current)
        elif line[0] not in "#@)":
            current = None
            found.functions += bool(_FUNCTION.match(line))
    found.classes = [one for one in found.classes if one.tests]
    return found


def unseen_classes(
    files: Mapping[str, NamedLikeTests], collected: Collection[tuple[str, str]]
) -> Iterator[tuple[str, ClassWithTests]]:
    """The classes with tests that are not collected, with their files; no mixins, whose tests run elsewhere.

    `collected` has the file and the name of each collected class.
    """
    bases = {base for file in files.values() for base in file.bases}
    for path, file in files.items():
        for found in file.classes:
            if (path, found.name) not in collected and found.name not in bases and not found.is_switched_off:
                yield path, found
