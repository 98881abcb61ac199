"""A pytest plugin that runs the tests in the reverse of the original order.

usage: pytest -p large_reversed
"""


def pytest_collection_modifyitems(items):
    """Turn the order around; fixtures of modules and classes still belong to one file each."""
    items.reverse()
