"""A database file that outlives the test."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import is_temporary, text_of, told

_OPENERS = frozenset(
    ("sqlite3.connect", "shelve.open", "dbm.open", "tinydb.TinyDB", "peewee.SqliteDatabase",
        "aiosqlite.connect", "lmdb.open",
     "sqlalchemy.create_engine", "sqlalchemy.engine.create_engine", "dataset.connect", "diskcache.Cache",
     "pickledb.load")
)  # fmt: skip
_IN_MEMORY = ("", ":memory:", "sqlite://", "sqlite:///:memory:")


def _is_on_disk(part: Part, call: Call) -> bool:
    where = call.argument(0)
    if call.name not in _OPENERS or where is None or is_temporary(part, where):
        return False
    text = text_of(part.sights.value_of(where))
    return text not in _IN_MEMORY and (text is not None or not part.production)


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if _is_on_disk(part, call):
            yield told(call, "{} opens a database that outlives the test")


RULE = Rule(
    id="FH504",
    name="database-on-disk",
    cause=Cause.IO,
    title="A database on disk",
    why="Rows of an earlier test or run are still there, and two processes lock each other out.",
    fix="Use `:memory:` or a file below `tmp_path`, one per test.",
    bad="import sqlite3\n\ndef test_rows():\n    db = sqlite3.connect('test.db')\n    assert rows(db) == []\n",
    good="import sqlite3\n\ndef test_rows():\n    db = sqlite3.connect(':memory:')\n    assert rows(db) == []\n",
    check=in_each(_look),
)
