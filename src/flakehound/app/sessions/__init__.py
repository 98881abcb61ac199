"""Stored sessions: hunts, plain pytest runs, their store, and the suite that they ran."""
