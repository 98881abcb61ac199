"""Stores, stored hunts, plain pytest runs, and the suite that they are about."""
