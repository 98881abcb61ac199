"""The tables of the store, and the steps that bring an older store up to date.

Facts are added and never changed. SQLite keeps the comments: `sqlite3 flakehound.db .schema` prints them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flakehound.store import features, states
from flakehound.store.call_tables import CALL_TABLES

APPLICATION_ID = 0x666C6B68  # "flkh"; distinguishes our files from databases of other programs


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One version of the tables."""

    version: int  # stored in PRAGMA user_version; 0 is an empty file
    sql: str
    # From each version to the next one; each statement begins on a new line.
    migrations: Mapping[int, str] = field(default_factory=dict)


TABLES = """
CREATE TABLE suite (                -- what pytest collected; sessions of an unchanged suite share one row
    id INTEGER PRIMARY KEY,         -- ours
    digest BLOB NOT NULL UNIQUE,    -- of the uncompressed tests
    tests BLOB NOT NULL             -- zlib of JSON: [{id, module, parent, repeatable}], in pytest's order
);
CREATE TABLE session (              -- one hunt, or one pytest run with our plugin, of one state of the code
    id INTEGER PRIMARY KEY,         -- ours; differs between merged stores
    uuid TEXT NOT NULL UNIQUE,      -- the same in every store the session was merged into
    suite INTEGER NOT NULL REFERENCES suite (id), -- a test's number is its place in it
    rootdir TEXT NOT NULL,          -- pytest's rootdir
    python TEXT NOT NULL,           -- version of the interpreter
    pytest TEXT NOT NULL,           -- version of pytest
    commit_id TEXT,                 -- of the hunted code; NULL when not known
    base_seed NOT NULL,             -- all seeds derive from it; without a type: decimal text beyond 64 bits
    started_s REAL NOT NULL,        -- seconds since 1970
    options TEXT NOT NULL,          -- JSON object, text to text
    isolation INTEGER NOT NULL      -- code of the isolation asked for: 0 fork, 1 spawn
);
CREATE TABLE part (                 -- the runs that one opening of the store added to a session
    id INTEGER PRIMARY KEY,         -- ours
    session INTEGER NOT NULL REFERENCES session (id), -- added to
    uuid TEXT NOT NULL UNIQUE       -- by it and the number of its runs, a merge knows what is missing
);
CREATE TABLE stray (                -- tests that ran although the suite does not list them
    part INTEGER NOT NULL REFERENCES part (id), -- numbers are valid within it
    number INTEGER NOT NULL,        -- continues after the suite's last place
    test TEXT NOT NULL,             -- pytest's node id
    PRIMARY KEY (part, number)
) WITHOUT ROWID;
CREATE TABLE stored_order (         -- orders too long for the run's own row, each once
    id INTEGER PRIMARY KEY,         -- ours
    part INTEGER NOT NULL REFERENCES part (id), -- numbers are valid within it
    digest BLOB NOT NULL,           -- of `numbers`
    numbers BLOB NOT NULL,          -- zlib of the tests' numbers: uint32, all lowest bytes first
    UNIQUE (part, digest)
);
CREATE TABLE text (                 -- sentences that many runs share
    id INTEGER PRIMARY KEY,         -- ours
    digest BLOB NOT NULL UNIQUE,    -- of `content`
    content TEXT NOT NULL           -- a BLOB when it is no valid Unicode
);
CREATE TABLE failure (              -- failures equal in every field, once
    id INTEGER PRIMARY KEY,         -- ours
    digest BLOB NOT NULL UNIQUE,    -- of all fields
    signature TEXT NOT NULL,        -- shared by failures of one cause
    phase TEXT NOT NULL,            -- setup, call, teardown, process
    exception TEXT NOT NULL,        -- the type's or the signal's name
    message TEXT NOT NULL,          -- first lines of the error
    place TEXT NOT NULL,            -- path:line of the raising statement
    report BLOB NOT NULL            -- zlib of pytest's report, cut to 16 KB
);
CREATE TABLE run (                  -- one process that ran
    id INTEGER PRIMARY KEY,         -- ours; grows in the order of appending
    session INTEGER NOT NULL REFERENCES session (id), -- belongs to
    part INTEGER NOT NULL REFERENCES part (id), -- added by
    setting INTEGER NOT NULL,       -- 0 original, 1 shuffled, 2 alone, 3 repeated, 4 probe
    isolation INTEGER NOT NULL,     -- 0 fork, 1 spawn
    disturbed INTEGER NOT NULL,     -- 1: another process of ours ran at the same time
    why INTEGER NOT NULL REFERENCES text (id), -- the question it answers; ⟨0⟩ stands for its first test
    ended INTEGER REFERENCES text (id), -- how the process ended; NULL: without an error
    seed,                           -- NULL: none set; without a type: decimal text beyond 64 bits
    hash_seed,                      -- as seed
    started_s REAL NOT NULL,        -- seconds since 1970
    wall_s REAL NOT NULL,           -- duration of the process
    cpu_s REAL NOT NULL,            -- processor time of it and its children
    max_rss_bytes INTEGER NOT NULL, -- its largest memory use
    short_order BLOB,               -- up to 8 tests: their numbers, uint16 or uint32
    stored_order INTEGER REFERENCES stored_order (id), -- both NULL: the suite's own order
    outcomes BLOB NOT NULL,         -- a letter per test; zlib beyond 8 tests
    durations BLOB NOT NULL         -- seconds: upper halves of float32, all lower bytes first; zlib likewise
);
CREATE INDEX run_by_session ON run (session);
CREATE TABLE failing (              -- a test that failed in a run
    run INTEGER NOT NULL REFERENCES run (id), -- in which
    place INTEGER NOT NULL,         -- position in the run's order, from 0
    failure INTEGER NOT NULL REFERENCES failure (id), -- how
    PRIMARY KEY (run, place)
) WITHOUT ROWID;
CREATE TABLE ending (               -- a hunt that has ended
    session INTEGER NOT NULL REFERENCES session (id), -- hunt of
    ended_s REAL NOT NULL,          -- seconds since 1970
    note TEXT NOT NULL,             -- why it ended
    PRIMARY KEY (session, ended_s, note)
) WITHOUT ROWID;
CREATE TABLE verdicts (             -- the newest report of a session; older ones are deleted
    id INTEGER PRIMARY KEY,         -- ours
    session INTEGER NOT NULL REFERENCES session (id), -- about
    judged_s REAL NOT NULL,         -- seconds since 1970
    payload BLOB NOT NULL           -- zlib of the report's JSON
);
CREATE INDEX verdicts_by_session ON verdicts (session);
"""

_TABLES_OF_VERSION_2 = features.TABLES + states.TABLES

CURRENT = Schema(
    version=3,
    sql=TABLES + _TABLES_OF_VERSION_2 + CALL_TABLES,
    migrations={1: _TABLES_OF_VERSION_2, 2: CALL_TABLES},
)
