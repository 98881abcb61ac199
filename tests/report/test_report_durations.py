from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flakehound.report.durations import budget_option, duration_text

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def understood_s(words: str) -> float:
    return sum(float(n) * _UNIT_S[unit] for n, unit in re.findall(r"([\d.]+) ?(ms|s|m|h)", words))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"),
        (-1, "0.0 s"),
        (0.00001, "1 ms"),
        (0.04, "40 ms"),
        (0.0996, "0.1 s"),
        (0.8, "0.8 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (12, "12 s"),
        (59.4, "59 s"),
        (59.6, "1m00s"),
        (192.4, "3m12s"),
        (3599.7, "1h00m"),
        (3840, "1h04m"),
        (100 * 3600, "100h00m"),
    ],
)
def test_a_duration_is_told_in_the_unit_people_would_use(seconds: float, words: str) -> None:
    assert duration_text(seconds) == words


@given(st.floats(min_value=0.001, max_value=1e7))
def test_what_is_told_is_close_to_what_was_meant(seconds: float) -> None:
    words = duration_text(seconds)

    half_of_the_last_digit_s = 30 if "h" in words else 0.5 if "." not in words else 0.05
    if "ms" in words:
        half_of_the_last_digit_s = 0.0005
    assert abs(understood_s(words) - seconds) <= half_of_the_last_digit_s + 1e-9


@given(st.floats(min_value=0, max_value=1e6), st.floats(min_value=0, max_value=1e6))
def test_a_longer_duration_is_never_told_as_a_shorter_one(one: float, other: float) -> None:
    shorter, longer = sorted((one, other))

    assert understood_s(duration_text(shorter)) <= understood_s(duration_text(longer)) + 1e-9


@pytest.mark.parametrize(
    ("seconds", "option"),
    [(0, "10s"), (31, "40s"), (90, "90s"), (91, "2m"), (720, "12m"), (3600, "1h"), (7801, "2h11m")],
)
def test_a_budget_is_rounded_up_to_what_people_type(seconds: float, option: str) -> None:
    assert budget_option(seconds) == option
