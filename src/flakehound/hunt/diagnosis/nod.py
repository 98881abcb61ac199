"""Tests that pass and fail in one and the same order: is it proven, and what decides?"""

from __future__ import annotations

from flakehound.core.history import History, Sighting, Tally, tally_of
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.diagnosis.load import LoadInquiry, seen_like
from flakehound.hunt.diagnosis.questions import PATIENCE, Asker, Need, is_luck
from flakehound.hunt.original_order import OriginalOrder

SAME_SEED_RUNS = 3
MOST_SAME_SEED_RUNS = 40
FORKS_TO_COMPARE = 10  # unanimous forks, against SAME_SEED_RUNS unanimous new interpreters


class NodInquiry:
    """One test that was seen both passing and failing without a change of order."""

    def __init__(self, ask: Asker, history: History, test_order: OriginalOrder, finding: Finding) -> None:
        self._ask = ask
        self._history = history
        self._test_order = test_order
        self._finding = finding
        self._test = finding.test

    def pursue(self) -> None:
        """Conclude, or want the runs that would let us."""
        failures = self._history.failures_of(self._test)
        if self._isolation_decides() or self._only_ages(failures):
            return
        if not any(self._is_proof(sighting) for sighting in failures):
            if not LoadInquiry(self._ask, self._history, self._finding).pursue():
                self._finding.evidence.insert(0, f"{self._counts()}: too few to tell the order from chance")
            return
        self._finding.kind = Kind.NOD
        self._finding.evidence.insert(0, self._counts())
        self._finding.replay = best_replay(self._history, self._test)
        self._what_decides(failures)

    def _is_proof(self, sighting: Sighting) -> bool:
        """A failure with nothing beside it, after tests after which it passes at other times."""
        return not sighting.record.disturbed and self._passed_there(sighting)

    def _passed_there(self, sighting: Sighting) -> bool:
        prefix = sighting.record.order[: sighting.place]
        in_original = self._history.tally(self._test, Setting.ORIGINAL, after=prefix)
        return (in_original + self._history.tally_after(prefix, self._test)).passed > 0

    def _isolation_decides(self) -> bool:
        """Whether forks and new interpreters with the same hash seed disagree without exception.

        Then a fork is no faithful copy for this test, and only new interpreters tell the truth about it.
        """
        original, alone = self._test_order.tests, (self._test,)
        if self._forks_disagree(alone, Setting.ORIGINAL, Setting.ALONE) or self._forks_disagree(
            alone, Setting.ALONE
        ):
            return True
        return self._test in original and original != alone and self._forks_disagree(original, Setting.ORIGINAL)

    def _forks_disagree(self, order: Order, *settings: Setting) -> bool:
        """The same for some settings; `order` is what to run for more of them."""
        alone = order == (self._test,)
        after = None if alone else self._test_order.earlier(self._test)
        hash_seed = self._history.forked_hash_seed
        forked = self._history.tally(self._test, *settings, isolation=Isolation.FORK, after=after)
        fresh = self._history.tally(
            self._test, *settings, isolation=Isolation.SPAWN, hash_seed=hash_seed, after=after
        )
        unanimous = forked.n and fresh.n and not forked.is_mixed and not fresh.is_mixed
        if hash_seed is None or not unanimous or bool(fresh.failed) == bool(forked.failed):
            return False
        why = f"does {self._test} behave in a fork as in a new interpreter?"
        # Mostly it was chance, and the few new interpreters show that sooner than the many forks.
        self._see(order, Isolation.SPAWN, hash_seed, missing=SAME_SEED_RUNS - fresh.n, why=why)
        self._see(order, Isolation.FORK, None, missing=FORKS_TO_COMPARE - forked.n, why=why)
        failing = Setting.ORIGINAL in settings and alone and fresh.failed >= SAME_SEED_RUNS
        self._finding.kind = Kind.FAILING if failing else Kind.UNRESOLVED
        where = "" if alone else " of the original order"
        self._finding.evidence.insert(
            0,
            f"failed {fresh.failed} of {fresh.n} runs{where} in new interpreters and {forked.failed} of "
            f"{forked.n} in forks: forks do not tell about it, run `flakehound hunt --isolation spawn` on it",
        )
        return True

    def _see(self, order: Order, isolation: Isolation, hash_seed: int | None, *, missing: int, why: str) -> None:
        """Want the missing runs of an order, unless as many were made and told nothing."""
        if missing <= 0:
            return
        like = [r for r in self._history.records if r.order == order and r.isolation is isolation]
        made = sum(hash_seed in (None, record.hash_seed) for record in like)
        most = FORKS_TO_COMPARE if isolation is Isolation.FORK else SAME_SEED_RUNS
        if made < most + PATIENCE:
            plan = RunPlan(
                order=order,
                why=why,
                setting=Setting.ALONE if len(order) == 1 else Setting.ORIGINAL,
                isolation=isolation,
                hash_seed=hash_seed,
            )
            raise Need([plan] * missing)

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
        most = max(
            (self._history.tally_after(before, self._test) for before in contexts),
            key=lambda t: (t.is_mixed, t.n),
        )
        return (
            f"failed {most.failed} of {most.n} runs after the same tests, "
            f"{seen.failed} of {seen.n} in the original order and alone"
        )

    def _what_decides(self, failures: list[Sighting]) -> None:
        """Whether the random seed or the hash seed alone decides; both are worth a replay that always fails."""
        if self._hash_seed_decides():
            return
        seeded = [s for s in failures if s.record.seed is not None and s.record.isolation is Isolation.FORK]
        shortest = min(seeded, key=lambda s: s.place, default=None)
        # Where it never passes, the tests before it may decide as well as the seed.
        if shortest is not None and not self._passed_there(shortest):
            shortest = next((s for s in seeded if self._passed_there(s)), None)
        if shortest is not None:
            self._seed_decides(shortest)

    def _seed_decides(self, sighting: Sighting) -> None:
        """Compare the failing seed with all others after the same tests: there the order cannot be to blame."""
        record, order = sighting.record, sighting.record.order[: sighting.place + 1]
        made = [s for s in self._history.after(order[:-1], self._test) if s.record.seed == record.seed]
        same, seen = tally_of(made), seen_like(self._history, sighting)
        others = Tally(n=seen.n - same.n, failed=seen.failed - same.failed)
        enough = _same_seed_runs_for(others) if same.failed == same.n else None
        if enough is None:
            return
        if same.n < enough and len(made) < enough + PATIENCE:
            why = f"does the seed decide about {self._test}?"
            plan = RunPlan(order=order, why=why, setting=Setting.PROBE, seed=record.seed)
            raise Need([plan] * (enough - same.n))
        if same.n < enough:
            return
        words = (
            f"failed {same.failed} of {same.n} with random seed {record.seed}, "
            f"{others.failed} of {others.n} with others"
        )
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
        why = f"does the hash seed decide about {self._test}?"
        for chosen in (failing[0], passing[0]):
            missing = SAME_SEED_RUNS - by_hash[chosen].n
            self._see((self._test,), Isolation.SPAWN, chosen, missing=missing, why=why)
        fails = by_hash[failing[0]]
        if min(fails.n, by_hash[passing[0]].n) < SAME_SEED_RUNS:
            return False
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


def clean_tally(history: History, test: NodeId) -> Tally:
    """Runs in the original order and alone."""
    return history.tally(test, Setting.ORIGINAL, Setting.ALONE)


def _same_seed_runs_for(others: Tally) -> int | None:
    """Failures in a row under one seed that a test which fails by itself would hardly show; None: too many.

    The first is not counted: it is why this seed was chosen.
    """
    enough = range(SAME_SEED_RUNS, MOST_SAME_SEED_RUNS)
    return next((n for n in enough if not is_luck(Tally(n=n - 1, failed=n - 1), others)), None)


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
