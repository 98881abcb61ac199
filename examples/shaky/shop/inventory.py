"""What is in stock."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Relative to wherever the shop was started: lost as soon as somebody changes the working directory.
STOCK_FILE = Path(os.path.relpath(Path(__file__).with_name("stock.csv")))
TILL_SECONDS = 0.008


class Shelf:
    """A number of equal things for sale, without a lock."""

    def __init__(self, count: int) -> None:
        self.count = count

    def sell_one(self) -> None:
        """Read the count, wait for the till, write the count back: two sales at once lose one."""
        count = self.count
        time.sleep(TILL_SECONDS)
        self.count = count - 1


def stock_from_file() -> dict[str, int]:
    """Return the number in stock for every item of the stock file."""
    lines = STOCK_FILE.read_text(encoding="utf-8").splitlines()
    return {item: int(count) for item, count in (line.split(",") for line in lines)}
