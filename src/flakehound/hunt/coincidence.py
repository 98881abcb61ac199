"""Tests that pass and fail in one and the same order: is it proven, and what decides?"""

from __future__ import annotations

from math import ceil, log

from flakehound.core.history import History, Sighting, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, RunPlan, Setting
from flakehound.core.rates import failure_rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay
from flakehound.hunt.asking import PATIENCE, Asker, Need
from flakehound.hunt.findings import Finding

SECONDS_FOR_ONE_PROOF = 5.0  # undisturbed runs spent on one test that so far failed only beside others
MOST_PROOF_RUNS = 60
EXACT_REPLAYS = 2  # of the failing order and seed, before other seeds are tried
SAME_SEED_RUNS = 3
FORKS_TO_COMPARE = 10  # unanimous forks, against SAME_SEED_RUNS unanimous new interpreters


class NodInquiry:
    """One test that was seen both passing and failing without a change of order."""

    def __init__(self, ask: Asker, history: History, finding: Finding) -> None:
        self._ask = ask
        self._history = history
        self._finding = finding
        self._test = finding.test

    def pursue(self) -> None:
        """Conclude, or want the runs that would let us."""
        failures = self._history.failures_of(self._test)
        if self._isolation_decides() or self._only_ages(failures):
            return
        if not any(self._is_proof(sighting) for sighting in failures):
            self._seek_undisturbed_failure(failures)
            return
        self._finding.kind = Kind.NOD
        self._finding.evidence.insert(0, self._counts())
        self._finding.replay = best_replay(self._history, self._test)
        self._what_decides(failures)

    def _is_proof(self, sighting: Sighting) -> bool:
        """A failure with nothing beside it, where the test passes at other times."""
        record, place = sighting.record, sighting.place
        if record.disturbed:
            return False
        clean = record.setting is Setting.ORIGINAL or place == 0
        return clean or self._history.tally_after(record.order[:place], self._test).is_mixed

    def _isolation_decides(self) -> bool:
        """Whether forks and new interpreters with the same hash seed disagree without exception.

        Then a fork is no faithful copy for this test, and only new interpreters tell the truth about it.
        """
        clean = (Setting.ORIGINAL, Setting.ALONE)
        forked = self._history.tally(self._test, *clean, isolation=Isolation.FORK)
        hash_seed = self._history.forked_hash_seed
        if hash_seed is None or not forked.n or forked.is_mixed:
            return False
        fresh = self._history.tally(self._test, *clean, isolation=Isolation.SPAWN, hash_seed=hash_seed)
        if not fresh.n or fresh.is_mixed or bool(fresh.failed) == bool(forked.failed):
            return False
        if forked.n < FORKS_TO_COMPARE:
            why = f"does {self._test} always behave like this in a fork?"
            self._ask.last_of((self._test,), times=FORKS_TO_COMPARE, why=why)
        if fresh.n < SAME_SEED_RUNS and self._runs_with_hash_seed(hash_seed) < SAME_SEED_RUNS + PATIENCE:
            why = f"does {self._test} behave in a fork as in a new interpreter?"
            plan = RunPlan(
                order=(self._test,),
                why=why,
                setting=Setting.ALONE,
                isolation=Isolation.SPAWN,
                hash_seed=hash_seed,
            )
            raise Need([plan] * (SAME_SEED_RUNS - fresh.n))
        self._finding.kind = Kind.FAILING if fresh.failed else Kind.UNRESOLVED
        self._finding.evidence.insert(
            0,
            f"failed {fresh.failed} of {fresh.n} runs in new interpreters and {forked.failed} of {forked.n} in "
            "forks: not judged, run `flakehound hunt --isolation spawn` on it",
        )
        return True

    def _only_ages(self, failures: list[Sighting]) -> bool:
        """Whether the failures come from forking an old session: values computed at import, such as the time.

        Then every failure is a fork and younger than every pass, and new interpreters pass.
        """
        forked = [s for s in failures if s.record.isolation is Isolation.FORK]
        last_pass = self._history.last_forked_pass_s(self._test)
        if len(forked) < len(failures) or not forked or last_pass is None:
            return False
        if last_pass > min(s.record.started_s for s in forked):
            return False
        why = f"does {self._test} fail in a new interpreter too?"
        fresh = Asker(history=self._history, isolation=Isolation.SPAWN)
        seen = fresh.in_new_interpreters(self._test, times=SAME_SEED_RUNS, why=why)
        latest = Asker(history=self._history).last_of((self._test,), times=SAME_SEED_RUNS, why=why)
        if seen.failed or not seen.n or not latest.failed:
            return False
        self._finding.kind = Kind.UNRESOLVED
        self._finding.evidence.insert(
            0, f"fails only in forks of an ageing session, passed {seen.n} of {seen.n} in new interpreters"
        )
        return True

    def _counts(self) -> str:
        seen = clean_tally(self._history, self._test)
        if seen.is_mixed:
            return f"failed {seen.failed} of {seen.n} runs in the same order or alone"
        contexts = {s.record.order[: s.place] for s in self._history.failures_of(self._test)}
        most = max((self._history.tally_after(before, self._test) for before in contexts), key=lambda t: t.n)
        return (
            f"failed {most.failed} of {most.n} runs after the same tests, {seen.failed} of {seen.n} without them"
        )

    def _seek_undisturbed_failure(self, failures: list[Sighting]) -> None:
        """Replay the failure with nothing beside it: first exactly, then with other seeds."""
        finding = self._finding
        sighting = min(failures, key=lambda s: (s.place, s.record.isolation is Isolation.SPAWN))
        tries = self._undisturbed_tries()
        seen = self._history.tally(self._test, disturbed=False)
        if self._exact_replays(sighting) < EXACT_REPLAYS:
            raise Need(self._replays(sighting, exactly=True))
        made = sum(not s.record.disturbed for s in self._history.after((), self._test))
        if seen.n < tries and made < tries + PATIENCE:
            raise Need(self._replays(sighting, exactly=False))
        finding.kind = Kind.UNRESOLVED
        finding.under_load = True
        overall = self._history.tally(self._test, disturbed=True)
        finding.evidence.insert(
            0,
            f"fails under load: {overall.failed} of {overall.n} runs beside others, 0 of {seen.n} undisturbed",
        )

    def _exact_replays(self, sighting: Sighting) -> int:
        same = self._history.after(sighting.record.order[: sighting.place], self._test)
        return sum(not s.record.disturbed and s.record.seed == sighting.record.seed for s in same)

    def _undisturbed_tries(self) -> int:
        """Enough runs that a failure as frequent as before would show, within reason."""
        seen = self._history.tally(self._test, disturbed=True)
        share = max(0.02, failure_rate(seen.failed, seen.n).low)
        enough = ceil(log(0.02) / log(1 - min(0.9, share)))
        affordable = SECONDS_FOR_ONE_PROOF / max(0.01, self._history.mean_s(self._test))
        return int(max(6, min(enough, affordable, MOST_PROOF_RUNS)))

    def _replays(self, sighting: Sighting, *, exactly: bool) -> list[RunPlan]:
        record = sighting.record
        return [
            RunPlan(
                order=record.order[: sighting.place + 1] if exactly else (self._test,),
                why=f"does {self._test} fail with nothing beside it?",
                setting=Setting.PROBE if exactly else Setting.ALONE,
                isolation=record.isolation,
                seed=record.seed if exactly else None,
                hash_seed=record.hash_seed,
                undisturbed=True,
            )
        ]

    def _what_decides(self, failures: list[Sighting]) -> None:
        """Whether the random seed or the hash seed alone decides; both are worth a replay that always fails."""
        if self._hash_seed_decides():
            return
        seeded = [s for s in failures if s.record.seed is not None and s.record.isolation is Isolation.FORK]
        if seeded:
            self._seed_decides(min(seeded, key=lambda s: s.place))

    def _seed_decides(self, sighting: Sighting) -> None:
        record = sighting.record
        order = record.order[: sighting.place + 1]
        same = _outcomes_under(self._history.after(order[:-1], self._test), "seed", record.seed)
        overall = clean_tally(self._history, self._test)
        if same.failed < same.n or overall.failed > 0.8 * overall.n:
            return
        enough = _runs_that_rule_out_luck(overall)
        made = sum(s.record.seed == record.seed for s in self._history.after(order[:-1], self._test))
        if same.n < enough and made < enough + PATIENCE:
            why = f"does the seed decide about {self._test}?"
            plan = RunPlan(order=order, why=why, setting=Setting.PROBE, seed=record.seed)
            raise Need([plan] * (enough - same.n))
        words = f"failed {same.failed} of {same.n} with random seed {record.seed}, passes with others"
        self._finding.causes.append(LikelyCause(cause=Cause.RANDOMNESS, evidence=words))
        self._finding.replay = Replay(
            order=order, seed=record.seed, hash_seed=record.hash_seed, failed=same.failed, runs=same.n
        )

    def _hash_seed_decides(self) -> bool:
        by_hash = self._history.tally_by_hash_seed(self._test, Setting.ORIGINAL, Setting.ALONE)
        failing = [h for h, seen in by_hash.items() if seen.failed == seen.n]
        passing = [h for h, seen in by_hash.items() if not seen.failed]
        if not failing or not passing or len(failing) + len(passing) < len(by_hash):
            return False
        for chosen in (failing[0], passing[0]):
            self._see_hash_seed(chosen, by_hash[chosen])
        fails = by_hash[failing[0]]
        words = (
            f"failed {fails.failed} of {fails.n} with PYTHONHASHSEED={failing[0]}, "
            f"passed {by_hash[passing[0]].n} of {by_hash[passing[0]].n} with {passing[0]}"
        )
        self._finding.causes.append(LikelyCause(cause=Cause.UNORDERED_COLLECTION, evidence=words))
        self._finding.replay = Replay(
            order=(self._test,),
            isolation=Isolation.SPAWN,
            hash_seed=failing[0],
            failed=fails.failed,
            runs=fails.n,
        )
        return True

    def _runs_with_hash_seed(self, hash_seed: int) -> int:
        alone = self._history.after((), self._test)
        return sum(s.record.hash_seed == hash_seed and s.record.isolation is Isolation.SPAWN for s in alone)

    def _see_hash_seed(self, hash_seed: int, seen: Tally) -> None:
        if seen.n >= SAME_SEED_RUNS or self._runs_with_hash_seed(hash_seed) >= SAME_SEED_RUNS + PATIENCE:
            return
        plan = RunPlan(
            order=(self._test,),
            why=f"does the hash seed decide about {self._test}?",
            setting=Setting.ALONE,
            isolation=Isolation.SPAWN,
            hash_seed=hash_seed,
        )
        raise Need([plan] * (SAME_SEED_RUNS - seen.n))


def clean_tally(history: History, test: NodeId) -> Tally:
    """Runs in the original order and alone."""
    return history.tally(test, Setting.ORIGINAL, Setting.ALONE)


def _runs_that_rule_out_luck(overall: Tally) -> int:
    """Failures in a row under one seed that a test which fails by itself would hardly show."""
    share = min(0.8, max(0.05, overall.failed / overall.n))
    return max(SAME_SEED_RUNS, 1 + ceil(log(0.005) / log(share)))


def _outcomes_under(sightings: list[Sighting], condition: str, value: int | None) -> Tally:
    told = [
        s.outcome.is_failure
        for s in sightings
        if getattr(s.record, condition) == value and (s.outcome.is_failure or s.outcome.is_pass)
    ]
    return Tally(n=len(told), failed=sum(told))


def best_replay(history: History, test: NodeId) -> Replay | None:
    """The shortest failing run seen, with its seeds."""
    failures = history.failures_of(test)
    if not failures:
        return None
    sighting = min(failures, key=lambda s: (s.place, s.record.isolation is Isolation.SPAWN))
    order = sighting.record.order[: sighting.place + 1]
    seen = history.tally_after(order[:-1], test)
    record = sighting.record
    return Replay(
        order=order,
        isolation=record.isolation,
        seed=record.seed,
        hash_seed=record.hash_seed if record.isolation is Isolation.SPAWN else None,
        failed=seen.failed,
        runs=seen.n,
    )
