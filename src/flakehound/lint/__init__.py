"""Predict flaky tests from source alone: tests, what they reach, metrics, rules and scores.

Pure: takes sources as bytes and returns values. Reads no file and runs none of the user's code.
"""
