"""Hand-made sessions, suites and runs for the tests of the store."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flakehound
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import Failure, RunRecord, Usage
from flakehound.store import SessionInfo


def a_suite(tests: int = 3) -> Suite:
    def collected(i: int) -> CollectedTest:
        module = f"tests/area_{i // 200}/test_module_{i // 20}.py"
        parent = f"{module}::TestThing{i // 5}"
        return CollectedTest(id=NodeId(f"{parent}::test_case_{i}"), module=module, parent=parent)

    return Suite(tests=tuple(collected(i) for i in range(tests)))


def a_session(**changes: Any) -> SessionInfo:
    defaults = {
        "rootdir": "/project",
        "python": "3.12.1",
        "pytest": "8.3.0",
        "base_seed": 7,
        "started_s": 1000.0,
    }
    return SessionInfo(**(defaults | changes))


def a_failure(message: str = "assert 1 == 2", text: str = "E   assert 1 == 2") -> Failure:
    return Failure(phase="call", exception="AssertionError", message=message, where="tests/test_a.py:3", text=text)


def a_run(order: Sequence[NodeId], **changes: Any) -> RunRecord:
    defaults = {
        "order": tuple(order),
        "outcomes": (Outcome.PASSED,) * len(order),
        "durations_s": (0.25,) * len(order),
        "setting": Setting.PROBE,
        "isolation": Isolation.FORK,
        "why": "is it flaky?",
    }
    return RunRecord(**(defaults | changes))


def a_shuffled_run(suite: Suite, seed: int) -> RunRecord:
    """A whole suite shuffled, one test in a hundred failing, durations as scattered as real ones."""
    rng = random.Random(seed)
    order = rng.sample(suite.order, len(suite.order))
    failed = {place for place in range(len(order)) if rng.random() < 0.01}
    return a_run(
        order,
        outcomes=tuple(Outcome.FAILED if place in failed else Outcome.PASSED for place in range(len(order))),
        durations_s=[rng.lognormvariate(-5, 1.5) for _ in order],
        setting=Setting.SHUFFLED,
        why=f"shuffle {seed}",
        seed=rng.getrandbits(32),
        usage=Usage(wall_s=rng.random(), cpu_s=rng.random(), max_rss_bytes=80_000_000 + seed),
        failures={place: a_failure(f"assert {rng.random()} == 1") for place in failed},
    )


def size_of(path: Path) -> int:
    """Bytes of the store with all its side files."""
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


def child_environment() -> dict[str, str]:
    """Lets a new interpreter import flakehound and this module."""
    folders = [str(Path(flakehound.__file__).parents[1]), str(Path(__file__).parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
