"""The 18 features of a test: what they are called, what they mean, and their mean over several runs."""
