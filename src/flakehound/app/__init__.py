"""Use cases: each one combines rooms, engine, store and report. Never imports click."""
