"""Learn which tests are flaky, what a search costs, and what to run next.

Pure: takes tables and counts, returns models, figures and choices. Starts no process and opens no file but its own
data.
"""
