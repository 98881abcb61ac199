"""An assertion on when objects are freed or how much memory they take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import names_bound_to
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_MEMORY_FUNCTIONS = frozenset(
    {
        "memory_profiler.memory_usage",
        "objgraph.count",
        "psutil.Process",
        "psutil.virtual_memory",
        "resource.getrusage",
        "sys.getrefcount",
        "weakref.WeakValueDictionary",
        "weakref.finalize",
        "weakref.proxy",
        "weakref.ref",
    }
)


_OBSERVING_FUNCTIONS = frozenset(
    {
        "gc.get_objects",
        "gc.get_referrers",
        "memory_profiler.memory_usage",
        "objgraph.count",
        "resource.getrusage",
        "sys.getrefcount",
        "tracemalloc.get_traced_memory",
        "weakref.ref",
    }
)


def _observes(function: ReachedFunction, call: Call) -> bool:
    """Whether the test looks at what it asked for: it calls a weak reference, for one."""
    if call.name != "weakref.ref":
        return call.name in _OBSERVING_FUNCTIONS
    names = set(names_bound_to(function, call.node))
    callees = (other.node.func for other in function.facts.calls)
    return any(isinstance(callee, ast.Name) and callee.id in names for callee in callees)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _MEMORY_FUNCTIONS, ("gc.", "tracemalloc.", "objgraph.")):
        if call.name != "gc.freeze":
            weak = "" if _observes(function, call) else "it observes nothing"
            yield sign_for(call, "{} asks about memory, which other tests and the collector share", weak)


RULE = LintRule(
    id="FH702",
    name="garbage-collection",
    cause=Cause.RESOURCE_LEAK,
    title="Garbage collection or memory is observed",
    why="Tracebacks, caches and earlier tests keep objects alive, and the collector runs at times that no "
    "test controls.",
    fix="Assert that the resource was released (a flag, a closed handle), not that the object was freed.",
    bad="import gc, weakref\n\ndef test_freed(make):\n    ref = weakref.ref(make())\n    "
    "gc.collect()\n    assert ref() is None\n",
    good="def test_freed(make):\n    thing = make()\n    thing.close()\n    assert thing.closed\n",
    check=in_each_function(_find, in_production=False),
)
