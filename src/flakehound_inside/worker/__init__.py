"""The processes that a hunt starts: they collect once, fork, run tests and report."""
