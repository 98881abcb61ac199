"""Reports what each test leaves changed in its process; a test that leaves something may be a polluter.

In a process forked from the collected session, everything is compared with what collection left, so the changes of
a test that runs alone are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flakehound_inside.observe.project_paths import ProjectPaths
from flakehound_inside.observe.state.files import OutsideWrites
from flakehound_inside.observe.state.mentions import MentionedNames
from flakehound_inside.observe.state.modules import ModuleState
from flakehound_inside.observe.state.process import process_state

if TYPE_CHECKING:
    import pytest

MAX_REPORTED = 200


class StateObserver:
    """The per-test observer that compares the state after a test with the state before it."""

    letter = "l"

    def __init__(self, session: pytest.Session, own_folder: str) -> None:
        self._root = str(session.config.rootpath)
        self._own_folder = own_folder
        self._outside_writes = OutsideWrites()
        paths = ProjectPaths(self._root, own_folder)
        self._modules = ModuleState(paths)
        self._mentions = MentionedNames(paths)
        self._tmp = ""
        self._before: dict[tuple[str, str], int] = {}

    def prepare(self) -> None:
        """Determine the state once, in the process from which the others are forked."""
        self._modules.remember_libraries()
        self._before = self._current_state()

    def start(self, tmp: str) -> None:
        """Begin in the process that runs the tests; `tmp` is the folder of its temporary files."""
        self._tmp = tmp
        self._outside_writes = OutsideWrites(self._root, tmp, self._own_folder)
        self._outside_writes.start()
        self._before = self._current_state()

    def begin_test(self) -> None:
        """Forget the writes and mentions of the last test; the state that it left is recorded already."""
        self._outside_writes.reset()
        self._mentions.begin()

    def report(self) -> dict[str, object]:
        """What the test left, each change with how, kind and name; and the names that its code mentions."""
        mentions = self._mentions.end()
        outside = [["changed", "file", path] for path in self._outside_writes.changed_paths()]
        after = self._current_state()
        before, self._before = self._before, after
        changes = [["added", *self._key_of_added(key)] for key in after if key not in before]
        changes += [["removed", *key] for key in before if key not in after]
        changes += [["changed", *key] for key, digest in after.items() if before.get(key, digest) != digest]
        changes += outside
        return {"left": sorted(changes, key=lambda change: change[1:])[:MAX_REPORTED], "mentions": mentions}

    def _key_of_added(self, key: tuple[str, str]) -> tuple[str, str]:
        kind, name = key
        is_submodule = kind == "imported module" and self._modules.is_new_submodule(name)
        return ("imported submodule", name) if is_submodule else key

    def _current_state(self) -> dict[tuple[str, str], int]:
        state = dict(self._modules.current_state())
        state.update(process_state(self._root, self._tmp))
        return state
