"""Predict flaky tests from source alone: tests, what they reach, metrics, rules and scores.

Pure: gets sources as bytes, gives values. Reads no file and runs nothing of the user's.
"""
