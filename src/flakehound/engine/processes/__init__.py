"""One process: start it, talk to it, limit it, read its events."""
