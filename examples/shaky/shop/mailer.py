"""Writes to customers."""

from __future__ import annotations


def deliver(address: str, text: str) -> str:
    """Return the delivery note of a mail (this shop is fictional: nothing is sent)."""
    return f"to {address}: {text}"


def plain_subject(subject: str) -> str:
    """Return the subject line in ASCII; other letters are dropped."""
    return subject.encode("ascii", "ignore").decode("ascii")
