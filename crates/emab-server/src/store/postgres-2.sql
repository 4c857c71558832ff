-- Takes a PostgreSQL store from version 1 to 2.

CREATE TABLE specs (
    study BIGINT NOT NULL PRIMARY KEY,
    text  TEXT   NOT NULL
);

INSERT INTO specs (study, text) SELECT key, spec FROM studies;

ALTER TABLE studies DROP COLUMN spec;
ALTER TABLE studies ADD COLUMN rules BIGINT NOT NULL DEFAULT 1;
ALTER TABLE studies ALTER COLUMN rules DROP DEFAULT;
ALTER TABLE studies ADD COLUMN salted BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE studies ALTER COLUMN salted DROP DEFAULT;

CREATE TABLE restores (
    study       BIGINT NOT NULL PRIMARY KEY,
    begun       TEXT   NOT NULL,
    begun_by    TEXT   NOT NULL,
    finished    TEXT,
    finished_by TEXT,
    seq         BIGINT NOT NULL,
    hash        TEXT   NOT NULL
);

CREATE TABLE checkpoints (
    study BIGINT NOT NULL PRIMARY KEY,
    seq   BIGINT NOT NULL,
    text  TEXT   NOT NULL
);

CREATE TABLE tokens (
    id   TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

UPDATE meta SET version = 2 WHERE application = 'emab';
