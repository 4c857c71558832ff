-- The tables of a SQLite store, version 4. Any tool may read them; only the service writes them.
-- A later version adds a file with its changes, and raises user_version in the same transaction: sqlite-4.sql is the one from
-- version 3.

-- Marks the file as a store: "emab" in ASCII.
PRAGMA application_id = 0x656d6162;
PRAGMA user_version = 4;

CREATE TABLE studies (
    key       INTEGER PRIMARY KEY,
    name      TEXT    NOT NULL UNIQUE,
    spec_hash TEXT    NOT NULL,
    seq       INTEGER NOT NULL,
    hash      TEXT    NOT NULL,
    closed    INTEGER NOT NULL,
    episodes  INTEGER NOT NULL,
    open      INTEGER NOT NULL,
    learned   INTEGER NOT NULL,
    missing   INTEGER NOT NULL,
    relearned INTEGER NOT NULL,
    rules     INTEGER NOT NULL,
    salted    INTEGER NOT NULL,
    -- Counters that rules 3 have added, as JSON.
    details   TEXT    NOT NULL
) STRICT;

-- Specifications as canonical JSON. They may be long, and the row of a study is written with every batch.
CREATE TABLE specs (
    study INTEGER PRIMARY KEY,
    text  TEXT    NOT NULL
) STRICT;

CREATE TABLE events (
    study INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    text  TEXT    NOT NULL,
    hash  TEXT    NOT NULL,
    PRIMARY KEY (study, seq)
) STRICT, WITHOUT ROWID;

-- Episodes. The body is the episode as JSON; step, open and awaited repeat a part of it for queries.
CREATE TABLE cases (
    study   INTEGER NOT NULL,
    id      TEXT    NOT NULL,
    step    INTEGER NOT NULL,
    open    INTEGER NOT NULL,
    -- Whether it was stopped and its outcome is awaited.
    awaited INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (study, id)
) STRICT;

-- Only a few episodes are open, or await an outcome.
CREATE INDEX cases_open ON cases (study, id) WHERE open = 1;
CREATE INDEX cases_awaited ON cases (study, id) WHERE awaited = 1;

CREATE TABLE answers (
    study   INTEGER NOT NULL,
    episode TEXT    NOT NULL,
    step    INTEGER NOT NULL,
    text    TEXT    NOT NULL,
    PRIMARY KEY (study, episode, step)
) STRICT;

CREATE TABLE lessons (
    study INTEGER NOT NULL,
    place INTEGER NOT NULL,
    bytes BLOB    NOT NULL,
    PRIMARY KEY (study, place)
) STRICT, WITHOUT ROWID;

-- Gain sums. The sum is the bits of a double as an integer: REAL has no NaN and loses the sign of -0.
CREATE TABLE cells (
    study INTEGER NOT NULL,
    t     INTEGER NOT NULL,
    x     INTEGER NOT NULL,
    a     INTEGER NOT NULL,
    count INTEGER NOT NULL,
    sum   INTEGER NOT NULL,
    PRIMARY KEY (study, t, x, a)
) STRICT, WITHOUT ROWID;

-- Studies whose log was imported: by whom, when, and the end of the log. A study without `finished` is still restoring.
CREATE TABLE restores (
    study       INTEGER PRIMARY KEY,
    begun       TEXT    NOT NULL,
    begun_by    TEXT    NOT NULL,
    finished    TEXT,
    finished_by TEXT,
    seq         INTEGER NOT NULL,
    hash        TEXT    NOT NULL
) STRICT;

-- The latest signed checkpoint of each study.
CREATE TABLE checkpoints (
    study INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    text  TEXT    NOT NULL
) STRICT;

-- Sessions of the console: the SHA-256 of the secret, the token that began it, and its times (RFC 3339, UTC, whole seconds).
CREATE TABLE sessions (
    hash    TEXT NOT NULL PRIMARY KEY,
    token   TEXT NOT NULL,
    begun   TEXT NOT NULL,
    expires TEXT NOT NULL
) STRICT, WITHOUT ROWID;
