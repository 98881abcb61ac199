"""Tests of shop.audit: a victim of the logging configuration and its polluter."""

from __future__ import annotations

import logging

from shop import audit


def test_refund_is_logged(caplog):
    """Victim (logging): nothing is logged once logging has been disabled for the whole process."""
    audit.note_refund(1205)
    assert "refund of 12.05" in caplog.text


def test_amount_text_has_two_decimals():
    """Steady."""
    assert audit.amount_text(1205) == "12.05"


def test_import_makes_no_noise(caplog):
    """Polluter (logging): disables logging and never enables it again."""
    logging.disable(logging.CRITICAL)
    assert audit.import_refunds([100, 200]) == 2
    assert caplog.records == []
