"""The figures of a study: N_E as in the thesis' table 4.5, shares, and the walk from change to change."""

from __future__ import annotations

from textwrap import dedent

import pytest
from triage_samples import seen

from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import FileChange, FileStatus
from flakehound.triage.entities import changed_entities
from flakehound.triage.study.carried_lines import carried_back
from flakehound.triage.study.figures import distribution_of, equivalent_reruns, reruns_to_time, same_process_s
from flakehound.triage.study.revision_walk import DOUBT, RevisionChange, RevisionWalk

NUMBERS = (1, 5, 10, 20, 50)
# Table 4.5: base, then with 1, 5, 10, 20 and 50 reruns in the same process, then N_E.
TABLE = {
    "Ambari_f1": (1.11, (1.74, 8.61, 20.43, 43.90, 114.62), 1.28),
    "Ambari_t1": (8.41, (10.67, 16.84, 23.67, 32.22, 54.85), 4.99),
    "Ambari_t2": (7.58, (9.89, 16.14, 21.04, 30.97, 54.72), 4.37),
    "Hadoop_f1": (12.36, (14.53, 17.59, 27.68, 51.12, 63.00), 8.53),
    "Hadoop_f2": (8.19, (9.03, 11.34, 14.67, 20.33, 36.99), 13.02),
    "Hadoop_f3": (14.07, (17.08, 29.17, 43.00, 70.80, 148.63), 4.66),
    "Hadoop_f4": (12.91, (14.41, 18.38, 23.78, 32.41, 57.22), 12.36),
    "HBase_f1": (2.99, (5.00, 14.54, 32.63, 90.73, 494.35), 1.41),
    "HBase_t1": (0.45, (0.46, 0.52, 0.63, 0.80, 0.99), 35.79),
    "HBase_t2": (0.45, (0.48, 0.52, 0.56, 0.63, 0.72), 110.00),
    "HBase_t3": (0.70, (0.95, 1.42, 1.75, 2.11, 3.15), 4.83),
    "HttpCore_f1": (0.47, (0.50, 0.55, 0.68, 0.84, 1.17), 29.09),
    "HttpCore_t1": (0.43, (0.45, 0.49, 0.55, 0.67, 0.96), 39.66),
    "HttpCore_t2": (0.47, (0.50, 0.54, 0.61, 0.80, 1.12), 33.13),
    "Oozie_f1": (23.54, (26.91, 35.76, 46.95, 65.97, 122.82), 10.06),
    "Oozie_t1": (22.57, (25.25, 32.12, 40.53, 58.54, 109.56), 12.56),
    "Oozie_t2": (22.38, (24.22, 32.08, 40.52, 59.79, 109.49), 12.20),
}
ROOT = "/repo"
SHOP = "/repo/shop.py"
TEST = NodeId("test_shop.py::test_total")


@pytest.mark.parametrize("name", TABLE)
def test_n_e_is_that_of_the_thesis(name):
    base_s, whole_s, n_e = TABLE[name]

    found = equivalent_reruns(base_s, same_process_s(base_s, dict(zip(NUMBERS, whole_s, strict=True))))

    assert found is not None
    # Theirs may have been computed before the times were rounded, and 33.125 is printed as 33.13.
    assert found.reruns == pytest.approx(n_e, abs=0.0101)


def test_only_what_lies_beyond_the_measured_reruns_is_extrapolated():
    marked = [
        name
        for name, (base_s, whole_s, _n_e) in TABLE.items()
        if equivalent_reruns(base_s, same_process_s(base_s, dict(zip(NUMBERS, whole_s, strict=True)))).extrapolated
    ]

    assert marked == ["HBase_t2"]


def test_a_new_process_that_is_cheaper_than_one_rerun_is_worth_less_than_one():
    found = equivalent_reruns(0.5, {1: 2.0, 5: 10.0})

    assert found is not None
    assert found.reruns == 0.25
    assert not found.extrapolated


def test_reruns_that_take_no_time_that_can_be_measured_have_no_n_e():
    assert equivalent_reruns(1.0, {1: 0.02, 5: 0.01}) is None
    assert equivalent_reruns(1.0, {}) is None


def test_a_time_that_falls_in_between_does_not_confuse_the_interpolation():
    found = equivalent_reruns(1.0, {1: 0.4, 5: 0.3, 10: 1.3})

    assert found is not None
    assert found.reruns == pytest.approx(8.5)


def test_an_extrapolated_n_e_is_marked_where_it_is_told():
    assert str(equivalent_reruns(4.0, {1: 1.0})) == "4.00*"
    assert str(equivalent_reruns(1.0, {1: 1.0})) == "1.00"


def test_quick_tests_are_rerun_more_often():
    assert (reruns_to_time(0.002), reruns_to_time(0.5)) == (100, 10)


def test_a_distribution_has_quartiles_and_the_whiskers_of_the_thesis():
    found = distribution_of([100, 0, 50, 25, 75])

    assert (found.least, found.quarter, found.median, found.three_quarters, found.most) == (0, 25, 50, 75, 100)
    assert (found.tenth, found.ninetieth, found.tests) == (10, 90, 5)


def test_one_value_is_its_own_distribution():
    found = distribution_of([80.0])

    assert {found.least, found.quarter, found.median, found.most} == {80.0}


def source(text):
    return dedent(text).lstrip("\n").encode()


BEFORE = source("""
    LIMIT = 3


    def total(prices):
        return sum(prices)


    def names(items):
        # Sorted, so that people find them.
        found = sorted(items)
        return found
""")
LONGER_TOTAL = source("""
    LIMIT = 3


    def total(prices):
        result = 0
        for price in prices:
            result += price
        return result


    def names(items):
        found = sorted(items)
        return found
""")
OTHER_NAMES = BEFORE.replace(b"sorted(items)", b"list(items)")
OTHER_LIMIT = BEFORE.replace(b"LIMIT = 3", b"LIMIT = 4")


def change(before, after, path="shop.py", number=1):
    files = [FileChange(path=path, status=FileStatus.MODIFIED, before=before, after=after)]
    return RevisionChange(
        older=f"r{number}",
        newer=f"r{number + 1}",
        files=files,
        entities=[entity for file in files for entity in changed_entities(file)],
        root=ROOT,
        rootdir=ROOT,
    )


def calls_names(lines):
    imported = {"shop": SHOP, "test_shop": "/repo/test_shop.py"}
    return seen(imported=imported, lines={SHOP: lines, "/repo/test_shop.py": [1, 3, 4]})


def test_executed_functions_are_found_again_where_they_stand_before_the_change():
    kept = carried_back(calls_names([1, 4, 11, 12, 13]), change(BEFORE, LONGER_TOTAL).files, root=ROOT)

    assert kept is not None
    executed = kept.lines[SHOP]
    assert {10, 11} <= executed  # names
    assert 5 not in executed  # total
    assert {1, 4, 8} <= executed  # what importing executes


def test_a_file_that_did_not_change_keeps_its_lines():
    kept = carried_back(calls_names([1, 4, 11, 12, 13]), change(BEFORE, LONGER_TOTAL).files, root=ROOT)

    assert kept is not None
    assert kept.lines["/repo/test_shop.py"] == {1, 3, 4}


def test_what_cannot_be_read_has_to_be_recorded_again():
    files = [FileChange(path="shop.py", status=FileStatus.MODIFIED, before=None, after=BEFORE)]

    assert carried_back(calls_names([1]), files, root=ROOT) is None


def test_a_disjoint_test_is_not_recorded_again_and_others_are():
    walk = RevisionWalk()
    total = NodeId("test_shop.py::test_sum")
    walk.add_recorded({TEST: calls_names([1, 4, 11, 12, 13]), total: calls_names([1, 4, 5, 6, 8, 11])})

    step = walk.go_back(change(BEFORE, LONGER_TOTAL), {TEST, total})

    assert (step.compared, step.disjoint) == (2, 1)
    assert walk.missing([TEST, total]) == [total]


def test_a_carried_test_meets_the_next_change_with_the_right_lines():
    walk = RevisionWalk()
    walk.add_recorded({TEST: calls_names([1, 4, 11, 12, 13])})
    walk.go_back(change(BEFORE, LONGER_TOTAL, number=2), {TEST})

    step = walk.go_back(change(OTHER_NAMES, BEFORE), {TEST})

    assert step.disjoint == 0
    assert walk.shares()[TEST].percent == 50.0
    assert walk.reasons == {"it executes a changed function": 1}


def test_a_change_at_module_level_touches_every_test_that_imports_it():
    walk = RevisionWalk()
    walk.add_recorded({TEST: calls_names([1, 4, 8, 10, 11])})

    step = walk.go_back(change(OTHER_LIMIT, BEFORE), {TEST})

    assert step.disjoint == 0
    assert list(walk.reasons) == ["it imports a module whose definitions or statements changed"]


def test_a_comment_is_no_change():
    walk = RevisionWalk()
    walk.add_recorded({TEST: calls_names([1, 4, 8, 10, 11])})

    step = walk.go_back(change(BEFORE.replace(b"people", b"users"), BEFORE), {TEST})

    assert (step.changed, step.disjoint) == (0, 1)


def test_a_test_that_is_not_there_before_the_change_is_not_compared():
    walk = RevisionWalk()
    walk.add_recorded({TEST: calls_names([1])})

    step = walk.go_back(change(BEFORE, OTHER_LIMIT), set())

    assert (step.compared, walk.shares()) == (0, {})


def test_a_test_that_could_not_be_recorded_is_never_disjoint():
    walk = RevisionWalk()
    walk.add_recorded({TEST: None})

    step = walk.go_back(change(BEFORE, OTHER_NAMES), {TEST})

    assert (step.compared, step.disjoint) == (1, 0)
    assert walk.reasons == {DOUBT: 1}
    assert walk.missing([TEST]) == [TEST]
