"""`flakehound calls`: trace a suite."""
