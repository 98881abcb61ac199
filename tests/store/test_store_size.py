from __future__ import annotations

import random

from store_samples import a_run, a_session, a_shuffled_run, a_suite, size_of

from flakehound.core.records import Usage
from flakehound.store import Store

MB = 1_000_000


def test_100_shuffled_runs_of_20_000_tests_stay_under_50_megabytes(path):
    # Ten runs are written and extrapolated: every run adds a new order, so the size grows in line.
    suite = a_suite(20_000)
    with Store.open(path) as store:
        session_id = store.begin(a_session(), suite).id
    empty = size_of(path)
    with Store.open(path) as store:
        for seed in range(10):
            store.append(session_id, [a_shuffled_run(suite, seed)])

    per_run = (size_of(path) - empty) / 10

    assert empty + 100 * per_run < 50 * MB


def test_2500_shuffled_runs_of_10_000_tests_stay_under_a_gigabyte(path):
    # Twenty runs are written and extrapolated, as above.
    suite = a_suite(10_000)
    with Store.open(path) as store:
        session_id = store.begin(a_session(), suite).id
    empty = size_of(path)
    with Store.open(path) as store:
        store.append(session_id, [a_shuffled_run(suite, seed) for seed in range(20)])

    per_run = (size_of(path) - empty) / 20

    assert empty + 2500 * per_run < 1000 * MB


def test_a_pair_run_takes_less_than_150_bytes_although_its_reason_names_both_tests(path):
    rng = random.Random(1)
    suite = a_suite(1000)
    with Store.open(path) as store:
        session_id = store.begin(a_session(), suite).id
    empty = size_of(path)
    pairs = [rng.sample(suite.order, 2) for _ in range(5000)]
    with Store.open(path) as store:
        store.append(session_id, [_a_pair_run(pair, rng) for pair in pairs])

    assert (size_of(path) - empty) / len(pairs) < 150


def _a_pair_run(pair, rng):
    return a_run(
        pair,
        why=f"does {pair[0]} pollute {pair[1]}?",
        seed=rng.getrandbits(32),
        started_s=1.7e9 + rng.random(),
        usage=Usage(wall_s=rng.random(), cpu_s=rng.random(), max_rss_bytes=80_000_000 + rng.randrange(10**6)),
    )


def test_an_unchanged_suite_is_stored_once_for_all_sessions(store):
    suite = a_suite(100)

    for _ in range(3):
        store.begin(a_session(), suite)

    assert store._connection.execute("SELECT COUNT(*) FROM suite").fetchone()[0] == 1
