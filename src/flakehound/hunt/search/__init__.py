"""Which run to make next, before a test is suspected."""
