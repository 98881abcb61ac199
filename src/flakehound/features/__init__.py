"""The 18 features of a test: names, units, and means over several runs."""
