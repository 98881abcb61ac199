"""Reports of lint: text, JSON, GitHub annotations, SARIF."""
