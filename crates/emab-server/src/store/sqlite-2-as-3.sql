-- Shows the tables of version 2 as those of version 3, to a connection that only reads.

CREATE TEMP VIEW studies AS SELECT *, '{}' AS details FROM main.studies;
