"""One suite: open it, run plans in it, restore its files, limit its time."""
