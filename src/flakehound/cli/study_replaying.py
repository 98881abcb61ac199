"""Draw suites from the published tables and replay every policy on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from flakehound.cli.data_tables import read_table, shared_table
from flakehound.learn.dataset import Dataset
from flakehound.learn.extras import Array, check_installed, numpy
from flakehound.learn.prior import fitted_rates
from flakehound.learn.seeds import seed_for
from flakehound.learn.simulation import all_policies, drawn_suite, time_to_find

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


def replayed(wishes: PolicyWishes, *, tell: Callable[[str], None]) -> dict[str, Any]:
    """The figures as `flakehound/study-policies/1`."""
    check_installed("numpy", "scipy")
    nod = read_table(shared_table("python_flaky"), "python_nod")
    timed = read_table(shared_table("java_static_and_dynamic_flakeflagger"))
    times: dict[str, list[float]] = {}
    for number in range(wishes.seeds):
        for name, seconds in _one_suite(wishes, nod, timed, number).items():
            times.setdefault(name, []).append(seconds)
        tell(f"suite {number + 1} of {wishes.seeds}")
    policies = {name: {"seconds": _finite(found)} for name, found in times.items()}
    return {"schema": SCHEMA, **asdict(wishes), "found": FOUND, "policies": policies}


def _finite(values: list[float]) -> list[float | None]:
    return [round(value, 3) if value < float("inf") else None for value in values]


def _one_suite(wishes: PolicyWishes, nod: Dataset, timed: Dataset, number: int) -> dict[str, float]:
    """Rates are fitted to half of the projects; the suite's tests are drawn from the other half."""
    np = numpy()
    rng = np.random.default_rng(seed_for(wishes.seed, "policies", number))
    names = np.array(sorted(set(nod.projects)), dtype=object)
    learned = np.isin(nod.projects, rng.permutation(names)[: len(names) // 2])
    assert nod.counts is not None
    failed, runs = nod.counts.original_failed, nod.counts.original_runs
    rates = rng.choice((failed / runs)[~learned], wishes.flaky)
    steady = round(wishes.flaky * (1 - wishes.share) / wishes.share)
    flaky_s, steady_s = _costs(timed, wishes.costs)
    suite = drawn_suite(rates, flaky_s, steady_s, steady=steady, auc=wishes.auc, fork_s=FORK_S, rng=rng)
    found = all_policies(suite, fitted_rates(failed[learned], runs[learned]).prior, rng)
    return {name: time_to_find(seconds, FOUND) for name, seconds in found.items()}


def _costs(timed: Dataset, how: str) -> tuple[Array, Array]:
    seconds = timed.values[:, timed.features.index("ExecutionTime")]
    if how == "alike":
        return seconds, seconds
    assert timed.label is not None
    return seconds[timed.label == 1], seconds[timed.label == 0]
