"""Hand-made changes and dependencies."""

from __future__ import annotations

from textwrap import dedent

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import ChangedEntity, EntityKind, EntityStatus, FileChange, FileStatus, Reach
from flakehound.triage.dependencies import RecordedDependencies
from flakehound.triage.entities import changed_entities
from flakehound.triage.intersection import intersect

ROOT = "/repo"
TEST = NodeId("tests/test_shop.py::test_total")
TEST_FILE = "/repo/tests/test_shop.py"


def text(source):
    return dedent(source).lstrip("\n").encode()


def modified(before, after, *, path="shop/cart.py", **more):
    return FileChange(path=path, status=FileStatus.MODIFIED, before=text(before), after=text(after), **more)


def added(path, content="X = 1\n"):
    return FileChange(path=path, status=FileStatus.ADDED, after=text(content))


def deleted(path, content="X = 1\n"):
    return FileChange(path=path, status=FileStatus.DELETED, before=text(content))


def changed(before, after, *, path="shop/cart.py", **more):
    """The entities of a modified file."""
    return changed_entities(modified(before, after, path=path), **more)


def told(entities):
    """What a reader wants to know of entities, as a set."""
    return {(one.name, one.status.value, one.reach.value) for one in entities}


def entity(
    path="shop/cart.py",
    *,
    name="Cart.total",
    reach=Reach.BODY,
    status=EntityStatus.CHANGED,
    kind=EntityKind.FUNCTION,
    **more,
):
    return ChangedEntity(path=path, name=name, kind=kind, status=status, reach=reach, **more)


def seen(*, lines=None, imported=None, **more):
    """What a test depends on; its own file always."""
    imported = {"test_shop": TEST_FILE, **(imported or {})}
    return RecordedDependencies(
        lines={path: frozenset(numbers) for path, numbers in (lines or {}).items()},
        imported=imported,
        **{name: frozenset(value) if name != "doubts" else value for name, value in more.items()},
    )


def met(entities, dependencies, *, test=TEST):
    """The intersection in the sample repository."""
    one = [entities] if isinstance(entities, ChangedEntity) else entities
    return intersect(one, dependencies, test=test, root=ROOT, rootdir=ROOT)
