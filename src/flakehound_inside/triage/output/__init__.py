"""The output of a triage: terminal, JUnit file, GitHub."""
