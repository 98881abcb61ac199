"""Data sets from tables: errors in a table are reported, unusable rows are left out and counted."""

from __future__ import annotations

import pytest
from learn_samples import COLUMNS, table

from flakehound.core.errors import UsageError
from flakehound.learn.tables.checking import constant_features, learning_obstacle
from flakehound.learn.tables.column_mapping import KNOWN_MAPPINGS, ColumnMapping, column_mapping_from
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.problems import Problem

COUNT_MAPPING = ColumnMapping(
    original_passed=("op",), original_failed=("of",), shuffled_passed=("sp",), shuffled_failed=("sf",), features=()
)
KINDS = """
    id,project,op,of,sp,sf
    steady,p,10,0,20,0
    nod,p,9,1,20,0
    victim,p,10,0,15,5
    failing,p,0,10,0,20
    brittle,p,0,10,5,15
    both,p,5,5,10,10
"""


def exclusions_of(data):
    return {exclusion.why: exclusion.rows for exclusion in data.exclusions}


def positive_tests(data, problem):
    labels = data.labels(problem)
    return [data.ids[row] for row, label in zip(labels.domain, labels.positive, strict=True) if label]


def test_columns_without_another_meaning_are_features():
    data = table("id,project,flaky,size,depth\nt1,p,1,3,0.5\nt2,p,0,4,1")

    assert data.features == ("size", "depth")
    assert data.values.tolist() == [[3, 0.5], [4, 1]]
    assert data.label.tolist() == [1, 0]
    assert list(data.with_features(["depth"]).values[:, 0]) == [0.5, 1]


def test_the_problems_have_the_domains_and_classes_of_table_2():
    data = table(KINDS, COUNT_MAPPING)

    assert positive_tests(data, Problem.NOD_VS_REST) == ["nod", "both"]
    assert positive_tests(data, Problem.VICTIM_VS_REST) == ["victim", "brittle"]
    assert [data.ids[row] for row in data.labels(Problem.NOD_VS_VICTIM).domain] == ["victim", "both"]
    assert positive_tests(data, Problem.NOD_VS_VICTIM) == ["both"]


def test_polluters_are_those_that_the_table_labels():
    data = table("id,project,polluter\na,p,1\nb,p,0", ColumnMapping(polluter="polluter", features=()))

    assert positive_tests(data, Problem.POLLUTER_VS_REST) == ["a"]


def test_a_test_without_a_label_for_polluters_is_not_in_their_domain():
    data = table("id,project,polluter\na,p,1\nb,p,\nc,p,0", ColumnMapping(polluter="polluter", features=()))

    assert [data.ids[row] for row in data.labels(Problem.POLLUTER_VS_REST).domain] == ["a", "c"]
    assert positive_tests(data, Problem.POLLUTER_VS_REST) == ["a"]
    assert list(data.with_known_polluters().ids) == ["a", "c"]


def test_a_missing_column_is_reported_with_the_existing_ones():
    with pytest.raises(UnusableData, match=r"'table\.csv' has no column 'flaky'") as error:
        table("id,project,size\nt,p,1")

    assert error.value.detail == "its columns: id, project, size"


@pytest.mark.parametrize("label", ["2", "", "yes", "nan", "0.5"])
def test_an_invalid_label_is_an_error_with_its_line(label):
    with pytest.raises(UnusableData, match=r"line 3 of 'table.csv'.*labels are 0 and 1"):
        table(f"id,project,flaky,size\nt1,p,1,1\nt2,p,{label},1")


@pytest.mark.parametrize("value", ["", "nan", "inf", "-inf", "1e31", "large"])
def test_a_row_with_an_unusable_feature_is_left_out_and_counted(value):
    data = table(f"id,project,flaky,size\nt1,p,1,1\nt2,p,0,{value}")

    assert list(data.ids) == ["t1"]
    assert exclusions_of(data) == {"with a feature that is empty, no number, not finite or beyond 1e+30": 1}


def test_rows_with_repeated_ids_are_left_out_by_reason():
    data = table("id,project,flaky,size\nt,p,1,1\nt,p,1,1\nt,p,1,2\nt,q,1,1")

    assert list(zip(data.ids, data.projects, strict=True)) == [("t", "p"), ("t", "q")]
    assert exclusions_of(data) == {"that repeat a row": 1, "whose id an earlier row has with other values": 1}


def test_rows_that_are_too_short_or_have_no_project_are_left_out():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p\nt3,,1,1\nt4,p,1,1,9")

    assert exclusions_of(data) == {"with too few or too many fields": 2, "without a project": 1}


def test_a_table_without_a_usable_row_is_an_error_that_says_why():
    with pytest.raises(UnusableData, match="no usable row") as error:
        table("id,project,flaky,size\nt1,p,1,nan")

    assert error.value.detail.startswith("1 rows with a feature")


@pytest.mark.parametrize("count", ["-1", "1.5", "many"])
def test_an_invalid_count_is_an_error(count):
    with pytest.raises(UnusableData, match="is not a number of runs"):
        table(f"id,project,op,of,sp,sf\nt,p,{count},0,0,0", COUNT_MAPPING)


def test_tests_that_never_ran_are_left_out():
    data = table("id,project,op,of,sp,sf\nt,p,0,0,5,0\nu,p,1,0,5,0", COUNT_MAPPING)

    assert exclusions_of(data) == {"without a run in the original order": 1}


def test_counts_of_several_columns_are_added_up():
    columns = ColumnMapping(original_passed=("op",), original_failed=("of", "error"), features=())

    data = table("id,project,op,of,error\nt,p,1,2,3", columns)

    assert (data.counts.original_runs[0], data.counts.original_failed[0]) == (6, 5)


def test_rows_and_projects_that_the_mapping_leaves_out_are_counted():
    columns = ColumnMapping(label="flaky", projects=("p",), left_out_where=("odd",))

    data = table("id,project,flaky,odd,size\nt1,p,1,False,1\nt2,p,1,True,1\nt3,q,1,False,1", columns)

    assert list(data.ids) == ["t1"]
    assert exclusions_of(data) == {"of a project that the mapping leaves out": 1, "where odd is true": 1}


def test_one_class_only_is_an_obstacle():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p,1,2")

    assert learning_obstacle(data, Problem.LABELLED) == "all 2 tests are positive: one class only"


def test_a_single_flaky_test_is_an_obstacle():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p,0,2\nt3,p,0,3")

    assert "a single test" in learning_obstacle(data, Problem.LABELLED)


def test_constant_features_are_listed():
    assert constant_features(table("id,project,flaky,size,depth\nt1,p,1,1,5\nt2,p,0,2,5")) == ("depth",)


def test_a_column_mapping_is_read_from_json():
    content = {"id": ["file", "name"], "project": "repo", "label": "flaky", "features": ["size"]}

    assert column_mapping_from(content, remedy="") == ColumnMapping(
        id=("file", "name"), project="repo", label="flaky", features=("size",)
    )


@pytest.mark.parametrize("content", [["id"], {"ids": "x"}, {"id": 3}, {"label": ["flaky"]}])
def test_an_invalid_column_mapping_is_an_error(content):
    with pytest.raises(UsageError, match="column mapping"):
        column_mapping_from(content, remedy="flakehound data check --help")


def test_id_columns_are_joined_and_rows_can_be_selected():
    columns = ColumnMapping(id=("file", "name"), label="flaky")

    data = table("file,name,project,flaky,size\na.py,t,p,1,1\na.py,u,p,0,2", columns).select_rows([1])

    assert list(data.ids) == ["a.py::u"]
    assert data.label.tolist() == [0]


def test_every_known_mapping_uses_each_column_once():
    for name, columns in KNOWN_MAPPINGS.items():
        used = [*columns.required_columns(), *(columns.features or ())]
        assert len(used) == len(set(used)), name
    assert COLUMNS.required_columns() == ("id", "project", "flaky")
