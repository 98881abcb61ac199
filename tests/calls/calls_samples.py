"""Hand-made functions, traces and data sets."""

from __future__ import annotations

from collections.abc import Iterable

from flakehound.core.calls import CallTrace, Function, Reached


def c(module: str, name: str, owner: str = "") -> Function:
    return Function(file=f"<{module}>", owner=owner, name=name, kind="c")


def python(name: str, owner: str = "", file: str = "shop/cart.py") -> Function:
    return Function(file=file, owner=owner, name=name, kind="python")


def reached(function: Function, path: str = "tests/test_cart.py", line: int = 7, phase: str = "call") -> Reached:
    return Reached(phase=phase, function=function, path=path, line=line, within="test_total")


def trace(*functions: Function, reached: Iterable[Reached] = ()) -> CallTrace:
    return CallTrace(calls={"call": dict.fromkeys(functions, 1)}, reached=tuple(reached))
