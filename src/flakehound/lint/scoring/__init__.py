"""How likely a test is flaky, by its findings, shared objects and words."""
