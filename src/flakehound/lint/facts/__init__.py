"""Facts about the functions that a test runs: calls, assignments, comparisons, and how the test reaches them."""
