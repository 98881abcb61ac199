"""Loyalty points: one per euro, two for members during the double week."""

from __future__ import annotations

members: set[str] = set()
running_campaigns: set[str] = set()


def enroll(customer: str) -> None:
    """Make the customer a member, for good."""
    members.add(customer)


def start_double_week() -> None:
    """Let the double week begin."""
    running_campaigns.add("double week")


def points_for(customer: str, cents: int) -> int:
    """Return the points the customer earns by spending this much."""
    is_doubled = customer in members and "double week" in running_campaigns
    return cents // 100 * (2 if is_doubled else 1)
