"""Tables become data sets, and bad tables clear errors or stated exclusions."""

from __future__ import annotations

import pytest
from learn_samples import COLUMNS, table

from flakehound.core.errors import UsageError
from flakehound.learn.tables.checking import constant_features, learning_obstacle
from flakehound.learn.tables.column_mapping import KNOWN_MAPPINGS, ColumnMapping, column_mapping_from
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.problems import Problem

COUNTED = ColumnMapping(
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


def excluded(data):
    return {one.why: one.rows for one in data.exclusions}


def positive(data, problem):
    labels = data.labels(problem)
    return [data.ids[place] for place, label in zip(labels.domain, labels.positive, strict=True) if label]


def test_columns_that_nothing_names_are_features_with_their_names():
    data = table("id,project,flaky,size,depth\nt1,p,1,3,0.5\nt2,p,0,4,1")

    assert data.features == ("size", "depth")
    assert data.values.tolist() == [[3, 0.5], [4, 1]]
    assert data.label.tolist() == [1, 0]
    assert list(data.with_features(["depth"]).values[:, 0]) == [0.5, 1]


def test_the_problems_have_the_domains_and_classes_of_table_2():
    data = table(KINDS, COUNTED)

    assert positive(data, Problem.NOD_VS_REST) == ["nod", "both"]
    assert positive(data, Problem.VICTIM_VS_REST) == ["victim", "brittle"]
    assert [data.ids[place] for place in data.labels(Problem.NOD_VS_VICTIM).domain] == ["victim", "both"]
    assert positive(data, Problem.NOD_VS_VICTIM) == ["both"]


def test_polluters_are_the_ones_the_table_names():
    data = table("id,project,polluter\na,p,1\nb,p,0", ColumnMapping(polluter="polluter", features=()))

    assert positive(data, Problem.POLLUTER_VS_REST) == ["a"]


def test_a_test_of_which_nobody_knows_whether_it_pollutes_is_in_no_domain_of_polluters():
    data = table("id,project,polluter\na,p,1\nb,p,\nc,p,0", ColumnMapping(polluter="polluter", features=()))

    assert [data.ids[place] for place in data.labels(Problem.POLLUTER_VS_REST).domain] == ["a", "c"]
    assert positive(data, Problem.POLLUTER_VS_REST) == ["a"]
    assert list(data.with_known_polluters().ids) == ["a", "c"]


def test_a_missing_column_is_named_beside_the_ones_that_are_there():
    with pytest.raises(UnusableData, match=r"'table\.csv' has no column 'flaky'") as error:
        table("id,project,size\nt,p,1")

    assert error.value.detail == "its columns: id, project, size"


@pytest.mark.parametrize("label", ["2", "", "yes", "nan", "0.5"])
def test_a_label_out_of_its_domain_is_an_error_with_its_line(label):
    with pytest.raises(UnusableData, match=r"line 3 of 'table.csv'.*labels are 0 and 1"):
        table(f"id,project,flaky,size\nt1,p,1,1\nt2,p,{label},1")


@pytest.mark.parametrize("value", ["", "nan", "inf", "-inf", "1e31", "large"])
def test_a_row_with_an_unusable_feature_is_left_out_and_said(value):
    data = table(f"id,project,flaky,size\nt1,p,1,1\nt2,p,0,{value}")

    assert list(data.ids) == ["t1"]
    assert excluded(data) == {"with a feature that is empty, no number, not finite or beyond 1e+30": 1}


def test_repeated_ids_are_left_out_and_told_apart():
    data = table("id,project,flaky,size\nt,p,1,1\nt,p,1,1\nt,p,1,2\nt,q,1,1")

    assert list(zip(data.ids, data.projects, strict=True)) == [("t", "p"), ("t", "q")]
    assert excluded(data) == {"that repeat a row": 1, "whose id an earlier row has with other values": 1}


def test_rows_that_are_too_short_or_have_no_project_are_left_out():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p\nt3,,1,1\nt4,p,1,1,9")

    assert excluded(data) == {"with too few or too many fields": 2, "without a project": 1}


def test_a_table_without_a_usable_row_is_an_error_that_says_why():
    with pytest.raises(UnusableData, match="no usable row") as error:
        table("id,project,flaky,size\nt1,p,1,nan")

    assert error.value.detail.startswith("1 rows with a feature")


@pytest.mark.parametrize("count", ["-1", "1.5", "many"])
def test_a_count_that_is_none_is_an_error(count):
    with pytest.raises(UnusableData, match="is not a number of runs"):
        table(f"id,project,op,of,sp,sf\nt,p,{count},0,0,0", COUNTED)


def test_tests_that_never_ran_are_left_out():
    data = table("id,project,op,of,sp,sf\nt,p,0,0,5,0\nu,p,1,0,5,0", COUNTED)

    assert excluded(data) == {"without a run in the original order": 1}


def test_counts_of_several_columns_are_added_up():
    columns = ColumnMapping(original_passed=("op",), original_failed=("of", "error"), features=())

    data = table("id,project,op,of,error\nt,p,1,2,3", columns)

    assert (data.counts.original_runs[0], data.counts.original_failed[0]) == (6, 5)


def test_rows_and_projects_that_the_mapping_leaves_out_are_counted():
    columns = ColumnMapping(label="flaky", projects=("p",), left_out_where=("odd",))

    data = table("id,project,flaky,odd,size\nt1,p,1,False,1\nt2,p,1,True,1\nt3,q,1,False,1", columns)

    assert list(data.ids) == ["t1"]
    assert excluded(data) == {"of a project that the mapping leaves out": 1, "where odd is true": 1}


def test_one_class_only_is_told_as_an_obstacle():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p,1,2")

    assert learning_obstacle(data, Problem.LABELLED) == "all 2 tests are positive: one class only"


def test_a_single_flaky_test_cannot_be_learned_from_and_judged_by():
    data = table("id,project,flaky,size\nt1,p,1,1\nt2,p,0,2\nt3,p,0,3")

    assert "a single test" in learning_obstacle(data, Problem.LABELLED)


def test_a_constant_feature_is_named():
    assert constant_features(table("id,project,flaky,size,depth\nt1,p,1,1,5\nt2,p,0,2,5")) == ("depth",)


def test_a_column_mapping_comes_from_json():
    told = {"id": ["file", "name"], "project": "repo", "label": "flaky", "features": ["size"]}

    assert column_mapping_from(told, remedy="") == ColumnMapping(
        id=("file", "name"), project="repo", label="flaky", features=("size",)
    )


@pytest.mark.parametrize("told", [["id"], {"ids": "x"}, {"id": 3}, {"label": ["flaky"]}])
def test_a_column_mapping_that_says_nothing_we_know_is_an_error(told):
    with pytest.raises(UsageError, match="column mapping"):
        column_mapping_from(told, remedy="flakehound data check --help")


def test_ids_are_joined_and_rows_can_be_chosen():
    columns = ColumnMapping(id=("file", "name"), label="flaky")

    data = table("file,name,project,flaky,size\na.py,t,p,1,1\na.py,u,p,0,2", columns).select_rows([1])

    assert list(data.ids) == ["a.py::u"]
    assert data.label.tolist() == [0]


def test_every_known_mapping_names_each_column_once():
    for name, columns in KNOWN_MAPPINGS.items():
        named = [*columns.required_columns(), *(columns.features or ())]
        assert len(named) == len(set(named)), name
    assert COLUMNS.required_columns() == ("id", "project", "flaky")
