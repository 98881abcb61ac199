"""The shipped table of measured tests, and the models that are fitted on such tables."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from learn_samples import drawn

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
STRANGER = {"project": "shop", "victim": "t.py::test_a", "polluter": "t.py::test_gone"}


@pytest.fixture(scope="module")
def data():
    """Tests of several projects whose first features tell NOD tests and victims, with noise."""
    table = drawn(tests=300, noise=0.8)
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
    """All positive tests of the shipped table and every tenth other one, so that its models are fitted at once."""
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
    """A cache in which the default models are."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, default_selection_models(Aim(), folder=folder)


# the table


def test_a_packed_table_gives_back_rows_and_pairs_and_forgets_who_is_not_in_it():
    rows, pairs = unpack_table(pack_table(ROWS, [PAIR, STRANGER]))

    assert [row["id"] for row in rows] == ["t.py::test_a", "t.py::test_b"]
    assert [row["cost_s"] for row in rows] == ["0.012346", "2"]
    assert [(pair.project, pair.victim, pair.polluter) for pair in pairs] == [tuple(PAIR.values())]


def test_the_same_rows_are_packed_into_the_same_bytes():
    assert pack_table(ROWS, [PAIR]) == pack_table(ROWS, [PAIR])


def test_the_shipped_table_has_what_its_page_promises():
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


# the models


def test_models_tell_the_tests_of_projects_they_never_saw(data, models):
    apart = np.array(models.models[Problem.NOD_VS_REST].unseen_probabilities)

    assert area_under_curve(data.label, apart) > 0.8


def test_a_suite_on_a_machine_twice_as_slow_gets_nearly_the_same_answer(data, models):
    model = models.models[Problem.NOD_VS_REST]
    own = data.values[data.projects == data.projects[0]]

    said, slower = model.probability(own), model.probability(own * 2)

    assert np.corrcoef(said, slower)[0, 1] > 0.95


def test_models_survive_their_file(data, models):
    again = from_json(to_json(models))

    assert again == models
    assert (again.models[PROBLEMS[0]].probability(data.values) >= 0).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda told: told.update(schema="other"),
        lambda told: told.pop("features"),
        lambda told: told["features"].append("one_more"),
        lambda told: told["models"].pop("nod-vs-rest"),
        lambda told: told["models"]["nod-vs-rest"].update(constant="x"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(models, wrong):
    told = json.loads(to_json(models))
    wrong(told)

    with pytest.raises(UnusableData, match="not a file with models of measured features"):
        from_json(json.dumps(told))


def test_a_table_that_lacks_one_class_teaches_nothing(data):
    with pytest.raises(UnusableData, match="polluter-vs-rest"):
        fit_measured_models(replace(data, polluter=np.zeros(300, dtype=int)))


# the default


def test_default_models_come_from_the_cache_the_second_time(cached):
    folder, first = cached
    (file,) = folder.iterdir()
    before = file.stat().st_mtime_ns

    assert default_selection_models(Aim(), folder=folder) == first
    assert file.stat().st_mtime_ns == before


def test_a_damaged_cache_is_made_anew(cached, tmp_path):
    folder, first = cached
    (file,) = folder.iterdir()
    (tmp_path / file.name).write_text(file.read_text()[:-100])

    assert default_selection_models(Aim(), folder=tmp_path) == first
    assert (tmp_path / file.name).read_text() == file.read_text()


def test_more_quality_costs_more_with_the_default_models(cached):
    folder, _knee = cached
    cheap, good = (
        default_selection_models(aim, folder=folder).reruns.thresholds
        for aim in (Aim(cost=0.2), Aim(detection=0.95))
    )

    assert cheap.cost <= 0.2
    assert good.detection >= 0.95
    assert good.cost > cheap.cost
    assert good.lost <= cheap.lost


def test_few_nod_tests_do_not_teach_to_do_without_proof(data, models):
    few = data.select_rows(np.flatnonzero((data.label == 0) | (np.arange(300) < 60)))

    many_said = with_thresholds(data, models, Aim(), "")
    few_said = with_thresholds(few, fit_measured_models(few), Aim(), "")

    assert data.label.sum() >= MIN_NOD_TESTS > few.label.sum()
    assert isinstance(many_said.kinds, ThresholdModel)
    assert isinstance(few_said.kinds, FailedStep)
    assert few_said.reruns.thresholds.upper > 1


def test_models_that_cannot_tell_strangers_do_not_do_without_proof(data, models):
    telling = models.models[Problem.NOD_VS_VICTIM]
    guessing = replace(telling, unseen_probabilities=(0.5,) * len(telling.unseen_probabilities))
    said = with_thresholds(
        data, replace(models, models={**models.models, Problem.NOD_VS_VICTIM: guessing}), Aim(), ""
    )

    assert isinstance(said.kinds, FailedStep)


def test_a_suite_whose_tests_take_minutes_does_not_decide_about_the_thresholds(data, models):
    dear = np.where(data.projects == data.projects[0], 1000.0, 1.0) * data.cost_s

    said, slow = (
        with_thresholds(replace(data, cost_s=cost_s), models, Aim(), "") for cost_s in (data.cost_s, dear)
    )

    assert (slow.reruns.thresholds.lower, slow.reruns.thresholds.upper) == (
        said.reruns.thresholds.lower,
        said.reruns.thresholds.upper,
    )


def test_features_that_a_suite_cannot_have_are_left_out_and_told(tmp_path):
    lines = frozenset({"covered_lines", "source_covered_lines"})

    taught = default_selection_models(Aim(), absent=lines, folder=tmp_path)

    assert not lines & set(taught.features)
    assert "without covered_lines, source_covered_lines" in taught.note


def test_models_learn_about_polluters_only_from_tests_that_somebody_looked_at(data):
    unknown = replace(data, polluter=np.where(np.arange(300) < 150, UNKNOWN, data.polluter))
    models = fit_measured_models(unknown).models

    assert len(models[Problem.POLLUTER_VS_REST].unseen_probabilities) == 150
    assert len(models[Problem.NOD_VS_REST].unseen_probabilities) == 300


# trust in the odds of a model


def trusted(right, projects=10):
    """Trust in a model that is right about so many of ten projects, each with one NOD test of ten."""
    positive = np.tile([1, *[0] * 9], projects)
    place = np.repeat(np.arange(projects), 10)
    names = np.array([f"project {number}" for number in place])
    return fit_trust(np.where((positive == 1) == (place % 10 < right), 0.8, 0.2), positive, names)


def test_a_model_that_tells_is_trusted_and_one_that_misleads_is_not():
    assert trusted(right=10) > 0.9
    assert 0.1 < trusted(right=7) < 0.9
    assert trusted(right=5) == pytest.approx(0, abs=1e-6)
    assert trusted(right=2) == 0.0


def test_more_projects_earn_more_trust():
    assert trusted(right=7, projects=10) < trusted(right=7, projects=50) < trusted(right=7, projects=500) <= 1.0


def test_a_project_with_many_nod_tests_counts_as_much_as_one_with_few():
    positive = np.array([1, *[0] * 9] + [1] * 90 + [0] * 10)
    names = np.repeat(["few", "many"], [10, 100])
    # It is right about the one test and wrong about the ninety.
    apart = np.array([0.9, *[0.1] * 9] + [0.4] * 90 + [0.6] * 10)

    assert fit_trust(apart, positive, names) > 0


def test_odds_are_held_back_by_trust(data, models):
    model = models.models[Problem.NOD_VS_REST]
    own = data.values[data.projects == data.projects[0]]
    odds = model.probability(own) / (1 - model.probability(own))

    assert model.odds_ratios(own) == pytest.approx(odds**model.trust)
    assert replace(model, trust=0.0).odds_ratios(own) == pytest.approx(np.ones(len(own)))
