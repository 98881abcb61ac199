from __future__ import annotations

import math

import pytest

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.store import packing
from flakehound.store.run_reasons import reason_from, template_of


@pytest.mark.parametrize("length", [0, 1, 8, 9, 1000])
def test_orders_of_every_length_survive_packing(length):
    numbers = [(i * 7919) % 100_000 for i in range(length)]

    short = packing.unpack_short_order(packing.pack_short_order(numbers), length)
    stored = packing.unpack_order(packing.pack_order(numbers))

    assert list(short) == list(stored) == numbers


def test_durations_from_a_nanosecond_to_a_month_stay_within_half_a_percent():
    durations = [10 ** (exponent / 100) for exponent in range(-900, 640)]

    unpacked = packing.unpack_durations(packing.pack_durations(durations), len(durations))

    assert list(unpacked) == pytest.approx(durations, rel=0.005)


def test_durations_that_are_no_numbers_do_not_stop_the_store():
    unpacked = packing.unpack_durations(packing.pack_durations([math.inf, -math.nan, 1e300]), 3)

    assert unpacked[0] == math.inf
    assert math.isnan(unpacked[1])
    assert unpacked[2] == math.inf


def test_every_setting_isolation_and_outcome_has_its_code():
    assert set(packing.SETTING_CODES) == set(Setting)
    assert set(packing.ISOLATION_CODES) == set(Isolation)
    assert packing.unpack_outcomes(packing.pack_outcomes(tuple(Outcome)), len(Outcome)) == tuple(Outcome)


def test_reasons_that_differ_only_in_their_tests_share_a_sentence():
    first = (NodeId("t.py::test_a"), NodeId("t.py::test_ab"))
    second = (NodeId("u.py::test_c"), NodeId("u.py::test_d"))

    templates = {
        template_of(f"does {polluter} pollute {victim}?", (polluter, victim))
        for polluter, victim in (first, second)
    }

    assert templates == {"does ⟨0⟩ pollute ⟨1⟩?"}


@pytest.mark.parametrize("why", ["⟨0⟩", "⟨⟩", "⟨", "⟩", "a ⟨1⟩ 0", "", "⟨⟨0⟩⟩"])
def test_a_reason_with_our_own_brackets_comes_back_unchanged(why):
    order = (NodeId("0"), NodeId("a"), NodeId(""))

    assert reason_from(template_of(why, order), order) == why


def test_the_last_test_of_a_long_order_is_taken_out_of_the_reason_too():
    order = tuple(NodeId(f"test_{i}") for i in range(100))

    assert template_of("half of what precedes test_99", order) == "half of what precedes ⟨99⟩"
