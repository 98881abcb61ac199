"""The 18 features in the order of the published table (CANNIER, table 1), each with its unit.

Pure. Named, never positional: the published tool has the labels of two columns swapped.
"""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.measurements import MEASURED_FEATURES


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column."""

    name: str  # in CSV files and the store
    title: str  # as the table has it
    unit: str  # of what it counts
    is_static: bool = False  # told by the source alone, the same in every run


def _counted(name: str, title: str, unit: str) -> Feature:
    return Feature(name=name, title=title, unit=unit, is_static=name not in MEASURED_FEATURES)


FEATURES = (
    _counted("read_count", "Read Count", "system calls"),
    _counted("write_count", "Write Count", "system calls"),
    _counted("run_time_s", "Run Time", "s"),
    _counted("wait_time_s", "Wait Time", "s"),
    _counted("context_switches", "Context Switches", "switches"),
    _counted("covered_lines", "Covered Lines", "lines"),
    _counted("source_covered_lines", "Source Covered Lines", "lines"),
    _counted("covered_changes", "Covered Changes", "changes"),
    _counted("max_threads", "Max. Threads", "threads"),
    _counted("max_children", "Max. Children", "processes"),
    _counted("max_memory_bytes", "Max. Memory", "bytes"),
    _counted("ast_depth", "AST Depth", "statements"),
    _counted("assertions", "Assertions", "statements"),
    _counted("external_modules", "External Modules", "packages"),
    _counted("halstead_volume", "Halstead Volume", "bits"),
    _counted("cyclomatic_complexity", "Cyclomatic Complexity", "paths"),
    _counted("test_lines_of_code", "Test Lines of Code", "lines"),
    _counted("maintainability", "Maintainability", "of 100"),
)
NAMES = tuple(feature.name for feature in FEATURES)
STATIC = tuple(feature.name for feature in FEATURES if feature.is_static)
COLUMNS = ("id", *NAMES)
