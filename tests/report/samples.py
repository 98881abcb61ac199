"""One hand-made hunt in which every kind of test occurs, and failures of its tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Setting
from flakehound.core.records import Failure
from flakehound.core.statistics.rates import failure_rate
from flakehound.core.verdicts import Cause, Kind, LikelyCause, Replay, Verdict
from flakehound.report.hunt.failures import FailureExample
from flakehound.report.hunt.result import HuntResult, SpentFacts, SuiteFacts

BAN = NodeId("tests/test_admin.py::test_ban")
MUTE = NodeId("tests/test_admin.py::TestMute::test_mute[for an hour]")
LOCALE = NodeId("tests/test_locale.py::test_switches_language")
RESET = NodeId("tests/test_admin.py::test_reset")
OTHERS = tuple(NodeId(f"tests/test_admin.py::test_role[{role}]") for role in ("guest", "owner", "editor", "bot"))

TOTAL = NodeId("tests/test_cart.py::test_total")
TAGS = NodeId("tests/test_cart.py::test_tags_are_listed['new' & \"sale\"]")
LOGIN = NodeId("tests/test_user.py::test_login")
LOGOUT = NodeId("tests/test_user.py::test_logout[a b]")
FORMAT = NodeId("tests/test_prices.py::TestFormat::test_thousands")
LOOKUP = NodeId("tests/test_cache.py::test_lookup")
EVICT = NodeId("tests/test_cache.py::test_evict")
REGISTER = NodeId("tests/test_plugins.py::test_register")
DEADLINE = NodeId("tests/test_jobs.py::test_deadline")
SLOW = NodeId("tests/test_jobs.py::test_under_pressure")
GONE = NodeId("tests/test_old.py::test_gone")
SKIPPED = NodeId("tests/test_windows.py::test_drive_letters")


def tallies(**counts: tuple[int, int]) -> dict[Setting, Tally]:
    """Counts by setting, as (runs, failures)."""
    return {Setting(name): Tally(n=n, failed=failed) for name, (n, failed) in counts.items()}


def a_verdict(test: NodeId, kind: Kind, counts: dict[Setting, Tally], **more: Any) -> Verdict:
    """A verdict whose rate follows from its counts."""
    seen = sum((counts.get(s, Tally()) for s in (Setting.ORIGINAL, Setting.SHUFFLED, Setting.ALONE)), Tally())
    return Verdict(id=test, kind=kind, tallies=counts, rate=failure_rate(seen.failed, seen.n), **more)


def a_steady(test: NodeId, original: int = 40) -> Verdict:
    """A test that never failed."""
    said = f"passed {original + 25} of {original + 25} runs" if original else "never ran to an outcome"
    counts = tallies(original=(original, 0), shuffled=(25 if original else 0, 0))
    return a_verdict(test, Kind.STEADY, counts, evidence=(said,))


def _order_cause(words: str) -> tuple[LikelyCause, ...]:
    return (LikelyCause(cause=Cause.TEST_ORDER, evidence=words),)


def nod_by_seed() -> Verdict:
    """The random seed decides."""
    return a_verdict(
        TOTAL,
        Kind.NOD,
        tallies(original=(40, 6), shuffled=(25, 4), alone=(2, 1), probe=(3, 3)),
        evidence=("failed 7 of 42 runs in the same order or alone",),
        causes=(
            LikelyCause(
                cause=Cause.RANDOMNESS, evidence="failed 3 of 3 with random seed 123, 4 of 39 with others"
            ),
        ),
        minimal_order=(TOTAL,),
        replay=Replay(order=(TOTAL,), seed=123, failed=3, runs=3),
        signatures={"1f00aa22": 13, "77c0ffee": 1},
    )


def nod_by_hash_seed() -> Verdict:
    """The hash seed decides."""
    words = "failed 3 of 3 with PYTHONHASHSEED=2, passed 3 of 3 with 1"
    return a_verdict(
        TAGS,
        Kind.NOD,
        tallies(original=(40, 17), shuffled=(25, 10)),
        evidence=("failed 17 of 40 runs in the same order or alone",),
        causes=(LikelyCause(cause=Cause.UNORDERED_COLLECTION, evidence=words),),
        minimal_order=(TAGS,),
        replay=Replay(order=(TAGS,), isolation=Isolation.SPAWN, hash_seed=2, failed=3, runs=3),
        signatures={"0ddba115": 27},
    )


def victim() -> Verdict:
    """One polluter is enough, several do."""
    words = f"failed 5 of 5 after {BAN}, passed 5 of 5 alone"
    return a_verdict(
        LOGIN,
        Kind.VICTIM,
        tallies(original=(40, 0), shuffled=(25, 11), alone=(18, 0), probe=(31, 20)),
        evidence=(words, "passes alone, fails after 3 other tests in another order"),
        polluters=(BAN, MUTE, *OTHERS),
        cleaners=(RESET,),
        causes=_order_cause(words),
        minimal_order=(BAN, LOGIN),
        replay=Replay(order=(BAN, LOGIN), failed=5, runs=5),
        signatures={"feedbeef": 31},
    )


def victim_of_two() -> Verdict:
    """Fails only sometimes, and only after two tests together."""
    words = f"failed 6 of 10 after {BAN} and {MUTE} run together, passed 10 of 10 alone"
    return a_verdict(
        LOGOUT,
        Kind.VICTIM,
        tallies(original=(40, 0), shuffled=(25, 2), alone=(10, 0), probe=(44, 21)),
        evidence=(words, "passes alone, fails after 9 other tests, sometimes"),
        polluters=(BAN, MUTE),
        joint=True,
        pollution_rate=failure_rate(6, 10),
        causes=_order_cause(words),
        minimal_order=(BAN, MUTE, LOGOUT),
        replay=Replay(order=(BAN, MUTE, LOGOUT), failed=6, runs=10),
        signatures={"feedbeef": 23},
    )


def victim_sometimes() -> Verdict:
    """Fails only sometimes after its one polluter."""
    words = f"failed 4 of 10 after {LOCALE}, passed 10 of 10 alone"
    return a_verdict(
        FORMAT,
        Kind.VICTIM,
        tallies(original=(40, 0), shuffled=(25, 3), alone=(10, 0), probe=(10, 4)),
        evidence=(words,),
        polluters=(LOCALE,),
        pollution_rate=failure_rate(4, 10),
        causes=_order_cause(words),
        minimal_order=(LOCALE, FORMAT),
        replay=Replay(order=(LOCALE, FORMAT), failed=4, runs=10),
        signatures={"c0dec0de": 7},
    )


def brittle() -> Verdict:
    """Needs a state-setter."""
    words = f"failed 5 of 5 alone, passed 5 of 5 after {LOCALE}"
    return a_verdict(
        LOOKUP,
        Kind.BRITTLE,
        tallies(original=(40, 0), shuffled=(25, 12), alone=(5, 5), probe=(5, 0)),
        evidence=(words,),
        state_setters=(LOCALE, RESET),
        causes=_order_cause(words),
        minimal_order=(LOCALE, LOOKUP),
        replay=Replay(order=(LOOKUP,), failed=5, runs=5),
        signatures={"deadbea7": 17},
    )


def brittle_without_two() -> Verdict:
    """Needs two state-setters."""
    words = f"failed 5 of 5 alone, passed 5 of 5 after {LOCALE} and {RESET}"
    return a_verdict(
        EVICT,
        Kind.BRITTLE,
        tallies(original=(40, 0), shuffled=(25, 19), alone=(5, 5), probe=(9, 4)),
        evidence=(words,),
        state_setters=(LOCALE, RESET),
        joint=True,
        causes=_order_cause(words),
        minimal_order=(LOCALE, RESET, EVICT),
        replay=Replay(order=(EVICT,), failed=5, runs=5),
        signatures={"deadbea7": 28},
    )


def non_idempotent() -> Verdict:
    """Cannot run twice."""
    return a_verdict(
        REGISTER,
        Kind.NON_IDEMPOTENT,
        tallies(original=(40, 0), shuffled=(25, 0), alone=(6, 0), repeated=(6, 6)),
        evidence=("passed 6 of 6 first, failed 6 of 6 when run again in the same process",),
        minimal_order=(REGISTER, REGISTER),
        replay=Replay(order=(REGISTER, REGISTER), failed=6, runs=6),
        signatures={"ab5e11ed": 6},
    )


def unresolved() -> Verdict:
    """Fails only under load."""
    return a_verdict(
        SLOW,
        Kind.UNRESOLVED,
        tallies(original=(40, 3), shuffled=(25, 1)),
        evidence=("fails under load: 4 of 52 runs beside others, 0 of 13 undisturbed",),
        under_load=True,
        minimal_order=(*OTHERS, SLOW),
        replay=Replay(order=(*OTHERS, SLOW), seed=9, failed=1, runs=2),
        signatures={"10adedaa": 4},
    )


def unexplained() -> Verdict:
    """Failed where nothing of it was kept."""
    return a_verdict(
        DEADLINE,
        Kind.UNRESOLVED,
        tallies(original=(40, 0), shuffled=(25, 1)),
        evidence=("failed 1 of 65 runs; the time did not suffice to say why",),
    )


def failing() -> Verdict:
    """Never passes."""
    return a_verdict(
        GONE,
        Kind.FAILING,
        tallies(original=(40, 40), shuffled=(25, 25), alone=(3, 3)),
        evidence=("failed all of 68 runs",),
        minimal_order=(GONE,),
        replay=Replay(order=(GONE,), seed=1, failed=3, runs=3),
        signatures={"b0a710ad": 68},
    )


def a_hunt(**changes: Any) -> HuntResult:
    """Every kind at once; the flaky ones deliberately not in the order they are told in."""
    verdicts = (
        *(a_steady(test) for test in (BAN, MUTE, RESET, *OTHERS)),
        non_idempotent(),
        brittle(),
        brittle_without_two(),
        nod_by_seed(),
        nod_by_hash_seed(),
        unresolved(),
        unexplained(),
        a_steady(LOCALE, original=15),
        failing(),
        victim_sometimes(),
        victim(),
        victim_of_two(),
        a_steady(SKIPPED, original=0),
    )
    usual = HuntResult(
        verdicts=verdicts,
        suite=SuiteFacts(
            tests=len(verdicts),
            original_order_s=1.25,
            python="3.12.4",
            pytest="8.3.2",
            commit="0123456789abcdef0123456789abcdef01234567",
            rootdir="/nowhere/shop",
        ),
        spent=SpentFacts(wall_s=192.4, cpu_s=361.5, test_runs=12345, processes=678),
        seed=7,
        runs={"original": 40, "shuffled": 25},
        notes=(
            "pytest-randomly was switched off in the runs",
            "2 processes at a time, forked from one session",
        ),
        pairs="grouped",
        cwd="/nowhere/shop",
        python_path="venv/bin/python",
        pytest_args=("-q", "-k", "not slow", "tests/test_user.py::test_login"),
    )
    return replace(usual, **changes)


def a_quiet_hunt(**changes: Any) -> HuntResult:
    """Nothing but steady tests."""
    steady = tuple(a_steady(test) for test in (BAN, RESET))
    usual = a_hunt(verdicts=steady, notes=(), pairs="")
    return replace(usual, suite=replace(usual.suite, tests=len(steady)), **changes)


def failures() -> list[FailureExample]:
    """Two examples of one failure of `TOTAL` and none of its other."""
    long = "\n".join([f"    line {n} of the traceback" for n in range(1, 31)] + ["E   assert 3 == 4"])
    failure = Failure(
        phase="call",
        exception="AssertionError",
        message="assert 3 == 4",
        where="tests/test_cart.py:12",
        text=long,
    )
    return [
        FailureExample(signature="1f00aa22", failure=failure, seen_in="run 17, original order"),
        FailureExample(signature="1f00aa22", failure=failure, seen_in="run 18, original order"),
    ]
