"""The 18 features in the order of the published table (CANNIER, table 1), each with its unit.

Pure. Features are identified by name, never by position: the published tool has the labels of two columns swapped.
"""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.measurements import MEASURED_FEATURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One feature: a column of the table."""

    name: str  # in CSV files and the store
    title: str  # in the published table
    unit: str
    is_static: bool = False  # known from the source alone, and equal in every run


def _feature(name: str, title: str, unit: str) -> Feature:
    return Feature(name=name, title=title, unit=unit, is_static=name not in MEASURED_FEATURES)


FEATURES = (
    _feature("read_count", "Read Count", "system calls"),
    _feature("write_count", "Write Count", "system calls"),
    _feature("run_time_s", "Run Time", "s"),
    _feature("wait_time_s", "Wait Time", "s"),
    _feature("context_switches", "Context Switches", "switches"),
    _feature("covered_lines", "Covered Lines", "lines"),
    _feature("source_covered_lines", "Source Covered Lines", "lines"),
    _feature("covered_changes", "Covered Changes", "changes"),
    _feature("max_threads", "Max. Threads", "threads"),
    _feature("max_children", "Max. Children", "processes"),
    _feature("max_memory_bytes", "Max. Memory", "bytes"),
    _feature("ast_depth", "AST Depth", "statements"),
    _feature("assertions", "Assertions", "statements"),
    _feature("external_modules", "External Modules", "packages"),
    _feature("halstead_volume", "Halstead Volume", "bits"),
    _feature("cyclomatic_complexity", "Cyclomatic Complexity", "paths"),
    _feature("test_lines_of_code", "Test Lines of Code", "lines"),
    _feature("maintainability", "Maintainability", "of 100"),
)
FEATURE_NAMES = tuple(feature.name for feature in FEATURES)
STATIC_FEATURES = tuple(feature.name for feature in FEATURES if feature.is_static)
COLUMNS = ("id", *FEATURE_NAMES)
