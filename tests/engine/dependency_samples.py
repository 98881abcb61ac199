"""Recorded runs for the tests of dependencies."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine_samples import HASH_SEED

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting, SingleRun
from flakehound.engine.processes.limits import Limits
from flakehound.engine.processes.spawn import RecordedRun, RecordingRequest

CALC = {
    "shop/__init__.py": "",
    "shop/cart.py": """
        RATE = 2


        def total(price):
            return price * RATE


        def unused():
            return 0
        """,
    "shop/other.py": "OTHER = 1\n",
    "test_cart.py": """
        from shop.cart import total

        def test_total():
            assert total(2) == 4
        """,
}


def plan_for(*order: str, **options) -> SingleRun:
    return SingleRun(
        order=tuple(map(NodeId, order)),
        why="a test of recording",
        setting=Setting.PROBE,
        isolation=Isolation.SPAWN,
        seed=1,
        hash_seed=HASH_SEED,
        **options,
    )


def record(sample, *order: str, files=None, **limits) -> RecordedRun:
    """Run an order and record its dependencies; `files` are relative to the sample's root."""
    wanted = None if files is None else tuple(sample.root / file for file in files)
    request = RecordingRequest(root=sample.root, files=wanted)
    return sample.spawner.run_recorded(plan_for(*order), Limits(**limits), (), request)


def below(root: Path, told):
    """The same dependencies with paths relative to the root.

    Without files of our own environment: pytest reads those of plugins that happen to be installed in it.
    """

    def short(path):
        return os.path.relpath(path, root) if path and Path(path).is_relative_to(root) else path

    return {
        **told,
        "lines": {short(path): lines for path, lines in told["lines"].items()},
        "imported": {name: short(path) for name, path in told["imported"].items()},
        "opened": [short(path) for path in told["opened"] if not path.startswith(sys.prefix)],
        **{name: [short(path) for path in told[name]] for name in ("listed", "folders", "settings")},
    }
