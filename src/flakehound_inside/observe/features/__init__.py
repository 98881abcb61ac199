"""Measure the features of a test that only a run can show."""
