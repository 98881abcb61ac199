"""Tables of tests: columns, labels, problems, and checks."""
