-- Takes a SQLite store from version 3 to 4. The tables become those of sqlite.sql, to the letter.

ALTER TABLE cases RENAME TO cases_3;
DROP INDEX cases_open;

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

-- Quotation marks in names and reasons are escaped in the body, so that a pattern matches fields only.
INSERT INTO cases SELECT study, id, step, open,
    body LIKE '%"place":null%' AND body LIKE '%"end":{"abandoned":false%' AND body NOT LIKE '%"voided":"%',
    body
FROM cases_3;

DROP TABLE cases_3;

CREATE INDEX cases_open ON cases (study, id) WHERE open = 1;
CREATE INDEX cases_awaited ON cases (study, id) WHERE awaited = 1;

CREATE TABLE sessions (
    hash    TEXT NOT NULL PRIMARY KEY,
    token   TEXT NOT NULL,
    begun   TEXT NOT NULL,
    expires TEXT NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 4;
