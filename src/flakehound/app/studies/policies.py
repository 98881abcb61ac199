"""`flakehound study policies`: replay every policy on suites drawn from published tables, or on a stored suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.data.export import read_recorded_tests
from flakehound.app.data.tables import published_table, read_rows, read_table
from flakehound.app.progress import Progress
from flakehound.app.sessions.commands import hunt_command
from flakehound.app.studies.published import rerun_java_tests
from flakehound.core.costs import MEDIAN_FORK_S
from flakehound.core.errors import same_command
from flakehound.core.statistics.index import PYTHON_NOD
from flakehound.learn.evaluation.detection_curves import detection_curves
from flakehound.learn.evaluation.duration_samples import (
    draw_durations,
    draw_measured_durations,
    measured_durations,
)
from flakehound.learn.evaluation.prior_fit import fit_failure_rates
from flakehound.learn.evaluation.prior_table import observed_tests
from flakehound.learn.evaluation.simulation import (
    KnowledgeSource,
    draw_suite,
    knowledge_from_auc,
    knowledge_from_scores,
    knowledge_from_tests,
    replay_policies,
    time_to_find,
)
from flakehound.learn.extras import Array, RandomGenerator, requires_libraries
from flakehound.learn.seeds import seed_for
from flakehound.learn.static import table as static_table
from flakehound.learn.static.unseen import unseen_nod_chances
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.reading import number_in
from flakehound.report.study.policies import DetectionCurves, PolicyStudy, PolicyTimes

SCHEMA = "flakehound/study-policies/1"
FOUND_SHARE = 0.8  # of the NOD tests; the result is the time until a policy has found them
MIN_FLAKY, MIN_PROJECTS = 5, 2
# Value of --counts -> mode in the table `python_reruns_by_cause`.
RERUN_MODES = {"by-cause": "rerun", "by-cause-noisy": "noisy"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStudyOptions:
    """The options of `flakehound study policies`."""

    seeds: int
    auc: float  # of drawn scores
    costs: str
    flaky: int
    share: float
    seed: int
    counts: str = "python"  # or one of RERUN_MODES, or "java": rates and times of the same tests
    store: Path | None = None  # use the tests of this store instead
    scores: str = "drawn"  # or "lint": of models without the project; or "parts": with features and calls, too


# Draws a suite and replays all policies on it: by policy, when each NOD test is found, in seconds; inf: never.
SuiteReplay = Callable[[PolicyStudyOptions, RandomGenerator], dict[str, Array]]


class TooFewFlaky(UnusableData):
    """There are so few flaky tests that a replay would show only chance."""


@requires_libraries("numpy", "scipy")
def run_policy_study(options: PolicyStudyOptions, progress: Progress) -> PolicyStudy:
    """The figures as `flakehound/study-policies/1`."""
    import numpy as np

    replay_suite = _suite_replay(options)
    found_s: dict[str, list[Array]] = {}
    for number in range(options.seeds):
        rng = np.random.default_rng(seed_for(options.seed, "policies", number))
        for name, seconds in replay_suite(options, rng).items():
            found_s.setdefault(name, []).append(seconds)
        progress.message(f"suite {number + 1} of {options.seeds}")
        progress.show_steps("suites", number + 1, options.seeds)
    policies: dict[str, PolicyTimes] = {
        name: {"seconds": _times_to_find(suites)} for name, suites in found_s.items()
    }
    return {
        "schema": SCHEMA,
        "seeds": options.seeds,
        "auc": options.auc if options.scores == "drawn" else None,
        "costs": options.costs,
        "flaky": options.flaky,
        "share": options.share,
        "seed": options.seed,
        "counts": options.counts,
        "store": None if options.store is None else str(options.store),
        "scores": options.scores,
        "nod": [len(suite) for suite in found_s["rerun"]],
        "found": FOUND_SHARE,
        "policies": policies,
        "curves": _curves(found_s),
    }


def _curves(found_s: dict[str, list[Array]]) -> DetectionCurves:
    curves = detection_curves(found_s)
    return {
        "seconds": curves.seconds,
        "policies": {
            name: {"mean": band.mean, "low": band.low, "high": band.high} for name, band in curves.policies.items()
        },
    }


def _suite_replay(options: PolicyStudyOptions) -> SuiteReplay:
    knowledge = _knowledge_source(options)
    if options.store is not None:
        return _replay_store(options.store, knowledge)
    if options.counts == "java":
        return _replay_java(knowledge)
    mode = RERUN_MODES.get(options.counts)
    counts = _python_nod_counts() if mode is None else _counts_by_cause(mode)
    return _replay_python(counts, _duration_source(options.costs), knowledge)


def _knowledge_source(options: PolicyStudyOptions) -> KnowledgeSource:
    import numpy as np

    if options.scores == "parts":
        return knowledge_from_tests(observed_tests())
    if options.scores == "drawn":
        return knowledge_from_auc(options.auc)
    chances = unseen_nod_chances(static_table.shipped_samples(static_table.shipped_bytes()))
    return knowledge_from_scores(np.array(chances.nod), np.array(chances.others))


def _times_to_find(found_s: list[Array]) -> list[float | None]:
    times = [time_to_find(suite_s, FOUND_SHARE) for suite_s in found_s]
    return [round(seconds, 3) if seconds < float("inf") else None for seconds in times]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FlakyCounts:
    """Outcome counts of flaky tests; arrays of one length."""

    projects: Array
    failed: Array
    runs: Array


def _python_nod_counts() -> _FlakyCounts:
    nod = read_table(published_table("python_flaky"), "python_nod")
    assert nod.counts is not None
    _check_enough(nod.name, nod.projects)
    return _FlakyCounts(projects=nod.projects, failed=nod.counts.original_failed, runs=nod.counts.original_runs)


def _counts_by_cause(mode: str) -> _FlakyCounts:
    """The tests that showed both outcomes in this mode of rerunning."""
    import numpy as np

    path = published_table("python_reruns_by_cause")
    names = ("repo", "mode", "n_fail", "n_runs")
    rows = [row for row in read_rows(path, names, remedy=same_command(counts=None)) if row["mode"] == mode]
    failed, runs = (np.array([number_in(row[name]) or 0.0 for row in rows]) for name in ("n_fail", "n_runs"))
    projects, is_flaky = np.array([row["repo"] for row in rows], dtype=object), (failed > 0) & (failed < runs)
    _check_enough(path.name, projects[is_flaky])
    return _FlakyCounts(projects=projects[is_flaky], failed=failed[is_flaky], runs=runs[is_flaky])


def _check_enough(name: str, projects: Array) -> None:
    """Raise TooFewFlaky if the tests of these projects are too few for a prior and for suites."""
    if len(projects) < MIN_FLAKY or len(set(projects)) < MIN_PROJECTS:
        raise TooFewFlaky(
            f"{name!r} has {len(projects)} NOD tests of {len(set(projects))} projects; "
            f"a replay needs {MIN_FLAKY} of {MIN_PROJECTS} at least",
            remedy=same_command(counts="python"),
        )


# Draws the seconds of this many NOD tests and of this many other tests.
DurationSource = Callable[[int, int, RandomGenerator], tuple[Array, Array]]


def _duration_source(costs: str) -> DurationSource:
    """Durations by published figures of Python tests, by our measurements, or of Java tests."""
    if costs == "python":
        return draw_durations
    if costs == "measured":
        measured_s = measured_durations()
        return lambda flaky, steady, rng: draw_measured_durations(measured_s, flaky, steady, rng)
    flaky_s, steady_s = _java_durations(costs)
    return lambda flaky, steady, rng: (rng.choice(flaky_s, flaky), rng.choice(steady_s, steady))


def _replay_python(counts: _FlakyCounts, draw_costs: DurationSource, knowledge: KnowledgeSource) -> SuiteReplay:
    """Suites with the failure rates of Python's NOD tests, and with drawn durations."""
    import numpy as np

    failed, runs = counts.failed, counts.runs

    def replay_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        is_learned = _half_of_projects(counts.projects, rng)
        rates = rng.choice((failed / runs)[~is_learned], options.flaky)
        steady = round(options.flaky * (1 - options.share) / options.share)
        cost_s = np.concatenate(draw_costs(options.flaky, steady, rng))
        suite = draw_suite(np.concatenate([rates, np.zeros(steady)]), cost_s, knowledge, MEDIAN_FORK_S, rng)
        return replay_policies(suite, fit_failure_rates(failed[is_learned], runs[is_learned]).prior, rng)

    return replay_suite


def _replay_java(knowledge: KnowledgeSource) -> SuiteReplay:
    """Suites of Java tests in their true proportion, with counts of 10,000 runs and measured times."""
    import numpy as np

    data = rerun_java_tests()
    assert data.counts is not None
    assert data.cost_s is not None
    failed, runs, cost_s = data.counts.original_failed, data.counts.original_runs, data.cost_s
    is_nod = data.counts.is_nod
    _check_enough(data.name, data.projects[is_nod])

    def replay_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        is_learned = _half_of_projects(data.projects, rng)
        flaky, steady = np.flatnonzero(is_nod & ~is_learned), np.flatnonzero(~is_nod & ~is_learned)
        share = min(1.0, options.flaky / len(flaky))
        chosen = np.concatenate([rng.permutation(rows)[: round(share * len(rows))] for rows in (flaky, steady)])
        rates = np.where(is_nod, failed / runs, 0.0)[chosen]
        suite = draw_suite(rates, cost_s[chosen], knowledge, MEDIAN_FORK_S, rng)
        training = is_learned & is_nod
        return replay_policies(suite, fit_failure_rates(failed[training], runs[training]).prior, rng)

    return replay_suite


def _half_of_projects(projects: Array, rng: RandomGenerator) -> Array:
    """Which tests are of a random half of the projects: the prior is fitted to them, the suite has the others."""
    import numpy as np

    names = np.array(sorted(set(projects)), dtype=object)
    return np.isin(projects, rng.permutation(names)[: len(names) // 2])


def _replay_store(store_path: Path, knowledge: KnowledgeSource) -> SuiteReplay:
    """The tests of a store with their rates and times; scores, calls and outcomes are drawn for each suite."""
    rates, cost_s = _recorded_rates_and_costs(store_path)
    flaky = int((rates > 0).sum())
    if flaky < MIN_FLAKY:
        raise TooFewFlaky(
            f"{str(store_path)!r} has {len(rates)} tests, of which {flaky} passed and failed under the same "
            f"circumstances; a replay needs {MIN_FLAKY} at least",
            remedy=hunt_command(store_path, "--runs", "100"),
        )
    if flaky == len(rates):
        raise TooFewFlaky(f"{str(store_path)!r} has no steady test: there is nothing to search in")

    def replay_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        suite = draw_suite(rates, cost_s, knowledge, MEDIAN_FORK_S, rng)
        return replay_policies(suite, PYTHON_NOD, rng)

    return replay_suite


def _recorded_rates_and_costs(store_path: Path) -> tuple[Array, Array]:
    """Failure rate and mean time of each test that ran.

    The rate is 0 if neither the runs in the original order nor the runs alone had both outcomes.
    """
    import numpy as np

    recorded, _rootdirs = read_recorded_tests([store_path])
    executed = [record for record in recorded.values() if record.hunts]
    rates = [record.mixed.failed / (record.mixed.n or 1) for record in executed]
    return np.array(rates), np.array([record.row()["cost_s"] for record in executed], dtype=float)


def _java_durations(costs: str) -> tuple[Array, Array]:
    """The seconds of Java's flaky and other tests; for "alike", all tests for both."""
    data = read_table(published_table("java_static_and_dynamic_flakeflagger"))
    seconds = data.values[:, data.features.index("ExecutionTime")]
    if costs == "alike":
        return seconds, seconds
    assert data.label is not None
    return seconds[data.label == 1], seconds[data.label == 0]
