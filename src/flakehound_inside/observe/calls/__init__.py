"""Trace which functions a test calls."""
