"""Reports of a triage."""
