"""What a traced run has to record so that calls of characteristic functions are found."""

from __future__ import annotations

from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import TraceMode, TraceOptions


def trace_for(known: CharacteristicFunctions, mode: TraceMode, *, counts: bool = False) -> TraceOptions:
    """The options of a trace that finds these functions; `counts` also records how often each was called."""
    return TraceOptions(mode=mode, counts=counts, patterns=known.patterns, neutral=known.neutral)
