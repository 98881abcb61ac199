"""Tests of shop.newsletter: one that cannot be run twice."""

from __future__ import annotations

from shop import newsletter


def test_new_subscriber_is_welcomed():
    """Non-idempotent: the second time in one process Bob is no longer new."""
    assert newsletter.subscribe("bob@example.org") == "welcome, bob@example.org"


def test_text_without_at_sign_is_no_address():
    """Steady."""
    assert not newsletter.is_address("bob.example.org")
