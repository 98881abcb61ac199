"""The tables of calls, which were added in version 3 of the schema."""

from __future__ import annotations

CALL_TABLES = """\
CREATE TABLE called_function (      -- functions that traced tests called, each once
    id INTEGER PRIMARY KEY,         -- ours
    digest BLOB NOT NULL UNIQUE,    -- of all fields
    file TEXT NOT NULL,             -- below the rootdir, else whole; of a C function its module, in angle brackets
    owner TEXT NOT NULL,            -- the class that defines it; empty: none
    name TEXT NOT NULL,             -- of the function
    kind TEXT NOT NULL              -- python or c
);
CREATE TABLE call_trace (           -- what one test called in one traced run
    run INTEGER NOT NULL REFERENCES run (id), -- in which
    place INTEGER NOT NULL,         -- position in the run's order, from 0
    content BLOB NOT NULL,          -- zlib of JSON: calls by phase, lines that reach them, processes, notes
    PRIMARY KEY (run, place)
) WITHOUT ROWID;
"""
