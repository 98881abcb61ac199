"""Use cases: each joins rooms, engine, store and report. Never imports click."""
