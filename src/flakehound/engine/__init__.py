"""Runs plans in real pytest processes; the only part of flakehound that starts processes."""
