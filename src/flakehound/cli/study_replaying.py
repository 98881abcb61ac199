"""Draw suites from the published tables and replay every policy on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from flakehound.cli.data_tables import read_table, shared_table
from flakehound.cli.study_published import rerun_and_timed
from flakehound.core.index import BetaPrior
from flakehound.learn.dataset import Dataset
from flakehound.learn.extras import Array, check_installed, numpy
from flakehound.learn.prior import fitted_rates
from flakehound.learn.seeds import seed_for
from flakehound.learn.simulation import Suite, all_policies, drawn_suite, suite_of, time_to_find
from flakehound.learn.times import python_times

SCHEMA = "flakehound/study-policies/1"
FOUND = 0.8
FORK_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWishes:
    """The options of `flakehound study policies`."""

    seeds: int
    auc: float
    costs: str
    flaky: int
    share: float
    seed: int
    counts: str = "python"  # or "java": rates and times of the same tests


def replayed(wishes: PolicyWishes, *, tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures as `flakehound/study-policies/1`."""
    check_installed("numpy", "scipy")
    one_suite = _of_java() if wishes.counts == "java" else _of_python()
    times: dict[str, list[float]] = {}
    for number in range(wishes.seeds):
        rng = numpy().random.default_rng(seed_for(wishes.seed, "policies", number))
        for name, seconds in one_suite(wishes, rng).items():
            times.setdefault(name, []).append(seconds)
        tell(f"suite {number + 1} of {wishes.seeds}")
    policies = {name: {"seconds": _finite(found)} for name, found in times.items()}
    return {"schema": SCHEMA, **asdict(wishes), "found": FOUND, "policies": policies}


def _finite(values: list[float]) -> list[float | None]:
    return [round(value, 3) if value < float("inf") else None for value in values]


def _of_python() -> Callable[[PolicyWishes, Array], dict[str, float]]:
    """Rates of Python's NOD tests; times after figures on Python's tests, or of Java's tests."""
    nod = read_table(shared_table("python_flaky"), "python_nod")
    timed = read_table(shared_table("java_static_and_dynamic_flakeflagger"))
    assert nod.counts is not None
    failed, runs = nod.counts.original_failed, nod.counts.original_runs

    def one_suite(wishes: PolicyWishes, rng: Array) -> dict[str, float]:
        np = numpy()
        learned = _half(nod.projects, rng)
        rates = rng.choice((failed / runs)[~learned], wishes.flaky)
        steady = round(wishes.flaky * (1 - wishes.share) / wishes.share)
        if wishes.costs == "python":
            own_s = np.concatenate(python_times(wishes.flaky, steady, rng))
            suite = suite_of(np.concatenate([rates, np.zeros(steady)]), own_s, wishes.auc, FORK_S, rng)
        else:
            flaky_s, steady_s = _costs(timed, wishes.costs)
            suite = drawn_suite(rates, flaky_s, steady_s, steady=steady, auc=wishes.auc, fork_s=FORK_S, rng=rng)
        return _times(suite, fitted_rates(failed[learned], runs[learned]).prior, rng)

    return one_suite


def _of_java() -> Callable[[PolicyWishes, Array], dict[str, float]]:
    """Counts of 10,000 runs and measured times of the same tests, in their true proportion."""
    data = rerun_and_timed()
    assert data.counts is not None
    assert data.cost_s is not None
    failed, runs, cost_s, nod = (
        data.counts.original_failed,
        data.counts.original_runs,
        data.cost_s,
        data.counts.is_nod,
    )

    def one_suite(wishes: PolicyWishes, rng: Array) -> dict[str, float]:
        np = numpy()
        learned = _half(data.projects, rng)
        flaky, steady = np.flatnonzero(nod & ~learned), np.flatnonzero(~nod & ~learned)
        part = min(1.0, wishes.flaky / len(flaky))
        chosen = np.concatenate([rng.permutation(some)[: round(part * len(some))] for some in (flaky, steady)])
        suite = suite_of(np.where(nod, failed / runs, 0.0)[chosen], cost_s[chosen], wishes.auc, FORK_S, rng)
        return _times(suite, fitted_rates(failed[learned & nod], runs[learned & nod]).prior, rng)

    return one_suite


def _half(projects: Array, rng: Array) -> Array:
    """The tests of half of the projects: what the prior is fitted to; the suite comes from the other half."""
    np = numpy()
    names = np.array(sorted(set(projects)), dtype=object)
    return np.isin(projects, rng.permutation(names)[: len(names) // 2])


def _times(suite: Suite, rates: BetaPrior, rng: Array) -> dict[str, float]:
    return {name: time_to_find(seconds, FOUND) for name, seconds in all_policies(suite, rates, rng).items()}


def _costs(timed: Dataset, how: str) -> tuple[Array, Array]:
    seconds = timed.values[:, timed.features.index("ExecutionTime")]
    if how == "alike":
        return seconds, seconds
    assert timed.label is not None
    return seconds[timed.label == 1], seconds[timed.label == 0]
