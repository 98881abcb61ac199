"""Coupons and a wheel of fortune."""

from __future__ import annotations

import random

LETTERS = "ABCDEFGHKL"
BLANK_SHARE = 0.3


def new_coupon_code() -> str:
    """Return four random letters; a letter may come up twice."""
    return "".join(random.choice(LETTERS) for _ in range(4))


def wheel_of_fortune_wins() -> bool:
    """Return whether a spin wins a prize: seven times out of ten."""
    return random.random() >= BLANK_SHARE


def is_valid_code(code: str) -> bool:
    """Return whether the code is made of four coupon letters."""
    return len(code) == 4 and all(letter in LETTERS for letter in code)
