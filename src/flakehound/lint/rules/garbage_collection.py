"""An assertion on when objects die or how much memory they take."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(
    ("weakref.ref", "weakref.proxy", "weakref.finalize", "sys.getrefcount", "resource.getrusage", "psutil.Process",
     "psutil.virtual_memory", "memory_profiler.memory_usage", "objgraph.count", "weakref.WeakValueDictionary")
)  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _NAMES, ("gc.", "tracemalloc.", "objgraph.")):
        if call.name != "gc.freeze":
            yield told(call, "{} asks about memory, which other tests and the collector share")


RULE = Rule(
    id="FH702",
    name="garbage-collection",
    cause=Cause.RESOURCE_LEAK,
    title="Garbage collection or memory is observed",
    why="What is still referenced hangs on tracebacks, caches and tests that ran before, and the "
    "collector runs when it likes.",
    fix="Assert that the resource was released (a flag, a closed handle) and not that the object is gone.",
    bad="import gc, weakref\n\ndef test_freed(make):\n    ref = weakref.ref(make())\n    "
    "gc.collect()\n    assert ref() is None\n",
    good="def test_freed(make):\n    thing = make()\n    thing.close()\n    assert thing.closed\n",
    check=in_each(_look, production=False),
)
