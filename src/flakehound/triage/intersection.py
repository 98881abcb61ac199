"""Find the changed entities that a test depends on.

Always on the safe side: what may have been used counts as used, and what is not known counts as a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import ChangedEntity, EntityKind, Reach
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.file_access import FileAccess, ModuleUse

NOT_RECORDED = "what the test depends on was not recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """A changed entity that a test depends on, and the reason."""

    entity: ChangedEntity
    reason: str  # continues "the test touches ENTITY: ..."

    def __str__(self) -> str:
        return f"{self.entity} ({self.entity.status.value}; {self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection:
    """The result of comparing the change with the dependencies of a test."""

    touches: tuple[Touch, ...]
    changed: int  # how many entities changed
    doubts: tuple[str, ...] = ()  # why the record may be incomplete; empty if nothing changed

    @property
    def is_disjoint(self) -> bool:
        """Whether the test cannot depend on the change."""
        return not self.touches and not self.doubts

    @property
    def intersects(self) -> bool:
        """Whether the test depends on the change, or may."""
        return not self.is_disjoint


def intersect(
    changed: Sequence[ChangedEntity],
    dependencies: RecordedDependencies | None,
    *,
    test: NodeId,
    root: str,
    rootdir: str,
) -> Intersection:
    """Compare a change with the dependencies of a failing run of `test`; None: they were not recorded.

    `root` is the top folder of the repository, `rootdir` that of pytest; both without symbolic links.
    """
    if not changed:
        return Intersection(touches=(), changed=0)
    access = FileAccess(dependencies or RecordedDependencies(), test=test, root=root, rootdir=rootdir)
    reasons = ((entity, _BY_REACH[entity.reach](entity, access)) for entity in changed)
    return Intersection(
        touches=tuple(Touch(entity=entity, reason=reason) for entity, reason in reasons if reason),
        changed=len(changed),
        doubts=access.doubts if dependencies else (NOT_RECORDED,),
    )


def _body(entity: ChangedEntity, access: FileAccess) -> str | None:
    use = access.module_use(entity)
    return _reason_by_lines(entity, use) if use else None


def _import(entity: ChangedEntity, access: FileAccess) -> str | None:
    use = access.module_use(entity)
    if use:
        return use.reason
    return access.reason_by_location(entity) if entity.kind is EntityKind.MODULE else None


def _test(entity: ChangedEntity, access: FileAccess) -> str | None:
    use = access.module_use(entity)
    if use is None:
        return None
    if not access.is_in_test_file(entity):
        return "it imports this file of tests"
    return "it has the name of this test" if _has_name_of(entity, access.test) else _reason_by_lines(entity, use)


def _reason_by_lines(entity: ChangedEntity, use: ModuleUse) -> str | None:
    if use.lines is None:
        return use.reason
    executed = sorted(line for line in use.lines if any(line in body for body in entity.body_lines))
    return f"it executes line {executed[0]}" if executed else None


def _has_name_of(entity: ChangedEntity, test: NodeId) -> bool:
    words = re.findall(r"\w+", test.partition("[")[0].partition("::")[2])
    return not words or entity.name.rpartition(".")[2] in words


def _name(entity: ChangedEntity, access: FileAccess) -> str | None:
    return access.reason_by_name(entity) or access.reason_by_location(entity)


def _content(entity: ChangedEntity, access: FileAccess) -> str | None:
    return access.reason_by_content(entity) or access.reason_by_location(entity)


def _every(entity: ChangedEntity, access: FileAccess) -> str | None:
    return f"{_WHY_EVERY.get(entity.kind, 'it')} concerns every test"


_WHY_EVERY = {
    EntityKind.CONFIGURATION: "configuration",
    EntityKind.NATIVE: "native code",
    EntityKind.LINK: "a link that stands for other files",
    EntityKind.SUBMODULE: "a submodule",
}
_BY_REACH: Mapping[Reach, Callable[[ChangedEntity, FileAccess], str | None]] = {
    Reach.BODY: _body,
    Reach.IMPORT: _import,
    Reach.TEST: _test,
    Reach.NAME: _name,
    Reach.CONTENT: _content,
    Reach.EVERY: _every,
}
