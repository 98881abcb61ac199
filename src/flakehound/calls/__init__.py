"""What the functions that a test calls say about its flakiness: characteristic functions, causes, selection."""
