"""Whatever dependences a suite has: no steady test is accused, and every accusation can be repeated."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from simulator import Moment, Simulator, hunt, moment_polluted, suite_of

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.verdicts import Kind

MOST_EXAMPLES = 12


@dataclass(frozen=True)
class Dependence:
    """What one test needs or fears: each set works if all of it ran, and no cleaner since."""

    sets: tuple[frozenset[NodeId], ...]
    needs: bool  # it passes only after one of the sets; otherwise it fails after one
    cleaners: frozenset[NodeId] = field(default_factory=frozenset)

    def __call__(self, moment: Moment) -> Outcome:
        holds = moment_polluted(moment, [sorted(one) for one in self.sets], sorted(self.cleaners))
        return Outcome.PASSED if holds == self.needs else Outcome.FAILED


@st.composite
def planted_suites(draw):
    """A suite of 5 to 25 tests in a few files, some of which depend on others."""
    size = draw(st.integers(5, 25))
    files = draw(st.integers(1, 3))
    suite = suite_of(*(f"f{number * files // size}.py::t{number}" for number in range(size)))
    dependent = draw(st.lists(st.sampled_from(suite.order), min_size=1, max_size=3, unique=True))
    return suite, {test: draw(_dependences(suite, test)) for test in dependent}


@st.composite
def _dependences(draw, suite, test):
    others = st.sampled_from([one for one in suite.order if one != test])
    sets = draw(st.lists(st.frozensets(others, min_size=1, max_size=2), min_size=1, max_size=2))
    needs = draw(st.booleans())
    involved = frozenset().union(*sets)
    free = [one for one in suite.order if one != test and one not in involved]
    cleaners = frozenset() if needs or not free else draw(st.frozensets(st.sampled_from(free), max_size=2))
    return Dependence(sets=tuple(sets), needs=needs, cleaners=cleaners)


def victims_in_the_original_order(suite, planted):
    simulator = Simulator(suite, planted)
    places = {test: place for place, test in enumerate(suite.order)}
    return {
        test
        for test, depends in planted.items()
        if not depends.needs and simulator.outcome_of_last(suite.order[: places[test] + 1]).is_failure
    }


def red_in_the_original_order(case):
    return bool(victims_in_the_original_order(*case))


def green_in_the_original_order(case):
    return not victims_in_the_original_order(*case)


def run_hunt(case):
    suite, planted = case
    return hunt(Simulator(suite, planted), pairs="exact", hash_seeds=False)


def check_kinds(found, planted):
    simulator = found.simulator
    for test, verdict in found.verdicts.items():
        if test not in planted:
            assert verdict.kind is Kind.STEADY, f"{test} is accused: {verdict.evidence}"
        elif verdict.kind is Kind.VICTIM:
            assert simulator.outcome_of_last(verdict.minimal_order).is_failure
            assert simulator.outcome_of_last([test]).is_pass
        elif verdict.kind is Kind.BRITTLE:
            assert simulator.outcome_of_last(verdict.minimal_order).is_pass
            assert simulator.outcome_of_last([test]).is_failure
        assert verdict.kind in (Kind.VICTIM, Kind.BRITTLE, Kind.STEADY, Kind.FAILING)


def check_culprits(found, planted):
    """Every polluter or setter that is named works by itself, or the named ones work together."""
    simulator = found.simulator
    for test, verdict in found.verdicts.items():
        for culprit in () if verdict.joint else (*verdict.polluters, *verdict.state_setters):
            works = simulator.outcome_of_last([culprit, test]).is_failure == (verdict.kind is Kind.VICTIM)
            assert works, f"{culprit} is wrongly named as a culprit of {test}"


def check_minimality(found):
    simulator = found.simulator
    for verdict in found.verdicts.values():
        earlier = verdict.minimal_order[:-1]
        if verdict.kind in (Kind.VICTIM, Kind.BRITTLE) and len(earlier) > 1:
            whole = simulator.outcome_of_last(verdict.minimal_order).is_failure
            for place in range(len(earlier)):
                shorter = (*earlier[:place], *earlier[place + 1 :], verdict.id)
                assert simulator.outcome_of_last(shorter).is_failure != whole


def check_pairs(found, planted):
    """Every effect of a single earlier test is found, with all tests that have it."""
    simulator = found.simulator
    for test, depends in planted.items():
        alone = simulator.outcome_of_last([test])
        decisive = {
            other
            for other in found.history.suite.order
            if other != test and simulator.outcome_of_last([other, test]) is not alone
        }
        if decisive:
            verdict = found.verdicts[test]
            assert verdict.kind is (Kind.BRITTLE if depends.needs else Kind.VICTIM)
            assert verdict.joint or set(verdict.polluters or verdict.state_setters) == decisive


# Without shrinking: every example is a whole hunt, and a failing one would take minutes to shrink.
BROAD = settings(
    max_examples=MOST_EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


@BROAD
@given(planted_suites().filter(green_in_the_original_order))
def test_accusations_in_a_suite_without_victims_in_the_original_order_can_all_be_repeated(case):
    found = run_hunt(case)

    assert found.settled
    check_kinds(found, case[1])
    check_culprits(found, case[1])
    check_minimality(found)
    check_pairs(found, case[1])


@BROAD
@given(planted_suites().filter(red_in_the_original_order))
def test_accusations_in_a_suite_that_is_red_in_the_original_order_can_all_be_repeated(case):
    found = run_hunt(case)

    assert found.settled
    check_kinds(found, case[1])
    check_culprits(found, case[1])
    check_pairs(found, case[1])
