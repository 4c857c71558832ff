WITH home AS (SELECT pg_namespace.oid, nspname FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid
    WHERE pg_class.oid = 'meta'::regclass),
ours AS (SELECT pg_class.*, nspname FROM pg_class JOIN home ON relnamespace = home.oid)
SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view'
        WHEN 'm' THEN 'materialized_view' WHEN 'f' THEN 'foreign_table' WHEN 'p' THEN 'partitioned_table' ELSE 'relation' END
    || ' ' || relname
    || CASE relkind WHEN 'i' THEN ' ' || replace(pg_get_indexdef(oid), ' ' || quote_ident(nspname) || '.', ' ') ELSE '' END
    || CASE WHEN relpersistence <> 'p' THEN ' not logged' ELSE '' END
    || CASE WHEN relrowsecurity THEN ' with row security' ELSE '' END
    || CASE WHEN EXISTS (SELECT 1 FROM pg_index WHERE indexrelid = ours.oid AND NOT indisvalid) THEN ' not valid' ELSE '' END
    FROM ours
-- Another schema of the search path has a table of this name.
UNION ALL SELECT 'hidden_table ' || relname FROM ours WHERE relkind = 'r' AND to_regclass(quote_ident(relname)) IS DISTINCT FROM oid
UNION ALL SELECT 'column ' || relname || '.' || attname || ' ' || format_type(atttypid, atttypmod)
    || CASE WHEN attnotnull THEN ' not null' ELSE '' END
    || CASE WHEN collname <> 'default' THEN ' collate ' || collname ELSE '' END
    || CASE WHEN attidentity <> '' THEN ' identity ' || attidentity::text ELSE '' END
    || CASE WHEN attgenerated <> '' THEN ' generated ' || attgenerated::text ELSE '' END
    || COALESCE(' default ' || pg_get_expr(adbin, adrelid), '')
    FROM ours JOIN pg_attribute ON attrelid = ours.oid
    LEFT JOIN pg_collation ON pg_collation.oid = attcollation
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT 'constraint ' || conname || ' on ' || relname || ' ' || pg_get_constraintdef(pg_constraint.oid)
    FROM pg_constraint JOIN ours ON conrelid = ours.oid WHERE contype <> 'n'
UNION ALL SELECT 'trigger ' || tgname || ' on ' || relname FROM pg_trigger JOIN ours ON tgrelid = ours.oid
UNION ALL SELECT 'rule ' || rulename || ' on ' || relname FROM pg_rewrite JOIN ours ON ev_class = ours.oid WHERE relkind = 'r'
UNION ALL SELECT 'policy ' || polname || ' on ' || relname FROM pg_policy JOIN ours ON polrelid = ours.oid
UNION ALL SELECT 'child ' || inhrelid::regclass || ' of ' || relname FROM pg_inherits JOIN ours ON inhparent = ours.oid
UNION ALL SELECT 'function ' || proname || ' ' || pg_get_function_identity_arguments(pg_proc.oid)
    FROM pg_proc JOIN home ON pronamespace = home.oid
UNION ALL SELECT 'operator ' || oprname FROM pg_operator JOIN home ON oprnamespace = home.oid
ORDER BY 1
