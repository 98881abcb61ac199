"""Shrinking a list of earlier tests to the few that decide."""

from __future__ import annotations

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flakehound.hunt.diagnosis import minimal_prefix
from flakehound.hunt.diagnosis.minimal_prefix import guesses_for, split
from flakehound.hunt.diagnosis.questions import answer_to


class Oracle:
    """Answers whether a list of earlier tests has the effect, and counts the questions."""

    def __init__(self, effect):
        self._effect = effect
        self.asked = []
        self.rounds = 0

    def __call__(self, candidates):
        self.rounds += 1
        self.asked += candidates
        return [self._effect(candidate) for candidate in candidates]
        yield  # a question, that needs no runs


def shrink(*args, **options):
    return answer_to(minimal_prefix.shrink(*args, **options))


def needs(*decisive):
    return lambda candidate: set(decisive) <= set(candidate)


def needs_in_order(*decisive):
    def holds(candidate):
        places = [candidate.index(one) for one in decisive if one in candidate]
        return len(places) == len(decisive) and places == sorted(places)

    return holds


@st.composite
def lists_with_decisive_members(draw, most=4):
    size = draw(st.integers(1, 60))
    decisive = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=min(most, size)))
    return tuple(draw(st.permutations(range(size)))), decisive


@given(lists_with_decisive_members(), st.integers(1, 4))
def test_exactly_the_decisive_members_are_left_in_their_order(case, runs_at_once):
    earlier, decisive = case

    found = shrink(earlier, Oracle(needs(*decisive)), runs_at_once=runs_at_once)

    assert found == tuple(one for one in earlier if one in decisive)


@given(lists_with_decisive_members(), st.data())
def test_no_member_of_the_result_can_be_left_out_whatever_the_effect_is(case, data):
    earlier, _decisive = case
    sets = data.draw(
        st.lists(st.frozensets(st.sampled_from(earlier), min_size=1, max_size=4), min_size=1, max_size=4)
    )
    breakers = data.draw(st.frozensets(st.sampled_from(earlier), max_size=2)) - frozenset().union(*sets)

    def effect(candidate):
        # Not monotone: a breaker in the list undoes the effect unless the whole list is there.
        members = set(candidate)
        return candidate == earlier or (any(s <= members for s in sets) and not breakers & members)

    found = shrink(earlier, Oracle(effect))

    assert effect(found)
    if len(found) > 1:
        assert not any(effect(found[:place] + found[place + 1 :]) for place in range(len(found)))


@given(lists_with_decisive_members(most=3))
def test_an_effect_that_needs_an_order_of_its_members_is_found_too(case):
    earlier, chosen = case
    decisive = tuple(one for one in earlier if one in chosen)

    assert shrink(earlier, Oracle(needs_in_order(*decisive))) == decisive


@pytest.mark.parametrize("size", [16, 256, 4096])
def test_one_decisive_test_costs_two_questions_per_halving(size):
    for decisive in (0, 1, size // 3, size // 2, size - 1):
        oracle = Oracle(needs(decisive))

        found = shrink(tuple(range(size)), oracle, runs_at_once=2)

        assert found == (decisive,)
        assert len(oracle.asked) <= 2 * ceil(log2(size))
        assert oracle.rounds <= ceil(log2(size))


def test_two_decisive_tests_far_apart_cost_little_more():
    oracle = Oracle(needs(3, 250))

    found = shrink(tuple(range(256)), oracle)

    assert found == (3, 250)
    assert len(oracle.asked) <= 150


def test_a_good_guess_saves_the_halving():
    oracle = Oracle(needs(200))

    found = shrink(tuple(range(256)), oracle, [(200,)])

    assert found == (200,)
    assert len(oracle.asked) == 1


def test_a_guess_that_has_the_effect_is_shrunk_further():
    assert shrink(tuple(range(64)), Oracle(needs(40)), [tuple(range(32, 48))]) == (40,)


def test_wrong_guesses_cost_one_question_each_and_do_no_harm():
    oracle = Oracle(needs(5))

    found = shrink(tuple(range(8)), oracle, [(1,), (2,), ()])

    assert found == (5,)
    assert oracle.asked[:2] == [(1,), (2,)]


def test_guessing_the_whole_list_is_no_guess():
    oracle = Oracle(needs(0))

    shrink((0, 1), oracle, [(0, 1)])

    assert (0, 1) not in oracle.asked


def test_a_single_earlier_test_is_decisive_without_a_question():
    oracle = Oracle(needs(0))

    assert shrink((0,), oracle) == (0,)
    assert oracle.asked == []


@given(st.integers(1, 50), st.integers(1, 50))
def test_a_split_has_nearly_equal_parts_that_join_to_the_whole(size, parts):
    earlier = tuple(range(size))

    chunks = split(earlier, parts)

    assert sum(chunks, ()) == earlier
    assert max(map(len, chunks)) - min(map(len, chunks)) <= 1
    assert len(chunks) == min(size, parts)


def test_guesses_are_the_worst_polluter_then_the_test_before_then_the_groups():
    earlier = tuple("abcdefgh")

    guesses = guesses_for("x", earlier, ["c", "z", "x"], [("d", "b"), earlier])

    assert guesses == [("c",), ("h",), ("b", "d")]


def test_there_is_nothing_to_guess_without_earlier_tests():
    assert [guess for guess in guesses_for("x", (), ["c"], [()]) if guess] == []


@pytest.mark.parametrize("runs_at_once", [1, 2])
@pytest.mark.parametrize("decisive", [(3, 200), (0, 255), (100, 101, 102), (7, 90, 250)])
def test_tests_that_are_needed_together_take_few_questions(decisive, runs_at_once):
    earlier = tuple(range(256))
    oracle = Oracle(needs(*decisive))

    assert shrink(earlier, oracle, runs_at_once=runs_at_once) == decisive
    assert oracle.rounds <= (len(decisive) + 1) * ceil(log2(256)) + 3 * len(decisive)


def test_an_effect_that_longer_lists_undo_is_still_found():
    def unless_cleaned(candidate):
        recent = candidate[max((place + 1 for place, one in enumerate(candidate) if one == 20), default=0) :]
        return {5, 40} <= set(candidate) and 40 in recent

    found = shrink(tuple(range(64)), Oracle(unless_cleaned))

    assert unless_cleaned(found)
    assert set(found) == {5, 40}
