"""A small fictional shop, the subject of a deliberately shaky test suite."""
