"""What a pytest session reports once it has collected."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flakehound.core.errors import FlakehoundError
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Suite
from flakehound.engine.processes.launch import Target


class SuiteUnusable(FlakehoundError):
    """pytest could not collect, or found nothing."""


class CollectionTimeout(SuiteUnusable):
    """pytest did not finish collecting in time."""


class CollectionFailed(SuiteUnusable):
    """A file of the suite raised an error when it was imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handshake:
    """A collected session: its tests, versions, and what affects how they can be run."""

    suite: Suite
    python: str
    pytest: str
    rootdir: str
    collection_s: float
    against_forking: tuple[str, ...] = ()  # reasons; empty if a forked process behaves like a new one
    switched_off: Mapping[str, str] = field(default_factory=dict)  # plugin or option -> why
    digests: Mapping[str, str] = field(default_factory=dict)  # random generator -> its state
    import_path: tuple[str, ...] = ()  # sys.path after collection
    folders: tuple[str, ...] = ()  # that contain the files of the tests
    errors: Mapping[str, str] = field(default_factory=dict)  # node id of a file or folder -> why not collected


def read_handshake(path: Path, target: Target) -> Handshake:
    """Read what a session wrote; raises an error with pytest's own message when the suite cannot be run."""
    content = json.loads(path.read_text())
    if content["stops_on_errors"] or (content["errors"] and not content["tests"]):
        raise _collection_failed(content["errors"], target)
    if not content["tests"]:
        raise nothing_collected(target)
    tests_by_id: dict[str, CollectedTest] = {}
    for node_id, module, parent, repeatable in content["tests"]:
        test = CollectedTest(id=NodeId(node_id), module=module, parent=parent, repeatable=repeatable)
        tests_by_id.setdefault(node_id, test)
    return Handshake(
        suite=Suite(tests=tuple(tests_by_id.values())),
        python=content["python"],
        pytest=content["pytest"],
        rootdir=content["rootdir"],
        collection_s=content["collection_s"],
        against_forking=tuple(content["against_forking"]),
        switched_off=content["switched_off"],
        digests=content["digests"],
        import_path=tuple(content["import_path"]),
        folders=tuple(content["folders"]),
        errors={error["id"]: error["text"] for error in content["errors"]},
    )


def read_item_numbers(path: Path) -> dict[NodeId, int]:
    """The position of each test among the session's items; the first one if an id occurs twice."""
    numbers: dict[NodeId, int] = {}
    for number, row in enumerate(json.loads(path.read_text())["tests"]):
        numbers.setdefault(NodeId(row[0]), number)
    return numbers


def _collection_failed(errors: list[Mapping[str, str]], target: Target) -> CollectionFailed:
    failed_ids = ", ".join(error["id"] for error in errors[:5])
    return CollectionFailed(
        f"pytest could not collect {failed_ids}",
        remedy=pytest_command(target, "--collect-only"),
        detail="\n".join(error["text"] for error in errors[:3]),
    )


def nothing_collected(target: Target) -> SuiteUnusable:
    """The error for a suite without tests."""
    return SuiteUnusable(
        f"pytest found no tests under {str(target.cwd)!r}",
        remedy=pytest_command(target, "--collect-only"),
    )


def pytest_command(target: Target, *extra: str) -> str:
    """The user's own pytest command, ready to paste."""
    return f"cd {shlex.quote(str(target.cwd))} && " + shlex.join(
        [target.python, "-m", "pytest", *extra, *target.pytest_args]
    )
