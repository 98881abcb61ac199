"""Learn which tests are flaky, what a search costs, and what to run next.

Pure: takes tables and counts, gives models, figures and choices. Opens no file and starts no process.
"""
