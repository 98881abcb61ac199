"""One process: start it, communicate with it, limit it, read its events."""
