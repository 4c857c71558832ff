-- Takes a SQLite store from version 1 to 2.

ALTER TABLE studies RENAME TO studies_1;

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
    salted    INTEGER NOT NULL
) STRICT;

INSERT INTO studies SELECT key, name, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned, 1, 0
FROM studies_1;

CREATE TABLE specs (
    study INTEGER PRIMARY KEY,
    text  TEXT    NOT NULL
) STRICT;

INSERT INTO specs SELECT key, spec FROM studies_1;

DROP TABLE studies_1;

CREATE TABLE restores (
    study       INTEGER PRIMARY KEY,
    begun       TEXT    NOT NULL,
    begun_by    TEXT    NOT NULL,
    finished    TEXT,
    finished_by TEXT,
    seq         INTEGER NOT NULL,
    hash        TEXT    NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    study INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    text  TEXT    NOT NULL
) STRICT;

PRAGMA user_version = 2;
