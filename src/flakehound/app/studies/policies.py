"""`flakehound study policies`: replay every policy on suites drawn from published tables, or on a store's."""

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
FOUND = 0.8
LEAST_FLAKY, LEAST_PROJECTS = 5, 2
MODES = {"by-cause": "rerun", "by-cause-noisy": "noisy"}  # counts -> mode of `python_reruns_by_cause`


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyStudyOptions:
    """The options of `flakehound study policies`."""

    seeds: int
    auc: float  # of scores that are drawn
    costs: str
    flaky: int
    share: float
    seed: int
    counts: str = "python"  # or one of MODES, or "java": rates and times of the same tests
    store: Path | None = None  # its tests instead
    scores: str = "drawn"  # "lint": of projects that its model has not seen; "parts": features and calls, too


# By policy, when each NOD test of a suite is found: seconds, inf for never.
OneSuite = Callable[[PolicyStudyOptions, RandomGenerator], dict[str, Array]]


class TooFewFlaky(UnusableData):
    """A replay on a handful of tests would show chance only."""


@requires_libraries("numpy", "scipy")
def run_policy_study(options: PolicyStudyOptions, progress: Progress) -> PolicyStudy:
    """The figures as `flakehound/study-policies/1`."""
    import numpy as np

    one_suite = _source(options)
    found_s: dict[str, list[Array]] = {}
    for number in range(options.seeds):
        rng = np.random.default_rng(seed_for(options.seed, "policies", number))
        for name, seconds in one_suite(options, rng).items():
            found_s.setdefault(name, []).append(seconds)
        progress.message(f"suite {number + 1} of {options.seeds}")
        progress.show_steps("suites", number + 1, options.seeds)
    policies: dict[str, PolicyTimes] = {name: {"seconds": _seconds(several)} for name, several in found_s.items()}
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
        "nod": [len(one) for one in found_s["rerun"]],
        "found": FOUND,
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


def _source(options: PolicyStudyOptions) -> OneSuite:
    scorer = _scorer(options)
    if options.store is not None:
        return _of_store(options.store, scorer)
    if options.counts == "java":
        return _of_java(scorer)
    nod = _by_cause(MODES[options.counts]) if options.counts in MODES else _python_nod()
    return _of_python(nod, _times(options.costs), scorer)


def _scorer(options: PolicyStudyOptions) -> KnowledgeSource:
    import numpy as np

    if options.scores == "parts":
        return knowledge_from_tests(observed_tests())
    if options.scores == "drawn":
        return knowledge_from_auc(options.auc)
    seen = unseen_nod_chances(static_table.shipped_samples(static_table.shipped_bytes()))
    return knowledge_from_scores(np.array(seen.nod), np.array(seen.others))


def _seconds(found_s: list[Array]) -> list[float | None]:
    times = [time_to_find(one, FOUND) for one in found_s]
    return [round(value, 3) if value < float("inf") else None for value in times]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Outcome counts of flaky tests; arrays of one length."""

    projects: Array
    failed: Array
    runs: Array


def _python_nod() -> _Rates:
    nod = read_table(published_table("python_flaky"), "python_nod")
    assert nod.counts is not None
    _check_enough(nod.name, nod.projects)
    return _Rates(projects=nod.projects, failed=nod.counts.original_failed, runs=nod.counts.original_runs)


def _by_cause(mode: str) -> _Rates:
    """The tests that showed both outcomes in this mode."""
    import numpy as np

    path = published_table("python_reruns_by_cause")
    names = ("repo", "mode", "n_fail", "n_runs")
    rows = read_rows(path, names, remedy=same_command(counts=None))
    ours = [row for row in rows if row["mode"] == mode]
    failed, runs = (np.array([number_in(row[name]) or 0.0 for row in ours]) for name in ("n_fail", "n_runs"))
    projects, flaky = np.array([row["repo"] for row in ours], dtype=object), (failed > 0) & (failed < runs)
    _check_enough(path.name, projects[flaky])
    return _Rates(projects=projects[flaky], failed=failed[flaky], runs=runs[flaky])


def _check_enough(name: str, projects: Array) -> None:
    """Half of the projects give the prior, the others the suites."""
    if len(projects) < LEAST_FLAKY or len(set(projects)) < LEAST_PROJECTS:
        raise TooFewFlaky(
            f"{name!r} has {len(projects)} NOD tests of {len(set(projects))} projects; "
            f"a replay needs {LEAST_FLAKY} of {LEAST_PROJECTS} at least",
            remedy=same_command(counts="python"),
        )


# Seconds of so many NOD tests and of so many others.
Times = Callable[[int, int, RandomGenerator], tuple[Array, Array]]


def _times(costs: str) -> Times:
    """After figures on Python's tests, what we measured of some, or Java's of flaky and other tests."""
    if costs == "python":
        return draw_durations
    if costs == "measured":
        seconds = measured_durations()
        return lambda flaky, steady, rng: draw_measured_durations(seconds, flaky, steady, rng)
    flaky_s, steady_s = _java_costs(costs)
    return lambda flaky, steady, rng: (rng.choice(flaky_s, flaky), rng.choice(steady_s, steady))


def _of_python(nod: _Rates, times: Times, scorer: KnowledgeSource) -> OneSuite:
    """Rates of Python's NOD tests, and times of others."""
    import numpy as np

    failed, runs = nod.failed, nod.runs

    def one_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        learned = _half(nod.projects, rng)
        rates = rng.choice((failed / runs)[~learned], options.flaky)
        steady = round(options.flaky * (1 - options.share) / options.share)
        own_s = np.concatenate(times(options.flaky, steady, rng))
        suite = draw_suite(np.concatenate([rates, np.zeros(steady)]), own_s, scorer, MEDIAN_FORK_S, rng)
        return replay_policies(suite, fit_failure_rates(failed[learned], runs[learned]).prior, rng)

    return one_suite


def _of_java(scorer: KnowledgeSource) -> OneSuite:
    """Counts of 10,000 runs and measured times of the same tests, in their true proportion."""
    import numpy as np

    data = rerun_java_tests()
    assert data.counts is not None
    assert data.cost_s is not None
    failed, runs, cost_s, nod = (
        data.counts.original_failed,
        data.counts.original_runs,
        data.cost_s,
        data.counts.is_nod,
    )
    _check_enough(data.name, data.projects[nod])

    def one_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        learned = _half(data.projects, rng)
        flaky, steady = np.flatnonzero(nod & ~learned), np.flatnonzero(~nod & ~learned)
        part = min(1.0, options.flaky / len(flaky))
        chosen = np.concatenate([rng.permutation(some)[: round(part * len(some))] for some in (flaky, steady)])
        suite = draw_suite(np.where(nod, failed / runs, 0.0)[chosen], cost_s[chosen], scorer, MEDIAN_FORK_S, rng)
        return replay_policies(suite, fit_failure_rates(failed[learned & nod], runs[learned & nod]).prior, rng)

    return one_suite


def _half(projects: Array, rng: RandomGenerator) -> Array:
    """The tests of half of the projects: what the prior is fitted to; the suite comes from the other half."""
    import numpy as np

    names = np.array(sorted(set(projects)), dtype=object)
    return np.isin(projects, rng.permutation(names)[: len(names) // 2])


def _of_store(store_path: Path, scorer: KnowledgeSource) -> OneSuite:
    """The tests of a store as they are, rates and times; scores, calls and luck are drawn for each suite."""
    rate, own_s = _recorded(store_path)
    flaky = int((rate > 0).sum())
    if flaky < LEAST_FLAKY:
        raise TooFewFlaky(
            f"{str(store_path)!r} has {len(rate)} tests, of which {flaky} passed and failed under the same "
            f"circumstances; a replay needs {LEAST_FLAKY} at least",
            remedy=hunt_command(store_path, "--runs", "100"),
        )
    if flaky == len(rate):
        raise TooFewFlaky(f"{str(store_path)!r} has no steady test: there is nothing to search in")

    def one_suite(options: PolicyStudyOptions, rng: RandomGenerator) -> dict[str, Array]:
        suite = draw_suite(rate, own_s, scorer, MEDIAN_FORK_S, rng)
        return replay_policies(suite, PYTHON_NOD, rng)

    return one_suite


def _recorded(store_path: Path) -> tuple[Array, Array]:
    """Failure rate, 0 where neither the original order nor a run alone showed both outcomes, and mean time."""
    import numpy as np

    known, _rootdirs = read_recorded_tests([store_path])
    ran = [one for one in known.values() if one.hunts]
    rates = [one.mixed.failed / (one.mixed.n or 1) for one in ran]
    return np.array(rates), np.array([one.row()["cost_s"] for one in ran], dtype=float)


def _java_costs(how: str) -> tuple[Array, Array]:
    timed = read_table(published_table("java_static_and_dynamic_flakeflagger"))
    seconds = timed.values[:, timed.features.index("ExecutionTime")]
    if how == "alike":
        return seconds, seconds
    assert timed.label is not None
    return seconds[timed.label == 1], seconds[timed.label == 0]
