"""The part of flakehound that lives in the user's pytest process.

Standard library and pytest only, Python 3.8+ and pytest 6.2+, nothing of ours imported from outside.
PYTEST_DONT_REWRITE: where flakehound is installed pytest takes this package for a plugin's, and would warn,
or fail under `-W error`, because it finds it imported before it could rewrite its asserts.
"""
