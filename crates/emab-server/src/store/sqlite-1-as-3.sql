-- Shows the tables of version 1 as those of version 3, to a connection that only reads.

CREATE TEMP VIEW studies AS
SELECT key, name, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned, 1 AS rules, 0 AS salted,
    '{}' AS details
FROM main.studies;

CREATE TEMP VIEW specs AS SELECT key AS study, spec AS text FROM main.studies;

CREATE TEMP TABLE restores (study, begun, begun_by, finished, finished_by, seq, hash);

CREATE TEMP TABLE checkpoints (study, seq, text);
