"""Tests of shop.session: a brittle one and its state-setter."""

from __future__ import annotations

from shop import session


def test_customer_is_remembered_after_login():
    """State-setter: leaves Ada logged in."""
    session.log_in("ada")
    assert session.current["customer"] == "ada"


def test_initials_of_a_full_name():
    """Steady."""
    assert session.initials("Ada Lovelace") == "AL"


def test_customer_is_greeted_by_name():
    """Brittle: never logs in itself, so it fails unless the state-setter ran before."""
    assert session.greeting() == "hello, ada"
