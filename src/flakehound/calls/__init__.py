"""What the calls of a test say about its flakiness: characteristic functions, their causes, their selection."""
