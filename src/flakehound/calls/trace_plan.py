"""What a traced run has to record so that characteristic functions are found."""

from __future__ import annotations

from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import TraceMode, TraceOptions


def trace_for(known: CharacteristicFunctions, mode: TraceMode, *, counts: bool = False) -> TraceOptions:
    """The trace that finds these functions; `counts` also records how often each was called."""
    return TraceOptions(mode=mode, counts=counts, wanted=known.patterns, neutral=known.neutral)
