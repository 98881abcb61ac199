"""The features of a test that only a run can tell."""
