"""Which run to make next to find flaky tests."""
