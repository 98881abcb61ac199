"""The code that a test reaches, and the code that it tests."""
