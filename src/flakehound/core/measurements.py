"""The features of a test that can only be measured in a run."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Eleven of the 18 features of one test in one run, in the order of the table; None: could not be measured."""

    read_count: float | None = None
    write_count: float | None = None
    run_time_s: float | None = None
    wait_time_s: float | None = None
    context_switches: float | None = None
    covered_lines: float | None = None
    source_covered_lines: float | None = None
    covered_changes: float | None = None
    max_threads: float | None = None
    max_children: float | None = None
    max_memory_bytes: float | None = None


MEASURED_FEATURES = tuple(field.name for field in fields(Measures))
