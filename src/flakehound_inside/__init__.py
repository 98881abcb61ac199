"""The part of flakehound that runs in the user's pytest process.

Standard library and pytest only, Python 3.8+ and pytest 6.2+, nothing of ours imported from outside.
PYTEST_DONT_REWRITE: if flakehound is installed, pytest treats this package as part of a plugin. Without this word
it would warn, or fail under `-W error`, that the package was imported before its asserts could be rewritten.
"""
