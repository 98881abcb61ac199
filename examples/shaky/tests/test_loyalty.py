"""Tests of shop.loyalty: a victim that only two polluters together can make fail."""

from __future__ import annotations

from shop import loyalty


def test_ada_earns_one_point_per_euro():
    """Victim (joint): fails only if Ada was enrolled and the double week was started before."""
    assert loyalty.points_for("ada", 1000) == 10


def test_enrolled_customer_is_a_member():
    """Polluter (first half of a joint one): Ada stays a member."""
    loyalty.enroll("ada")
    assert "ada" in loyalty.members


def test_stranger_earns_single_points():
    """Steady: strangers never earn double points."""
    assert loyalty.points_for("stranger", 250) == 2


def test_double_week_is_running_once_started():
    """Polluter (second half of a joint one): the double week never ends."""
    loyalty.start_double_week()
    assert "double week" in loyalty.running_campaigns
