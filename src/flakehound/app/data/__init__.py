"""`flakehound data`: tables of tests."""
