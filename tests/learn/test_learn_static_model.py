"""The model of lint: its training data, its fit, its file, and invalid tables."""

from __future__ import annotations

import csv
import gzip
import io
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from shared_once import FIT_LIMIT_S, fit_lint_model

from flakehound.app.lint.model_file import default_model
from flakehound.learn.static.fit import COLUMNS, Sample, fit_static_model
from flakehound.learn.static.model import UnusableModel, from_json, to_json
from flakehound.learn.static.table import digest_of, shipped_bytes, shipped_samples, training_table
from flakehound.learn.static.unseen import unseen_nod_chances
from flakehound.learn.tables.dataset import UnusableData

STEADY = dict.fromkeys(COLUMNS, 0.0)
RISKY = {**STEADY, "rules": 4.0, "causes": 3.0}
SHARING = {**STEADY, "rules": 1.0, "causes": 1.0, "shared_objects": 5.0, "patches": 4.0, "rules_test_order": 1.0}


def sample(values, *, nod=False, order_dependent=False, project="shop", file="test_a.py", own=False):
    return Sample(project=project, file=file, values=values, nod=nod, order_dependent=order_dependent, own=own)


def some_samples(project="shop"):
    """Tests of three files: steady ones, NOD tests, victims."""
    return [
        *(sample(STEADY, project=project, file="steady.py") for _ in range(40)),
        *(sample(RISKY, project=project, file="risky.py", nod=number < 8) for number in range(10)),
        *(sample(SHARING, project=project, file="state.py", order_dependent=number < 6) for number in range(10)),
    ]


FIT_SCRIPT = """
import sys
from pathlib import Path
from flakehound.app.lint.model_file import default_model
from flakehound.learn.static import table
from flakehound.learn.static.model import to_json
if len(sys.argv) > 2:
    table.shipped_bytes = Path(sys.argv[2]).read_bytes
model = default_model(Path(sys.argv[1]))
model.chances([{}], ["a"])
print([name for name in ("numpy", "sklearn", "scipy") if name in sys.modules])
print(to_json(model), end="")
"""


def fit_in_another_process(cache, *training):
    """The default model as JSON, fitted by another process with this cache; to other training data, if given."""
    command = [sys.executable, "-c", FIT_SCRIPT, str(cache), *map(str, training)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=FIT_LIMIT_S)
    imported_extras, _, text = result.stdout.partition("\n")
    assert imported_extras == "[]"
    return text


@cache
def default():
    """The default model, fitted once for all tests of all workers."""
    fit_lint_model()
    return default_model()


@pytest.fixture
def few_samples(monkeypatch):
    """Small training data of two projects in place of the shipped one: the default model is fitted quickly."""
    rows = [
        {
            "id": f"{one.file}::test_{number}",
            "project": one.project,
            "nod": int(one.nod),
            "order_dependent": int(one.order_dependent),
            **one.values,
        }
        for number, one in enumerate([*some_samples(), *some_samples("bank")])
    ]
    packed = gzip.compress(csv_text(rows).encode(), mtime=0)
    monkeypatch.setattr("flakehound.learn.static.table.shipped_bytes", lambda: packed)
    return packed


def test_the_shipped_data_has_the_documented_size():
    samples = shipped_samples(shipped_bytes())

    assert len({one.project for one in samples}) >= 150
    assert sum(one.nod for one in samples) >= 250
    assert sum(one.order_dependent for one in samples) >= 900


def test_the_default_model_gives_risky_tests_and_tests_with_shared_state_higher_chances():
    steady, risky, sharing = default().chances([STEADY, RISKY, SHARING], ["a.py", "b.py", "c.py"])

    assert steady.flaky < risky.flaky
    assert steady.nod < risky.nod
    assert steady.order_dependent < sharing.order_dependent


def test_the_chances_of_the_training_tests_add_up_to_the_flaky_ones():
    tests = some_samples()
    model = fit_static_model(tests, "digest")

    chances = model.chances([one.values for one in tests], [one.file for one in tests], project_tests=len(tests))

    assert sum(one.nod for one in chances) == pytest.approx(8, abs=0.01)
    assert sum(one.order_dependent for one in chances) == pytest.approx(6, abs=0.01)


def test_both_kinds_count_the_same_in_the_one_score():
    tests = [
        *some_samples(),
        *(sample(SHARING, file="more.py", order_dependent=number < 24) for number in range(40)),
    ]
    model = fit_static_model(tests, "digest")

    chances = model.chances([one.values for one in tests], [one.file for one in tests])

    risky, sharing = (
        next(c for c, t in zip(chances, tests, strict=True) if t.values is v) for v in (RISKY, SHARING)
    )
    assert risky.flaky > risky.nod
    assert sharing.flaky < sharing.order_dependent + 0.01
    assert sum(one.flaky for one in chances) == pytest.approx(8 + 30, abs=4)  # some tests may be of both kinds


def test_what_sets_projects_apart_is_not_learned():
    busy = {**STEADY, "paths": 9.0}
    # All tests of the first project have the signal, and many of them are flaky; no test of the second has it.
    first = [sample(busy, project="a", order_dependent=number < 20) for number in range(40)]
    second = [sample(STEADY, project="b", order_dependent=number < 2) for number in range(40)]

    model = fit_static_model([*first, *second, *some_samples()], "digest")

    assert abs(model.order_dependent.weights["file paths"]) < 0.01


def test_tests_of_small_projects_are_likelier_to_be_flaky_in_the_same_order():
    few = [sample(RISKY, project="few", file="risky.py", nod=True), *(sample(STEADY, project="few"),) * 3]
    model = fit_static_model([*some_samples(), *few], "digest")
    tests, files = [RISKY, STEADY], ["a.py", "b.py"]

    small, usual, large = (model.chances(tests, files, project_tests=count) for count in (4, None, 4000))

    assert small[0].nod > usual[0].nod > large[0].nod
    for risky, steady in (small, usual, large):
        assert risky.nod > steady.nod


def test_files_of_a_team_in_which_tests_flaked_raise_the_chances_of_their_other_tests():
    own = [sample(STEADY, project="ours", file="bad.py", nod=number < 3, own=True) for number in range(10)]
    own += [sample(STEADY, project="ours", file="good.py", own=True) for _ in range(10)]

    model = fit_static_model([*some_samples(), *own], "digest")

    bad, new, good = model.chances([STEADY] * 3, ["bad.py", "new.py", "good.py"])
    assert bad.nod > new.nod > good.nod
    assert from_json(to_json(model), "it") == model


def test_the_score_of_a_test_depends_on_the_other_tests_of_its_file():
    among_steady, among_risky = (
        default().chances([RISKY, *[other] * 9], ["a.py"] * 10)[0] for other in (STEADY, RISKY)
    )

    assert among_steady.flaky < among_risky.flaky


def test_the_order_of_samples_does_not_matter():
    tests = [*some_samples(), *some_samples("bank")]

    assert fit_static_model(tests, "digest") == fit_static_model(tests[::-1], "digest")


def test_another_process_fits_exactly_the_same_model_without_any_extra(few_samples, tmp_path):
    (tmp_path / "few.csv.gz").write_bytes(few_samples)

    text = fit_in_another_process(tmp_path / "theirs", tmp_path / "few.csv.gz")

    assert text == to_json(default_model(tmp_path / "ours"))
    assert text == to_json(default_model(tmp_path / "theirs"))


@pytest.mark.slow
def test_another_process_fits_exactly_the_same_default_model(tmp_path):
    assert fit_in_another_process(tmp_path) == to_json(default())


def test_a_damaged_cache_is_replaced(few_samples, tmp_path):
    file = tmp_path / f"model-{digest_of(few_samples)}.json"
    file.write_text('{"schema": "flakehound/model/4"')

    model = default_model(tmp_path)

    assert file.read_text() == to_json(model)
    assert default_model(tmp_path) == model


def test_a_cache_that_cannot_be_written_is_no_error(few_samples, tmp_path):
    (tmp_path / "file").write_text("")

    assert default_model(tmp_path / "file" / "folder") == default_model(tmp_path)


def test_a_model_is_equal_after_writing_and_reading():
    assert from_json(to_json(default()), "it") == default()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda _text: "nothing", "JSONDecodeError"),
        (lambda _text: "[1]", "TypeError"),
        (lambda _text: '{"schema": "flakehound/model/1"}', "its schema is 'flakehound/model/1'"),
        (lambda _text: '{"schema": "flakehound/model/4"}', "KeyError"),
        (lambda text: re.sub(r'"constant": [-.\d]+', '"constant": NaN', text), "not a finite number"),
        (lambda text: re.sub(r'"even": [-.\d]+', '"even": NaN', text), "'even' is not a finite number"),
    ],
)
def test_the_error_for_an_invalid_model_file_has_the_reason(damage, reason):
    text = damage(to_json(default()))

    with pytest.raises(UnusableModel, match=reason) as raised:
        from_json(text, "model.json")

    assert raised.value.remedy == "flakehound train"


def csv_text(rows, header=None):
    """Rows as the text of a CSV file."""
    text = io.StringIO()
    columns = header or ["id", "project", "nod", "order_dependent", *COLUMNS]
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_rows(*rows, header=None):
    """The training table that is read from these rows."""
    reader = csv.DictReader(io.StringIO(csv_text(rows, header)))
    return training_table("ours.csv", reader.fieldnames, reader, own=True)


def row(number=0, **changed):
    labels = {"id": f"test_a.py::test_{number}", "project": "shop", "nod": 0, "order_dependent": 0}
    return {**labels, **dict.fromkeys(COLUMNS, 1), **changed}


def test_samples_of_a_team_are_marked_as_own():
    found = read_rows(row(1), row(2, nod=1))

    assert [(one.file, one.nod, one.own) for one in found.samples] == [
        ("test_a.py", False, True),
        ("test_a.py", True, True),
    ]


@pytest.mark.parametrize("value", ["", "nan", "inf", "many", "1e31"])
def test_a_row_with_an_invalid_feature_is_left_out_and_counted(value):
    found = read_rows(row(1), row(2, rules=value))

    assert len(found.samples) == 1
    (one,) = found.exclusions
    assert (one.rows, one.why[:14]) == (1, "with a feature")


def test_a_row_with_a_repeated_id_is_left_out():
    found = read_rows(row(1), row(1, nod=1), row(1, project="bank"))

    assert [one.nod for one in found.samples] == [False, False]
    assert found.left_out == {"whose id an earlier row has": 1}


@pytest.mark.parametrize("label", ["2", "", "yes", "-1"])
def test_an_invalid_label_is_an_error(label):
    with pytest.raises(UnusableData, match=r"'nod' is .* for 'test_a.py::test_3'"):
        read_rows(row(3, nod=label))


def test_a_test_of_unknown_kind_counts_only_in_the_means_of_its_file():
    found = read_rows(row(1, nod="", order_dependent=""), row(2))

    assert [one.learned for one in found.samples] == [False, True]
    steady = [sample(STEADY, file="risky.py") for _ in range(9)]
    unknown = [replace(one, learned=False) for one in steady]
    plain, among_steady = (
        fit_static_model(some_samples(), "digest"),
        fit_static_model([*some_samples(), *unknown], "digest"),
    )
    assert plain.trained_on.tests == among_steady.trained_on.tests
    assert plain.nod != among_steady.nod


def test_a_missing_column_is_reported():
    with pytest.raises(UnusableData, match="no column 'nod', 'rules'"):
        read_rows(row(), header=["id", "project", "order_dependent", *[one for one in COLUMNS if one != "rules"]])


def test_a_table_without_the_score_of_words_is_an_error():
    with pytest.raises(UnusableData, match="no column 'words_nod'"):
        read_rows(row(), header=[one for one in row() if one != "words_nod"])


def test_a_table_of_a_later_version_is_an_error():
    with pytest.raises(UnusableData, match="version '9'"):
        read_rows(row(version=9), header=["version", *row()])


def test_one_class_only_is_an_error():
    with pytest.raises(UnusableData, match="none is order-dependent"):
        fit_static_model([sample(STEADY, nod=True), sample(RISKY)], "digest")


def test_tests_of_unseen_projects_are_scored_without_their_project():
    inverted = [replace(one, nod=not one.nod) for one in some_samples("a")]  # steady and NOD tests are swapped
    tests = [*inverted, *(one for name in "bcdef" for one in some_samples(name))]

    found = unseen_nod_chances(tests)

    assert len(found.nod) == sum(one.nod for one in tests) == 52 + 5 * 8
    assert len(found.others) == len(tests) - len(found.nod)
    # A model that was trained on project a would give these tests a high chance.
    assert sorted(found.nod)[:40] == pytest.approx([min(found.nod)] * 40)
    assert min(found.nod) < 0.2 < max(found.nod)
