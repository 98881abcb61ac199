"""Which columns of a table say what: ids, projects, outcome counts, labels, features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from flakehound.core.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """The meaning of a table's columns; several columns of a count are added up."""

    id: tuple[str, ...] = ("id",)  # joined with "::"
    project: str = "project"
    label: str | None = None  # 0 or 1; None: labels come from the counts
    original_passed: tuple[str, ...] = ()
    original_failed: tuple[str, ...] = ()
    shuffled_passed: tuple[str, ...] = ()
    shuffled_failed: tuple[str, ...] = ()
    polluter: str | None = None  # 0 or 1
    cost_s: str | None = None  # seconds of one run
    words: str | None = None  # words of the test's source, blanks between them
    features: tuple[str, ...] | None = None  # None: every column that nothing else names
    ignored: tuple[str, ...] = ()
    left_out_where: tuple[str, ...] = ()  # a row is left out where one of these is true
    projects: tuple[str, ...] = ()  # only these; none named: all

    def named(self) -> tuple[str, ...]:
        """Columns that must be there."""
        one = (self.project, self.label, self.polluter, self.cost_s, self.words)
        counts = (self.original_passed, self.original_failed, self.shuffled_passed, self.shuffled_failed)
        named = (*self.id, *(name for name in one if name), *(name for group in counts for name in group))
        return (*named, *self.left_out_where)


STATIC = (
    *("tloc", "tmcCabe", "assertionDensity", "assertionRoulette", "mysteryGuest", "eagerTest"),
    *("sensitiveEquality", "resourceOptimism", "conditionalTestLogic", "fireAndForget", "loc", "lcom2", "lcom5"),
    *("cbo", "wmc", "rfc", "mpc", "halsteadVocabulary", "halsteadLength", "halsteadVolume"),
    *("classDataShouldBePrivate", "complexClass", "functionalDecomposition", "godClass", "spaghettiCode"),
)
FLAKEFLAGGER = (
    *("assertion-roulette", "conditional-test-logic", "eager-test", "fire-and-forget", "indirect-testing"),
    *("mystery-guest", "resource-optimism", "test-run-war", "numAsserts", "numCoveredLines", "ExecutionTime"),
    *("projectSourceLinesCovered", "projectSourceClassesCovered"),
    *(f"hIndexModificationsPerCoveredLine_window{size}" for size in (5, 10, 25, 50, 75, 100, 500, 10000)),
    "num_third_party_libs",
)
# The projects of the source's table 8 that the reconstructed table has.
_IDFLAKIES_OF_TABLE_8 = (
    *("Activiti", "admiral", "fastjson", "http-request", "dubbo", "Java-WebSocket", "pippo", "querydsl", "Struts"),
    "wildfly",
)

# The file's name without `.csv.gz` -> its columns. "flakehound" is what `flakehound data export` writes.
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
        id=("testCase",), project="nameProject", label="isFlaky", features=STATIC
    ),
    "java_static_and_dynamic_flakeflagger": ColumnMapping(
        id=("testCase",), project="nameProject", label="isFlaky", features=(*STATIC, *FLAKEFLAGGER)
    ),
    "java_features_flakeflagger": ColumnMapping(
        id=("test_name",), project="project", label="flakyStatus", features=FLAKEFLAGGER
    ),
    "java_static_idflakies": ColumnMapping(
        id=("testCase",), label="isFlaky", features=STATIC, projects=_IDFLAKIES_OF_TABLE_8
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
_GROUPS = {
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


def column_mapping_from(told: object, *, remedy: str) -> ColumnMapping:
    """Columns as a JSON object says them; a name that no column table has is an error."""
    names = [one.name for one in fields(ColumnMapping)]
    if not isinstance(told, Mapping) or not set(told) <= set(names):
        unknown = sorted(set(told) - set(names)) if isinstance(told, Mapping) else told
        raise UsageError(f"{unknown!r} in a column mapping; it knows {', '.join(names)}", remedy=remedy)
    return ColumnMapping(**{name: _value(name, value, remedy) for name, value in told.items()})


def _value(name: str, value: object, remedy: str) -> Any:
    if name in _GROUPS:
        many = [value] if isinstance(value, str) else value
        if isinstance(many, Sequence) and all(isinstance(one, str) for one in many):
            return tuple(many)
    elif value is None or isinstance(value, str):
        return value
    raise UsageError(f"{name!r} in a column mapping is {value!r}, not a column's name", remedy=remedy)
