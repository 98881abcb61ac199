"""Reports of a hunt: text and JSON."""
