"""Which functions a test calls."""
