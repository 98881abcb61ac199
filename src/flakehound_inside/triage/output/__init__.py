"""Where a triage is told: terminal, JUnit file, GitHub."""
