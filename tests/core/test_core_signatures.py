"""Failures of one cause share a signature; failures of two causes do not."""

from __future__ import annotations

import pytest
from core_samples import a_failure
from hypothesis import given
from hypothesis import strategies as st

from flakehound.core.failure_signatures import have_varying_fractions, signature_of, without_volatile_parts


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("<Cart object at 0x7f3a12>", "<Cart object at 0x7fffffb0>"),
        ("took 1.53 s", "took 20 s"),
        ("took 1e-05 s", "took 3.2E+7 s"),
        ("no file /tmp/pytest-of-root/pytest-3/a.txt", "no file /home/ann/work/tmp/b.txt"),
        ("no row 1b4e28ba-2fa1-11d2-883f-0016d3cca427", "no row 6fa459ea-ee8a-3ca4-894e-db77e160355e"),
        ("bad digest 9e107d9d372bb6826bd81d3542a419d6", "bad digest e4d909c290d0fb1ca068ffaddf22cbd0"),
        ("port 8080 is taken", "port 39021 is taken"),
    ],
)
def test_what_differs_from_run_to_run_does_not_change_the_signature(first, second):
    assert signature_of(a_failure(message=first)) == signature_of(a_failure(message=second))


def test_a_clock_in_nanoseconds_is_a_number_however_many_digits_it_has():
    early, late = a_failure(message="at 999999999999999 ns"), a_failure(message="at 1000000000000001 ns")

    assert signature_of(early) == signature_of(late)


def test_an_assertion_that_fails_with_other_values_at_the_same_place_has_the_same_cause():
    one = a_failure(message="AssertionError: assert 'banned' not in {'banned': True}")
    other = a_failure(message="AssertionError: assert 'banned' not in {'again': 1, 'banned': True}")

    assert signature_of(one) == signature_of(other)


def test_the_explanation_below_the_first_line_does_not_change_the_signature():
    short = a_failure(message="assert total == paid")
    explained = a_failure(message="assert total == paid\n  where total = Cart().total()")

    assert signature_of(short) == signature_of(explained)


def test_the_report_text_does_not_change_the_signature():
    assert signature_of(a_failure(text="one")) == signature_of(a_failure(text="two"))


@pytest.mark.parametrize(
    "changes",
    [
        {"phase": "setup"},
        {"exception": "ValueError"},
        {"where": "tests/test_cart.py:15"},
        {"message": "assert cart is empty"},
    ],
)
def test_another_phase_type_place_or_message_is_another_cause(changes):
    assert signature_of(a_failure(**changes)) != signature_of(a_failure())


def test_words_moved_from_one_part_to_another_are_another_cause():
    one = a_failure(exception="Error", where="a.py:1", message="")
    other = a_failure(exception="Error", where="", message="a.py:1")

    assert signature_of(one) != signature_of(other)


def test_a_signature_is_eight_hex_digits_even_of_text_that_is_no_unicode():
    signature = signature_of(a_failure(message="lone \ud800 surrogate"))

    assert len(signature) == 8
    assert int(signature, 16) >= 0


def test_a_single_folder_name_is_no_path():
    assert without_volatile_parts("and/or") == "and/or"


@given(st.integers(0, 10**15 - 1), st.integers(0, 10**15 - 1))
def test_messages_that_differ_only_in_numbers_are_equal(one, other):
    assert without_volatile_parts(f"waited {one} ms") == without_volatile_parts(f"waited {other} ms")


@given(st.text(alphabet="abcdefghij xyz", max_size=60))
def test_plain_words_stay_as_they_are(words):
    assert without_volatile_parts(words) == words


@given(st.text(max_size=80))
def test_taking_volatile_parts_out_twice_changes_nothing_more(message):
    once = without_volatile_parts(message)

    assert without_volatile_parts(once) == once


@pytest.mark.parametrize(
    ("messages", "differ"),
    [
        (("AssertionError: assert 0.5377 < 0.51", "AssertionError: assert 0.5374 < 0.51"), True),
        (("AssertionError: assert 0.54 < 0.51", "AssertionError: assert 0.54 < 0.51"), False),
        (("AssertionError: assert 0.54 < 0.51", "KeyError: 'user'"), False),
        (("no row 12", "no row 13"), False),
        ((), False),
    ],
)
def test_fractions_that_differ_from_run_to_run_are_recognised(messages, differ):
    assert have_varying_fractions(a_failure(message=message) for message in messages) is differ
