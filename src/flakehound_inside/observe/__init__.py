"""What can be observed while tests run: calls, features, changed state, dependencies, written files."""
