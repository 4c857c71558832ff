-- Takes a SQLite store from version 2 to 3. The tables become those of sqlite.sql, to the letter.

ALTER TABLE studies RENAME TO studies_2;

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

INSERT INTO studies SELECT *, '{}' FROM studies_2;

DROP TABLE studies_2;

PRAGMA user_version = 3;
