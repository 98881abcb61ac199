"""Inputs of the score that says how likely a test is flaky: findings, shared objects, sizes."""
