"""The model of what lint measures: its data, its fit, its file, and tables that are wrong."""

from __future__ import annotations

import csv
import gzip
import io
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

CALM = dict.fromkeys(COLUMNS, 0.0)
RISKY = {**CALM, "rules": 4.0, "causes": 3.0}
SHARING = {**CALM, "state_in_tests": 5.0, "state_in_production": 5.0, "patches": 4.0, "rules_test_order": 1.0}


def sample(values, *, nod=False, order_dependent=False, project="shop", file="test_a.py", own=False):
    return Sample(project=project, file=file, values=values, nod=nod, order_dependent=order_dependent, own=own)


def some(project="shop"):
    """Tests of three files: calm ones, NOD ones, victims."""
    return [
        *(sample(CALM, project=project, file="calm.py") for _ in range(40)),
        *(sample(RISKY, project=project, file="risky.py", nod=number < 8) for number in range(10)),
        *(sample(SHARING, project=project, file="state.py", order_dependent=number < 6) for number in range(10)),
    ]


ELSEWHERE = """
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


def fitted_elsewhere(cache, *training):
    """The default model as text, with this cache, by another process; of other training data, if named."""
    command = [sys.executable, "-c", ELSEWHERE, str(cache), *map(str, training)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=FIT_LIMIT_S)
    extras, _, text = said.stdout.partition("\n")
    assert extras == "[]"
    return text


@cache
def default():
    """The default model, fitted once for all tests of all workers."""
    fit_lint_model()
    return default_model()


@pytest.fixture
def few_samples(monkeypatch):
    """Training data of two projects in place of the shipped one, so that the default model is fitted at once."""
    rows = [
        {
            "id": f"{one.file}::test_{number}",
            "project": one.project,
            "nod": int(one.nod),
            "order_dependent": int(one.order_dependent),
            **one.values,
        }
        for number, one in enumerate([*some(), *some("bank")])
    ]
    packed = gzip.compress(written(rows).encode(), mtime=0)
    monkeypatch.setattr("flakehound.learn.static.table.shipped_bytes", lambda: packed)
    return packed


def test_the_shipped_data_has_the_projects_it_promises():
    samples = shipped_samples(shipped_bytes())

    assert len({one.project for one in samples}) >= 150
    assert sum(one.nod for one in samples) >= 250
    assert sum(one.order_dependent for one in samples) >= 900


def test_the_default_model_ranks_a_risky_test_above_a_calm_one_and_state_above_both_for_order():
    calm, risky, sharing = default().chances([CALM, RISKY, SHARING], ["a.py", "b.py", "c.py"])

    assert calm.flaky < risky.flaky
    assert calm.nod < risky.nod
    assert calm.order_dependent < sharing.order_dependent


def test_the_chances_of_the_training_tests_add_up_to_the_flaky_ones():
    tests = some()
    model = fit_static_model(tests, "digest")

    chances = model.chances([one.values for one in tests], [one.file for one in tests])

    assert sum(one.nod for one in chances) == pytest.approx(8, abs=0.01)
    assert sum(one.order_dependent for one in chances) == pytest.approx(6, abs=0.01)


def test_both_kinds_count_the_same_in_the_one_score():
    """Or the frequent kind would hide the other."""
    tests = [*some(), *(sample(SHARING, file="more.py", order_dependent=number < 24) for number in range(40))]
    model = fit_static_model(tests, "digest")

    chances = model.chances([one.values for one in tests], [one.file for one in tests])

    risky, sharing = (
        next(c for c, t in zip(chances, tests, strict=True) if t.values is v) for v in (RISKY, SHARING)
    )
    assert risky.flaky > risky.nod
    assert sharing.flaky < sharing.order_dependent + 0.01
    assert sum(one.flaky for one in chances) == pytest.approx(8 + 30, abs=2)


def test_a_word_is_seen_in_the_whole_file_and_for_the_order_only():
    talks = {**CALM, "word_file": 1.0, "word_path": 1.0}
    alone, together, calm = (
        default().chances([CALM, *[other] * 9], ["a.py"] * 10)[0]
        for other in (CALM, talks, {**CALM, "word_value": 1.0})
    )

    assert alone.nod == together.nod == calm.nod
    assert calm.order_dependent < alone.order_dependent < together.order_dependent


def test_a_test_is_seen_with_its_file():
    among_calm, among_risky = (
        default().chances([RISKY, *[other] * 9], ["a.py"] * 10)[0] for other in (CALM, RISKY)
    )

    assert among_calm.flaky < among_risky.flaky


def test_the_order_of_rows_does_not_matter():
    tests = [*some(), *some("bank")]

    assert fit_static_model(tests, "digest") == fit_static_model(tests[::-1], "digest")


def test_another_process_finds_the_same_model_to_the_last_digit_and_without_any_extra(few_samples, tmp_path):
    (tmp_path / "few.csv.gz").write_bytes(few_samples)

    text = fitted_elsewhere(tmp_path / "theirs", tmp_path / "few.csv.gz")

    assert text == to_json(default_model(tmp_path / "ours"))
    assert text == to_json(default_model(tmp_path / "theirs"))


@pytest.mark.slow
def test_another_process_finds_the_same_default_model_to_the_last_digit(tmp_path):
    assert fitted_elsewhere(tmp_path) == to_json(default())


def test_a_damaged_cache_is_made_again(few_samples, tmp_path):
    file = tmp_path / f"model-{digest_of(few_samples)}.json"
    file.write_text('{"schema": "flakehound/model/2"')

    model = default_model(tmp_path)

    assert file.read_text() == to_json(model)
    assert default_model(tmp_path) == model


def test_a_cache_that_cannot_be_written_is_no_error(few_samples, tmp_path):
    (tmp_path / "file").write_text("")

    assert default_model(tmp_path / "file" / "folder") == default_model(tmp_path)


def test_a_model_survives_being_written():
    assert from_json(to_json(default()), "it") == default()


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (lambda _text: "nothing", "JSONDecodeError"),
        (lambda _text: "[1]", "TypeError"),
        (lambda _text: '{"schema": "flakehound/model/1"}', "its schema is 'flakehound/model/1'"),
        (lambda _text: '{"schema": "flakehound/model/2"}', "KeyError"),
        (lambda text: text.replace('"constant": ', '"constant": NaN, "was": '), "not a finite number"),
        (lambda text: text.replace('"even": ', '"even": NaN, "was": '), "'even' is not a finite number"),
    ],
)
def test_a_file_that_is_no_model_says_why(damaged, why):
    text = damaged(to_json(default()))

    with pytest.raises(UnusableModel, match=why) as told:
        from_json(text, "model.json")

    assert told.value.remedy == "flakehound train"


def written(rows, header=None):
    """Rows as the text of a table."""
    text = io.StringIO()
    columns = header or ["id", "project", "nod", "order_dependent", *COLUMNS]
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def table(*rows, header=None):
    """Rows of a table as its reader gives them."""
    reader = csv.DictReader(io.StringIO(written(rows, header)))
    return training_table("ours.csv", reader.fieldnames, reader, own=True)


def row(number=0, **changed):
    labels = {"id": f"test_a.py::test_{number}", "project": "shop", "nod": 0, "order_dependent": 0}
    return {**labels, **dict.fromkeys(COLUMNS, 1), **changed}


def test_the_rows_of_a_team_are_its_own():
    found = table(row(1), row(2, nod=1))

    assert [(one.file, one.nod, one.own) for one in found.samples] == [
        ("test_a.py", False, True),
        ("test_a.py", True, True),
    ]


@pytest.mark.parametrize("bad", ["", "nan", "inf", "many", "1e31"])
def test_a_row_with_a_bad_feature_is_left_out_and_counted(bad):
    found = table(row(1), row(2, rules=bad))

    assert len(found.samples) == 1
    (one,) = found.exclusions
    assert (one.rows, one.why[:14]) == (1, "with a feature")


def test_an_id_counts_once():
    found = table(row(1), row(1, nod=1), row(1, project="bank"))

    assert [one.nod for one in found.samples] == [False, False]
    assert found.left_out == {"whose id an earlier row has": 1}


@pytest.mark.parametrize("label", ["2", "", "yes", "-1"])
def test_a_label_out_of_its_domain_is_an_error(label):
    with pytest.raises(UnusableData, match=r"'nod' is .* for 'test_a.py::test_3'"):
        table(row(3, nod=label))


def test_a_test_of_unknown_kind_counts_in_its_file_only():
    found = table(row(1, nod="", order_dependent=""), row(2))

    assert [one.learned for one in found.samples] == [False, True]
    calm = [sample(CALM, file="risky.py") for _ in range(9)]
    unknown = [replace(one, learned=False) for one in calm]
    plain, among_calm = fit_static_model(some(), "digest"), fit_static_model([*some(), *unknown], "digest")
    assert plain.trained_on.tests == among_calm.trained_on.tests
    assert plain.nod != among_calm.nod


def test_a_missing_column_is_named():
    with pytest.raises(UnusableData, match="no column 'nod', 'rules'"):
        table(row(), header=["id", "project", "order_dependent", *[one for one in COLUMNS if one != "rules"]])


def test_a_table_of_a_later_version_is_refused():
    with pytest.raises(UnusableData, match="version '9'"):
        table(row(version=9), header=["version", *row()])


def test_one_class_alone_cannot_be_learned():
    with pytest.raises(UnusableData, match="none is order-dependent"):
        fit_static_model([sample(CALM, nod=True), sample(RISKY)], "digest")


def test_tests_of_unseen_projects_are_scored_without_their_project():
    odd = [replace(one, nod=not one.nod) for one in some("a")]  # what is calm elsewhere is NOD here
    tests = [*odd, *(one for name in "bcdef" for one in some(name))]

    found = unseen_nod_chances(tests)

    assert len(found.nod) == sum(one.nod for one in tests) == 52 + 5 * 8
    assert len(found.others) == len(tests) - len(found.nod)
    # Its own project would have taught the model that such tests are NOD.
    assert sorted(found.nod)[:40] == pytest.approx([min(found.nod)] * 40)
    assert min(found.nod) < 0.2 < max(found.nod)
