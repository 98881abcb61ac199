"""The triage of a failing run, outside the process of pytest."""
