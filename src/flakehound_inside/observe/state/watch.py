"""Tell what each test leaves changed in its process: whoever leaves something may be a polluter.

In a copy of the collected session everything is compared with what collection left, so each test is told apart
from the ones before it where it runs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flakehound_inside.observe.dependencies import Places
from flakehound_inside.observe.state.files import FarFiles
from flakehound_inside.observe.state.mentions import Mentions
from flakehound_inside.observe.state.modules import Modules
from flakehound_inside.observe.state.process import things_in

if TYPE_CHECKING:
    import pytest

MOST_TOLD = 200


class StateWatch:
    """The gauge: compares what there is after a test with what there was before."""

    letter = "l"

    def __init__(self, session: pytest.Session, ours: str) -> None:
        self._root = str(session.config.rootpath)
        self._ours = ours
        self._far = FarFiles()
        places = Places(self._root, ours)
        self._modules = Modules(places)
        self._mentions = Mentions(places)
        self._tmp = ""
        self._before: dict[tuple[str, str], int] = {}

    def prepare(self) -> None:
        """Look around once, in the process that the others are copied from."""
        self._modules.remember_others()
        self._before = self._look()

    def start(self, tmp: str) -> None:
        """Begin in the process that runs the tests; its temporary files lie in this folder."""
        self._tmp = tmp
        self._far = FarFiles(self._root, tmp, self._ours)
        self._far.start()
        self._before = self._look()

    def begin(self) -> None:
        """A test is about to run: what the last one left is known already."""
        self._far.forget()
        self._mentions.begin()

    def told(self) -> dict[str, object]:
        """What the test left: how, of which kind, by which name; and which names its code mentions."""
        mentions = self._mentions.end()
        far = [["changed", "file", path] for path in self._far.written()]
        now = self._look()
        before, self._before = self._before, now
        found = [["added", *self._named(thing)] for thing in now if thing not in before]
        found += [["removed", *thing] for thing in before if thing not in now]
        found += [["changed", *thing] for thing, digest in now.items() if before.get(thing, digest) != digest]
        found += far
        return {"left": sorted(found, key=lambda change: change[1:])[:MOST_TOLD], "mentions": mentions}

    def _named(self, thing: tuple[str, str]) -> tuple[str, str]:
        kind, name = thing
        is_part = kind == "imported module" and self._modules.is_new_part(name)
        return ("imported submodule", name) if is_part else thing

    def _look(self) -> dict[tuple[str, str], int]:
        found = dict(self._modules.things())
        found.update(things_in(self._root, self._tmp))
        return found
