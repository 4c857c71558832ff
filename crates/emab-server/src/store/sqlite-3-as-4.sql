-- Shows the episodes of version 3 as those of version 4, to a connection that only reads. Earlier versions have the same ones.

CREATE TEMP VIEW cases AS SELECT study, id, step, open,
    body LIKE '%"place":null%' AND body LIKE '%"end":{"abandoned":false%' AND body NOT LIKE '%"voided":"%' AS awaited,
    body
FROM main.cases;
