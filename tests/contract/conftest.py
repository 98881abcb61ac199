"""The recorded project is a sample, none of our own tests."""

collect_ignore = ["project"]
