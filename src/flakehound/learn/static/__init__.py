"""The model of what lint measures."""
