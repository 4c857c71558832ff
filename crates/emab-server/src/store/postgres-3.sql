-- Takes a PostgreSQL store from version 2 to 3. The tables become those of postgres.sql.

ALTER TABLE studies ADD COLUMN details TEXT NOT NULL DEFAULT '{}';
ALTER TABLE studies ALTER COLUMN details DROP DEFAULT;

UPDATE meta SET version = 3 WHERE application = 'emab';
