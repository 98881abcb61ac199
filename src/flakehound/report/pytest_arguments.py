"""Separate the options among the user's pytest arguments from the paths and node ids."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

# Options of pytest and its best-known plugins whose value may be the next argument. Such a value can look
# like a path or a node id (-c pytest.ini, --deselect a.py::b); dropping it would leave the option dangling.
_OPTIONS_WITH_VALUE = """
    -k -m -p -c -o -W -r -n
    --assert --basetemp --cache-show --capture --code-highlight --color --confcutdir --config-file --debug
    --deselect --doctest-glob --doctest-report --durations --durations-min --ignore --ignore-glob
    --import-mode --inifile --junit-prefix --junit-xml --junitprefix --junitxml --last-failed-no-failures
    --lfnf --log-auto-indent --log-cli-date-format --log-cli-format --log-cli-level --log-date-format
    --log-disable --log-file --log-file-date-format --log-file-format --log-file-level --log-file-mode
    --log-format --log-level --maxfail --override-ini --pastebin --pdbcls --pythonwarnings --rootdir
    --show-capture --tb --verbosity
    --alluredir --asyncio-mode --cov --cov-config --cov-context --cov-fail-under --cov-report --css --dc
    --dist --ds --group --html --hypothesis-profile --hypothesis-seed --json-report-file --maxprocesses
    --numprocesses --reruns --reruns-delay --rsyncdir --splits --timeout --timeout-method --tx
"""
_TAKE_A_VALUE = frozenset(_OPTIONS_WITH_VALUE.split())


def options_only(pytest_args: Sequence[str], cwd: str = ".") -> list[str]:
    """The arguments without paths (relative to `cwd`) and node ids."""
    return list(_options(pytest_args, cwd))


def _options(pytest_args: Sequence[str], cwd: str) -> Iterator[str]:
    previous = ""
    for argument in pytest_args:
        if argument.startswith("-") or previous in _TAKE_A_VALUE or not _selects(argument, cwd):
            yield argument
        previous = argument


def _selects(argument: str, cwd: str) -> bool:
    return "::" in argument or os.path.exists(os.path.join(cwd, argument))
