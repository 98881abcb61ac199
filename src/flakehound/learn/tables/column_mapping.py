"""The meaning of a table's columns: ids, projects, outcome counts, labels, features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from flakehound.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """Which columns of a table have which meaning; several columns for one count are added up."""

    id: tuple[str, ...] = ("id",)  # joined with "::"
    project: str = "project"
    label: str | None = None  # 0 or 1; None: labels come from the counts
    original_passed: tuple[str, ...] = ()
    original_failed: tuple[str, ...] = ()
    shuffled_passed: tuple[str, ...] = ()
    shuffled_failed: tuple[str, ...] = ()
    polluter: str | None = None  # 0 or 1
    cost_s: str | None = None  # seconds of one run
    words: str | None = None  # words of the test's source, separated by blanks
    features: tuple[str, ...] | None = None  # None: all columns without another meaning
    ignored: tuple[str, ...] = ()
    left_out_where: tuple[str, ...] = ()  # a row is left out if one of these columns is true
    projects: tuple[str, ...] = ()  # use only these; empty: all

    def required_columns(self) -> tuple[str, ...]:
        """The columns that a table must have, without features."""
        single = (self.project, self.label, self.polluter, self.cost_s, self.words)
        counts = (self.original_passed, self.original_failed, self.shuffled_passed, self.shuffled_failed)
        count_columns = (name for group in counts for name in group)
        return (*self.id, *(name for name in single if name), *count_columns, *self.left_out_where)


STATIC_FEATURES = (
    *("tloc", "tmcCabe", "assertionDensity", "assertionRoulette", "mysteryGuest", "eagerTest"),
    *("sensitiveEquality", "resourceOptimism", "conditionalTestLogic", "fireAndForget", "loc", "lcom2", "lcom5"),
    *("cbo", "wmc", "rfc", "mpc", "halsteadVocabulary", "halsteadLength", "halsteadVolume"),
    *("classDataShouldBePrivate", "complexClass", "functionalDecomposition", "godClass", "spaghettiCode"),
)
FLAKEFLAGGER_FEATURES = (
    *("assertion-roulette", "conditional-test-logic", "eager-test", "fire-and-forget", "indirect-testing"),
    *("mystery-guest", "resource-optimism", "test-run-war", "numAsserts", "numCoveredLines", "ExecutionTime"),
    *("projectSourceLinesCovered", "projectSourceClassesCovered"),
    *(f"hIndexModificationsPerCoveredLine_window{size}" for size in (5, 10, 25, 50, 75, 100, 500, 10000)),
    "num_third_party_libs",
)
# The projects of table 8 of STATIC that are in the reconstructed table.
_IDFLAKIES_PROJECTS = (
    *("Activiti", "admiral", "fastjson", "http-request", "dubbo", "Java-WebSocket", "pippo", "querydsl", "Struts"),
    "wildfly",
)

# File name without `.csv.gz` -> columns. `flakehound data export` writes the columns of "flakehound".
KNOWN_MAPPINGS: Mapping[str, ColumnMapping] = {
    "flakehound": ColumnMapping(
        original_passed=("original_passed",),
        original_failed=("original_failed",),
        shuffled_passed=("shuffled_passed",),
        shuffled_failed=("shuffled_failed",),
        polluter="polluter",
        cost_s="cost_s",
    ),
    "java_static_flakeflagger": ColumnMapping(
        id=("testCase",), project="nameProject", label="isFlaky", features=STATIC_FEATURES
    ),
    "java_static_and_dynamic_flakeflagger": ColumnMapping(
        id=("testCase",),
        project="nameProject",
        label="isFlaky",
        features=(*STATIC_FEATURES, *FLAKEFLAGGER_FEATURES),
    ),
    "java_features_flakeflagger": ColumnMapping(
        id=("test_name",), project="project", label="flakyStatus", features=FLAKEFLAGGER_FEATURES
    ),
    "java_static_idflakies": ColumnMapping(
        id=("testCase",), label="isFlaky", features=STATIC_FEATURES, projects=_IDFLAKIES_PROJECTS
    ),
    "java_tokens_flakeflagger": ColumnMapping(id=("test_name",), label="label", words="tokens", features=()),
    "java_reruns_10000_flakeflagger": ColumnMapping(
        id=("Test",),
        project="Project",
        original_passed=("NumPassingRuns",),
        original_failed=("NumFailingRuns",),
        features=(),
    ),
    "python_flaky": ColumnMapping(
        id=("Test_filename", "Test_classname", "Test_funcname", "Test_parametrization"),
        project="Project_Name",
        original_passed=("Passed_sameOrder",),
        original_failed=("Failed_sameOrder", "Error_sameOrder"),
        shuffled_passed=("Passed_randomOrder",),
        shuffled_failed=("Failed_randomOrder", "Error_randomOrder"),
        features=(),
    ),
}
# Neither order-dependent nor by infrastructure: what Gruber et al. call NOD.
KNOWN_MAPPINGS = {
    **KNOWN_MAPPINGS,
    "python_nod": replace(
        KNOWN_MAPPINGS["python_flaky"], left_out_where=("Order-dependent", "Flaky_Infrastructure")
    ),
}
_FIELDS_WITH_SEVERAL_COLUMNS = {
    "id",
    "left_out_where",
    "original_passed",
    "original_failed",
    "shuffled_passed",
    "shuffled_failed",
    "features",
    "ignored",
    "projects",
}


def column_mapping_from(content: object, *, remedy: str) -> ColumnMapping:
    """The mapping in a JSON object; raises UsageError for an unknown name or an invalid value."""
    names = [field.name for field in fields(ColumnMapping)]
    if not isinstance(content, Mapping) or not set(content) <= set(names):
        unknown = sorted(set(content) - set(names)) if isinstance(content, Mapping) else content
        raise UsageError(f"{unknown!r} in a column mapping; known names: {', '.join(names)}", remedy=remedy)
    return ColumnMapping(**{name: _field_value(name, value, remedy) for name, value in content.items()})


def _field_value(name: str, value: object, remedy: str) -> Any:
    if name in _FIELDS_WITH_SEVERAL_COLUMNS:
        columns = [value] if isinstance(value, str) else value
        if isinstance(columns, Sequence) and all(isinstance(column, str) for column in columns):
            return tuple(columns)
    elif value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name!r} in a column mapping is {value!r}, not a column's name", remedy=remedy)
