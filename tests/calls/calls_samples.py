"""Hand-made functions, call sites and traces."""

from __future__ import annotations

from collections.abc import Iterable

from flakehound.core.calls import CallSite, CallTrace, Function


def c(module: str, name: str, owner: str = "") -> Function:
    """A function written in C."""
    return Function(file=f"<{module}>", owner=owner, name=name, kind="c")


def python(name: str, owner: str = "", file: str = "shop/cart.py") -> Function:
    """A function written in Python."""
    return Function(file=file, owner=owner, name=name, kind="python")


def a_site(function: Function, path: str = "tests/test_cart.py", line: int = 7, phase: str = "call") -> CallSite:
    return CallSite(phase=phase, function=function, path=path, line=line, caller="test_total")


def a_trace(*functions: Function, call_sites: Iterable[CallSite] = ()) -> CallTrace:
    return CallTrace(calls={"call": dict.fromkeys(functions, 1)}, call_sites=tuple(call_sites))
