"""One suite: open it, run plans in it, keep its files and its time."""
