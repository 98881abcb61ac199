"""Formulas: failure rates, how common flakiness is, what the next run is expected to show."""
