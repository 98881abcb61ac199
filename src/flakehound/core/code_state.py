"""The state of the code that a suite runs, as digests: runs of two states must not be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeState:
    """Digests of everything that we know the outcomes of a suite to depend on; an empty one is not known."""

    sources: str = ""  # files of the project
    packages: str = ""  # installed distributions, and code outside of the project
    interpreter: str = ""  # versions of Python and pytest, arguments and settings
    tests: str = ""  # collected ids, in their order

    @property
    def is_known(self) -> bool:
        """Whether every part could be determined."""
        return all(getattr(self, part.name) for part in fields(self))

    def is_same_code(self, other: CodeState) -> bool:
        """Whether both are known and equal; two unknown states are never the same."""
        return self.is_known and self == other


def code_state_from(stored: Mapping[str, str]) -> CodeState:
    """The state from its stored form; parts of other versions are left out, missing ones are not known."""
    return CodeState(**{part.name: str(stored.get(part.name, "")) for part in fields(CodeState)})
