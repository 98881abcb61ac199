"""The 25 metrics of a test and the code it tests, and seven static features; see docs/reference/metrics.md."""
