"""Tests of shop.mailer: a victim of a monkeypatch left behind (in test_orders.py), a skip, an xfail."""

from __future__ import annotations

import pytest
from shop import mailer


def test_delivery_note_names_the_address():
    """Victim (monkeypatch): sees the fake `deliver` if another test left it behind."""
    assert mailer.deliver("ada@example.org", "hello") == "to ada@example.org: hello"


@pytest.mark.skip(reason="there is no mail server")
def test_mail_arrives():
    """Steady, always skipped."""
    raise AssertionError("never runs")


@pytest.mark.xfail(reason="umlauts are dropped, not spelled out")
def test_umlauts_are_spelled_out():
    """Steady, always an expected failure."""
    assert mailer.plain_subject("Gr\u00fc\u00dfe") == "Gruesse"
