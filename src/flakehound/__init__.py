"""Tell which tests of a pytest suite are flaky, of which kind, why, and how to make each fail again."""

__version__ = "0.1.0"
