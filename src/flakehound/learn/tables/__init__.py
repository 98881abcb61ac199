"""Tables of tests: columns, labels, problems, and what is wrong with them."""
