"""What is known of the functions that a test runs: calls, assignments, comparisons, and how each was reached."""
