"""The shipped table of measured tests, and the models that are fitted to such tables."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.app.hunt.default_models import (
    MIN_NOD_TESTS,
    default_selection_models,
    default_table,
    with_thresholds,
)
from flakehound.app.hunt.selection_models import ThresholdModel
from flakehound.core.errors import FailedStep
from flakehound.features.table import FEATURE_NAMES
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.measured.assisted_reruns import Aim
from flakehound.learn.measured.model import PROBLEMS, fit_measured_models, fit_trust, from_json, to_json
from flakehound.learn.measured.table import pack_table, shipped_bytes, unpack_table
from flakehound.learn.tables.dataset import UNKNOWN, UnusableData
from flakehound.learn.tables.problems import OutcomeCounts, Problem

ROWS = [
    {"id": "t.py::test_a", "project": "shop", "original_passed": "24", "polluter": "0", "cost_s": "0.0123456789"},
    {"id": "t.py::test_b", "project": "shop", "original_passed": "24", "polluter": "1", "cost_s": "2.0"},
]
PAIR = {"project": "shop", "victim": "t.py::test_a", "polluter": "t.py::test_b"}
UNKNOWN_PAIR = {"project": "shop", "victim": "t.py::test_a", "polluter": "t.py::test_gone"}


@pytest.fixture(scope="module")
def data():
    """Tests of several projects whose first feature separates NOD tests, with noise; some others are victims."""
    table = draw_table(tests=300, noise=0.8)
    runs, victim = np.full(300, 20), (np.arange(300) % 4 == 0) & (table.label == 0)
    counts = OutcomeCounts(
        original_runs=runs,
        original_failed=np.where(table.label == 1, 6, 0),
        shuffled_runs=runs,
        shuffled_failed=np.where(table.label == 1, 6, np.where(victim, 9, 0)),
    )
    polluter = (np.arange(300) % 7 == 0).astype(int)
    return replace(table, counts=counts, cost_s=np.full(300, 0.02), polluter=polluter)


@pytest.fixture(scope="module")
def models(data):
    return fit_measured_models(data)


@pytest.fixture(scope="module", autouse=True)
def _few_shipped_tests():
    """Only the positive tests of the shipped table and every tenth other one: its models are fitted quickly."""
    rows, pairs = unpack_table(shipped_bytes())
    few = [row for number, row in enumerate(rows) if number % 10 == 0 or _is_positive(row)]
    packed = pack_table(few, [asdict(pair) for pair in pairs])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flakehound.app.hunt.default_models.shipped_bytes", lambda: packed)
        yield


def _is_positive(row):
    return row["polluter"] == "1" or row["original_failed"] != "0" or row["shuffled_failed"] != "0"


@pytest.fixture(scope="module")
def cached(tmp_path_factory):
    """A cache folder with the default models, and these models."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, default_selection_models(Aim(), folder=folder)


# The table


def test_an_unpacked_table_has_the_packed_rows_and_the_pairs_of_tests_in_it():
    rows, pairs = unpack_table(pack_table(ROWS, [PAIR, UNKNOWN_PAIR]))

    assert [row["id"] for row in rows] == ["t.py::test_a", "t.py::test_b"]
    assert [row["cost_s"] for row in rows] == ["0.012346", "2"]
    assert [(pair.project, pair.victim, pair.polluter) for pair in pairs] == [tuple(PAIR.values())]


def test_the_same_rows_are_packed_into_the_same_bytes():
    assert pack_table(ROWS, [PAIR]) == pack_table(ROWS, [PAIR])


def test_the_shipped_table_has_the_documented_size_and_features():
    content = shipped_bytes()
    data = default_table(content)

    assert len(content) < 1_000_000
    assert len(set(data.projects)) >= 15
    assert len(data) >= 1000
    assert set(data.features) == set(FEATURE_NAMES) - {"covered_changes"}
    assert all(data.labels(problem).positive.sum() > 0 for problem in PROBLEMS)
    assert gzip.decompress(content).startswith(b"version,id,project,")


def test_every_pair_of_the_shipped_table_is_a_victim_and_a_polluter_of_one_project():
    rows, pairs = unpack_table(shipped_bytes())
    polluter = {(row["project"], row["id"]): row["polluter"] for row in rows}

    assert pairs
    assert all(polluter[pair.project, pair.polluter] == "1" for pair in pairs)
    assert all((pair.project, pair.victim) in polluter for pair in pairs)


# The models


def test_models_recognise_nod_tests_of_unseen_projects(data, models):
    unseen = np.array(models.models[Problem.NOD_VS_REST].unseen_probabilities)

    assert area_under_curve(data.label, unseen) > 0.8


def test_a_machine_that_is_twice_as_slow_gives_nearly_the_same_probabilities(data, models):
    model = models.models[Problem.NOD_VS_REST]
    own = data.values[data.projects == data.projects[0]]

    fast, slow = model.probability(own), model.probability(own * 2)

    assert np.corrcoef(fast, slow)[0, 1] > 0.95


def test_models_are_equal_after_writing_and_reading(data, models):
    read = from_json(to_json(models))

    assert read == models
    assert (read.models[PROBLEMS[0]].probability(data.values) >= 0).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.update(schema="other"),
        lambda content: content.pop("features"),
        lambda content: content["features"].append("one_more"),
        lambda content: content["models"].pop("nod-vs-rest"),
        lambda content: content["models"]["nod-vs-rest"].update(constant="x"),
    ],
)
def test_a_file_with_other_content_is_an_error(models, damage):
    content = json.loads(to_json(models))
    damage(content)

    with pytest.raises(UnusableData, match="not a file with models of measured features"):
        from_json(json.dumps(content))


def test_a_table_with_only_one_class_is_an_error(data):
    with pytest.raises(UnusableData, match="polluter-vs-rest"):
        fit_measured_models(replace(data, polluter=np.zeros(300, dtype=int)))


# The default models


def test_default_models_come_from_the_cache_the_second_time(cached):
    folder, first = cached
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns

    assert default_selection_models(Aim(), folder=folder) == first
    assert file.stat().st_mtime_ns == before


def test_a_damaged_cache_is_replaced(cached, tmp_path):
    folder, first = cached
    (file,) = folder.iterdir()
    (tmp_path / file.name).write_text(file.read_text()[:-100])

    assert default_selection_models(Aim(), folder=tmp_path) == first
    assert (tmp_path / file.name).read_text() == file.read_text()


def test_better_detection_costs_more_with_the_default_models(cached):
    folder, _knee = cached
    cheap, good = (
        default_selection_models(aim, folder=folder).reruns.thresholds
        for aim in (Aim(cost=0.2), Aim(detection=0.95))
    )

    assert cheap.cost <= 0.2
    assert good.detection >= 0.95
    assert good.cost > cheap.cost
    assert good.lost <= cheap.lost


def test_with_few_nod_tests_no_test_is_assumed_to_be_nod(data, models):
    few = data.select_rows(np.flatnonzero((data.label == 0) | (np.arange(300) < 60)))

    many_models = with_thresholds(data, models, Aim(), "")
    few_models = with_thresholds(few, fit_measured_models(few), Aim(), "")

    assert data.label.sum() >= MIN_NOD_TESTS > few.label.sum()
    assert isinstance(many_models.kinds, ThresholdModel)
    assert isinstance(few_models.kinds, FailedStep)
    assert few_models.reruns.thresholds.upper > 1


def test_models_that_fail_in_unseen_projects_assume_no_test_to_be_nod(data, models):
    informative = models.models[Problem.NOD_VS_VICTIM]
    guessing = replace(informative, unseen_probabilities=(0.5,) * len(informative.unseen_probabilities))
    models_with_thresholds = with_thresholds(
        data, replace(models, models={**models.models, Problem.NOD_VS_VICTIM: guessing}), Aim(), ""
    )

    assert isinstance(models_with_thresholds.kinds, FailedStep)


def test_a_suite_with_slow_tests_does_not_dominate_the_thresholds(data, models):
    slow_cost_s = np.where(data.projects == data.projects[0], 1000.0, 1.0) * data.cost_s

    usual, slow = (
        with_thresholds(replace(data, cost_s=cost_s), models, Aim(), "") for cost_s in (data.cost_s, slow_cost_s)
    )

    assert (slow.reruns.thresholds.lower, slow.reruns.thresholds.upper) == (
        usual.reruns.thresholds.lower,
        usual.reruns.thresholds.upper,
    )


def test_missing_features_of_a_suite_are_left_out_with_a_note(tmp_path):
    lines = frozenset({"covered_lines", "source_covered_lines"})

    trained = default_selection_models(Aim(), absent=lines, folder=tmp_path)

    assert not lines & set(trained.features)
    assert "without covered_lines, source_covered_lines" in trained.note


def test_models_learn_about_polluters_only_from_tests_with_a_known_label(data):
    unknown = replace(data, polluter=np.where(np.arange(300) < 150, UNKNOWN, data.polluter))
    models = fit_measured_models(unknown).models

    assert len(models[Problem.POLLUTER_VS_REST].unseen_probabilities) == 150
    assert len(models[Problem.NOD_VS_REST].unseen_probabilities) == 300


# Trust in the odds of a model


def trust_of_model(right, projects=10):
    """The trust in a model that is right about this many of ten projects, each with one NOD test of ten."""
    positive = np.tile([1, *[0] * 9], projects)
    numbers = np.repeat(np.arange(projects), 10)
    names = np.array([f"project {number}" for number in numbers])
    return fit_trust(np.where((positive == 1) == (numbers % 10 < right), 0.8, 0.2), positive, names)


def test_an_informative_model_is_trusted_and_a_misleading_one_is_not():
    assert trust_of_model(right=10) > 0.9
    assert 0.1 < trust_of_model(right=7) < 0.9
    assert trust_of_model(right=5) == pytest.approx(0, abs=1e-6)
    assert trust_of_model(right=2) == 0.0


def test_more_projects_earn_more_trust():
    assert (
        trust_of_model(right=7, projects=10)
        < trust_of_model(right=7, projects=50)
        < trust_of_model(right=7, projects=500)
        <= 1.0
    )


def test_a_project_with_many_nod_tests_counts_as_much_as_one_with_few():
    positive = np.array([1, *[0] * 9] + [1] * 90 + [0] * 10)
    names = np.repeat(["few", "many"], [10, 100])
    # The model is right about the one test and wrong about the ninety.
    probability = np.array([0.9, *[0.1] * 9] + [0.4] * 90 + [0.6] * 10)

    assert fit_trust(probability, positive, names) > 0


def test_odds_ratios_are_reduced_by_the_trust(data, models):
    model = models.models[Problem.NOD_VS_REST]
    own = data.values[data.projects == data.projects[0]]
    odds = model.probability(own) / (1 - model.probability(own))

    assert model.odds_ratios(own) == pytest.approx(odds**model.trust)
    assert replace(model, trust=0.0).odds_ratios(own) == pytest.approx(np.ones(len(own)))
