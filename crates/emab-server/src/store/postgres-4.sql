-- Takes a PostgreSQL store from version 3 to 4. The tables become those of postgres.sql.

ALTER TABLE cases ADD COLUMN awaited BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE cases ALTER COLUMN awaited DROP DEFAULT;

-- Quotation marks in names and reasons are escaped in the body, so that a pattern matches fields only.
UPDATE cases SET awaited = TRUE
WHERE body LIKE '%"place":null%' AND body LIKE '%"end":{"abandoned":false%' AND body NOT LIKE '%"voided":"%';

CREATE INDEX cases_awaited ON cases (study, id) WHERE awaited;

CREATE TABLE sessions (
    hash    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    token   TEXT NOT NULL,
    begun   TEXT NOT NULL,
    expires TEXT COLLATE "C" NOT NULL
);

UPDATE meta SET version = 4 WHERE application = 'emab';
