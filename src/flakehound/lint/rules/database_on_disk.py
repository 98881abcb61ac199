"""A database file that outlives the test."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import is_temporary_path, string_value

_DATABASE_FUNCTIONS = frozenset(
    {
        "aiosqlite.connect",
        "dataset.connect",
        "dbm.open",
        "diskcache.Cache",
        "lmdb.open",
        "peewee.SqliteDatabase",
        "pickledb.load",
        "shelve.open",
        "sqlalchemy.create_engine",
        "sqlalchemy.engine.create_engine",
        "sqlite3.connect",
        "tinydb.TinyDB",
    }
)
_IN_MEMORY = ("", ":memory:", "sqlite://", "sqlite:///:memory:")


def _is_on_disk(function: ReachedFunction, call: Call) -> bool:
    path = call.argument(0)
    if call.name not in _DATABASE_FUNCTIONS or path is None or is_temporary_path(function, path):
        return False
    text = string_value(function.facts.value_of(path))
    return text not in _IN_MEMORY and (text is not None or not function.is_production)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if _is_on_disk(function, call):
            yield sign_for(call, "{} opens a database that outlives the test")


RULE = LintRule(
    id="FH504",
    name="database-on-disk",
    cause=Cause.IO,
    title="A database on disk",
    why="Rows of an earlier test or run are still there, and two processes can lock each other out.",
    fix="Use `:memory:` or a file below `tmp_path`, one per test.",
    bad="import sqlite3\n\ndef test_rows():\n    db = sqlite3.connect('test.db')\n    assert rows(db) == []\n",
    good="import sqlite3\n\ndef test_rows():\n    db = sqlite3.connect(':memory:')\n    assert rows(db) == []\n",
    check=in_each_function(_find),
)
