"""Names at the base: ids, files and environment variables of the user's tree, translated there and back."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.engine.git.base_runs import with_user_paths
from flakehound.engine.git.worktree import BaseTree

# Set by us or by the tree, or not about the project.
_KEPT_VARIABLES = frozenset({"PYTHONPATH", "HOME", "TMPDIR", "VIRTUAL_ENV"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseNames:
    """The names of one suite, whose node ids are relative to `rootdir`, a folder of the user's tree."""

    tree: BaseTree
    rootdir: Path
    renames: Mapping[str, str] = field(default_factory=dict)  # new path -> old path, both below the top

    def file_at_base(self, file: Path) -> Path:
        """The file of the base for one of the user's tree."""
        path = os.path.relpath(os.path.realpath(file), self.tree.user_top)
        old = self.renames.get(path.replace(os.sep, "/"))
        return self.tree.top / old if old is not None else self.tree.counterpart(file)

    def at_base(self, test: NodeId) -> NodeId:
        """The id that a test has at the base."""
        file, colons, rest = test.partition("::")
        old = self._relative_renames(from_new=True).get(file)
        return NodeId(f"{old}{colons}{rest}") if old is not None else test

    def here(self, test: NodeId) -> NodeId:
        """The id in the user's tree of a test of the base."""
        file, colons, rest = test.partition("::")
        new = self._relative_renames(from_new=False).get(file)
        return NodeId(f"{new}{colons}{rest}") if new is not None else test

    def order_at_base(self, order: Order) -> Order:
        """The ids that tests have at the base."""
        return tuple(self.at_base(test) for test in order)

    def record_here(self, record: RunRecord) -> RunRecord:
        """A record of the base with ids and paths of the user's tree."""
        record = with_user_paths(record, self.tree)
        failures = {
            place: replace(
                failure,
                message=self._with_new_names(failure.message),
                where=self._with_new_names(failure.where),
                text=self._with_new_names(failure.text),
            )
            for place, failure in record.failures.items()
        }
        return replace(record, order=tuple(map(self.here, record.order)), failures=failures)

    def _with_new_names(self, text: str) -> str:
        root = re.escape(os.path.join(self.rootdir, ""))
        for old, new in self._relative_renames(from_new=False).items():
            # The lookarounds keep `my_test_a.py` as it is when `test_a.py` was renamed.
            name = rf"(?<![\w/.-])((?:{root})?){re.escape(old)}(?![\w/-])"
            text = re.sub(name, rf"\g<1>{_escaped(new)}", text)
        return text

    def _relative_renames(self, *, from_new: bool) -> dict[str, str]:
        """The renames as node ids have them."""
        renames = {}
        for pair in self.renames.items():
            new, old = (
                os.path.relpath(self.tree.user_top / path, os.path.realpath(self.rootdir)).replace(os.sep, "/")
                for path in pair
            )
            renames[new if from_new else old] = old if from_new else new
        return renames

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables that name places of the user's tree which the base has, with those of the base."""
        found = {}
        for name, value in env.items():
            if name == "PYTEST_ADDOPTS":
                mapped = _mapped_options(value, self.tree)
            elif name in _KEPT_VARIABLES or name.startswith("GIT_") or not os.path.isabs(value):
                continue
            else:
                mapped = os.pathsep.join(map(self._mapped_place, value.split(os.pathsep)))
            if mapped != value:
                found[name] = mapped
        return found

    def _mapped_place(self, place: str) -> str:
        there = self.tree.counterpart(Path(place)) if os.path.isabs(place) else None
        return str(there) if there is not None and str(there) != place and there.exists() else place


def _escaped(replacement: str) -> str:
    return replacement.replace("\\", r"\\")


def _mapped_options(options: str, tree: BaseTree) -> str:
    try:
        words = shlex.split(options)
    except ValueError:  # pytest will say so
        return options
    mapped = [tree.map_argument(word) for word in words]
    return shlex.join(mapped) if mapped != words else options
