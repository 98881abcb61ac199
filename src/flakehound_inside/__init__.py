"""The part of flakehound that lives in the user's pytest process.

Standard library and pytest only, Python 3.8+ and pytest 6.2+, nothing of ours imported from outside.
"""
