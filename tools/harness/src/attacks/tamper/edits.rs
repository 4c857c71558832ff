//! Changes by SQL, made from the tables that a store has.

use std::path::{Path, PathBuf};

use postgres::NoTls;
use rusqlite::types::ValueRef;

use super::{Installation, copy_file};
use crate::Result;
use crate::rng::Rng;

/// A store whose tables are changed.
pub(super) struct Database {
    /// Its address, as `emab` takes it.
    pub address: String,
    kind: Kind,
}

enum Kind {
    Sqlite(PathBuf),
    /// The name of the database.
    Postgres(String),
}

/// A change.
pub(super) struct Edit {
    pub sql: String,
    /// Whether it adds or removes what only the service adds: the audit reports it whatever its effect.
    pub foreign: bool,
}

/// A table: columns with their types and whether they are a part of the key, and rows as SQL literals.
struct Table {
    name: String,
    columns: Vec<(String, String, bool)>,
    rows: Vec<Vec<String>>,
}

/// Tokens and sessions are not a part of the record: a changed one changes access, and nothing that is audited.
const NOT_AUDITED: [&str; 2] = ["tokens", "sessions"];

/// Nothing else says that such a row was there; docs/threat-model.md names it.
const BESIDE: [&str; 1] = ["checkpoints"];

impl Database {
    pub(super) fn of(installation: &Installation, address: &str) -> Result<Database> {
        let kind = match &installation.server {
            None => Kind::Sqlite(installation.path("studies.db")),
            Some(_) => Kind::Postgres("studies".into()),
        };
        Ok(Database {
            address: address.into(),
            kind,
        })
    }

    /// The file of a SQLite store.
    pub(super) fn file(&self) -> Result<&Path> {
        match &self.kind {
            Kind::Sqlite(path) => Ok(path),
            Kind::Postgres(_) => Err("PostgreSQL has no file".into()),
        }
    }

    /// A copy that can be changed.
    pub(super) fn copy(&self, installation: &Installation) -> Result<Database> {
        match (&self.kind, &installation.server) {
            (Kind::Postgres(name), Some(server)) => {
                let sql = format!("CREATE DATABASE changed TEMPLATE \"{name}\"");
                server.execute(&sql)?;
                Ok(Database {
                    address: server.url_of("changed"),
                    kind: Kind::Postgres("changed".into()),
                })
            }
            (Kind::Sqlite(path), _) => {
                let folder = installation.path("changed");
                std::fs::create_dir_all(&folder)?;
                let copy = folder.join("studies.db");
                copy_file(path, &copy)?;
                Ok(Database {
                    address: format!("sqlite:{}", copy.display()),
                    kind: Kind::Sqlite(copy),
                })
            }
            _ => Err("no server".into()),
        }
    }

    pub(super) fn remove(&self, installation: &Installation) -> Result<()> {
        match (&self.kind, &installation.server) {
            (Kind::Postgres(name), Some(server)) => {
                Ok(server.execute(&format!("DROP DATABASE \"{name}\" WITH (FORCE)"))?)
            }
            _ => Ok(std::fs::remove_dir_all(installation.path("changed"))?),
        }
    }

    /// Executes SQL as the owner of the tables.
    pub(super) fn execute(&self, sql: &str) -> Result<()> {
        match &self.kind {
            Kind::Sqlite(path) => {
                let file = rusqlite::Connection::open(path)?;
                Ok(file.execute_batch(sql)?)
            }
            Kind::Postgres(_) => {
                let mut client = postgres::Client::connect(&self.address, NoTls)?;
                Ok(client.batch_execute(sql)?)
            }
        }
    }

    fn is_sqlite(&self) -> bool {
        matches!(self.kind, Kind::Sqlite(_))
    }

    fn tables(&self) -> Result<Vec<Table>> {
        match &self.kind {
            Kind::Sqlite(path) => sqlite_tables(path),
            Kind::Postgres(_) => postgres_tables(&self.address),
        }
    }
}

fn sqlite_tables(path: &Path) -> Result<Vec<Table>> {
    let file = rusqlite::Connection::open(path)?;
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
    let names: Vec<String> = file
        .prepare(sql)?
        .query_map([], |row| row.get(0))?
        .collect::<std::result::Result<_, _>>()?;
    let mut tables = Vec::new();
    for name in names {
        let columns: Vec<(String, String, bool)> = file
            .prepare("SELECT name, type, pk > 0 FROM pragma_table_info(?1)")?
            .query_map([&name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<std::result::Result<_, _>>()?;
        let mut statement = file.prepare(&format!("SELECT * FROM {name}"))?;
        let mut found = statement.query([])?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let values = (0..columns.len()).map(|i| Ok(literal(row.get_ref(i)?)));
            rows.push(values.collect::<Result<_>>()?);
        }
        tables.push(Table {
            name,
            columns,
            rows,
        });
    }
    Ok(tables)
}

fn literal(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".into(),
        ValueRef::Integer(value) => value.to_string(),
        ValueRef::Real(value) => value.to_string(),
        ValueRef::Text(text) => quoted(&String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        }
    }
}

fn postgres_tables(address: &str) -> Result<Vec<Table>> {
    let mut client = postgres::Client::connect(address, NoTls)?;
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    let names: Vec<String> = client
        .query(sql, &[])?
        .iter()
        .map(|row| row.get(0))
        .collect();
    let mut tables = Vec::new();
    for name in names {
        let sql = "SELECT a.attname::text, t.typname::text, coalesce(a.attnum = ANY (i.indkey), false) \
            FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
            LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary \
            WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
        let found = client.query(sql, &[&name])?;
        let columns: Vec<(String, String, bool)> = (found.iter())
            .map(|row| (row.get(0), row.get(1), row.get(2)))
            .collect();
        let list: Vec<String> = (columns.iter())
            .map(|(column, ..)| format!("{column}::text"))
            .collect();
        let sql = format!("SELECT {} FROM {name}", list.join(", "));
        let found = client.query(&sql, &[])?;
        let rows = found.iter().map(|row| {
            let values = (0..columns.len()).map(|i| row.get::<_, Option<String>>(i));
            values
                .map(|value| value.map_or("NULL".into(), |text| quoted(&text)))
                .collect()
        });
        tables.push(Table {
            rows: rows.collect(),
            name,
            columns,
        });
    }
    Ok(tables)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Changes of rows in every column of every table, more and fewer rows, and more and fewer objects.
pub(super) fn edits(base: &Database, rows: usize, rng: &mut Rng) -> Result<Vec<Edit>> {
    let mut list = Vec::new();
    let tables = base.tables()?;
    for table in tables
        .iter()
        .filter(|table| !NOT_AUDITED.contains(&&*table.name))
    {
        let name = &table.name;
        let is_record = !BESIDE.contains(&&**name);
        for row in sample(&table.rows, rows, rng) {
            let place = place(base, table, row);
            for (i, (column, kind, _)) in table.columns.iter().enumerate() {
                for other in others(&row[i], kind, rng) {
                    let sql = format!("UPDATE {name} SET {column} = {other} WHERE {place}");
                    list.push(Edit {
                        sql,
                        foreign: false,
                    });
                }
            }
            let sql = format!("DELETE FROM {name} WHERE {place}");
            list.push(Edit {
                sql,
                foreign: is_record,
            });
            for (i, (_, kind, is_key)) in table.columns.iter().enumerate() {
                if !is_key {
                    continue;
                }
                for other in others(&row[i], kind, rng) {
                    let mut row = row.clone();
                    row[i] = other;
                    let sql = format!("INSERT INTO {name} VALUES ({})", row.join(", "));
                    list.push(Edit { sql, foreign: true });
                }
            }
        }
        if !table.rows.is_empty() {
            let sql = format!("DELETE FROM {name}");
            list.push(Edit {
                sql,
                foreign: is_record,
            });
        }
        let sql = format!("DROP TABLE {name}");
        list.push(Edit { sql, foreign: true });
        let sql = format!("ALTER TABLE {name} ADD COLUMN note TEXT");
        list.push(Edit { sql, foreign: true });
    }
    let names: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
    let empty = names.iter().map(|name| format!("DELETE FROM {name};"));
    list.push(Edit {
        sql: empty.collect(),
        foreign: true,
    });
    let mut objects = vec![
        "CREATE TABLE notes (x INTEGER)",
        "CREATE VIEW notes AS SELECT * FROM events",
    ];
    match base.is_sqlite() {
        true => objects.extend([
            "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM cells; END",
            "CREATE TRIGGER t AFTER INSERT ON cases BEGIN UPDATE cases SET open = 0; END",
            "DROP INDEX cases_open",
            "DROP INDEX cases_awaited",
            "CREATE UNIQUE INDEX i ON events (study, substr(text, 1, 30))",
            "PRAGMA user_version = 99",
            "PRAGMA application_id = 1",
        ]),
        false => objects.extend([
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM cells; RETURN NEW; END'; \
             CREATE TRIGGER t AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION f()",
            "CREATE RULE r AS ON INSERT TO cells DO INSTEAD NOTHING",
            "DROP INDEX cases_open",
            "DROP INDEX cases_awaited",
            "ALTER TABLE events DROP CONSTRAINT events_key",
        ]),
    }
    let foreign = |sql: &&str| Edit {
        sql: (*sql).into(),
        foreign: true,
    };
    list.extend(objects.iter().map(foreign));
    Ok(list)
}

/// The first row, the last one and random ones.
fn sample<'a>(rows: &'a [Vec<String>], most: usize, rng: &mut Rng) -> Vec<&'a Vec<String>> {
    let mut chosen: Vec<usize> = vec![0, rows.len().saturating_sub(1)];
    while chosen.len() < most {
        chosen.push(rng.below(rows.len() as u64) as usize);
    }
    chosen.truncate(most);
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().filter_map(|i| rows.get(i)).collect()
}

/// A condition that selects a row by its key.
fn place(base: &Database, table: &Table, row: &[String]) -> String {
    let is_equal = match base.is_sqlite() {
        true => "IS",
        false => "IS NOT DISTINCT FROM",
    };
    let keys = table
        .columns
        .iter()
        .zip(row)
        .filter(|((.., is_key), _)| *is_key);
    let parts = keys.map(|((column, ..), value)| format!("{column} {is_equal} {value}"));
    parts.collect::<Vec<_>>().join(" AND ")
}

/// Other values of the same type, most of them close to the value.
fn others(literal: &str, kind: &str, rng: &mut Rng) -> Vec<String> {
    let text = literal.trim_matches('\'');
    let is_quoted = literal.starts_with('\'');
    let again = |text: String| if is_quoted { format!("'{text}'") } else { text };
    match kind.to_ascii_lowercase().as_str() {
        _ if literal == "NULL" => vec!["'1'".into(), "1".into()],
        "integer" | "bigint" | "int8" | "int4" => match text.parse::<i64>() {
            Ok(value) => [value.wrapping_add(1), value.wrapping_sub(1)]
                .map(|value| again(value.to_string()))
                .into(),
            Err(_) => Vec::new(),
        },
        "bool" | "boolean" => vec![
            (if text.starts_with('t') {
                "false"
            } else {
                "true"
            })
            .into(),
        ],
        "blob" => changed(literal.trim_start_matches('x').trim_matches('\''), rng)
            .map(|digits| format!("x'{digits}'"))
            .into_iter()
            .collect(),
        "bytea" => changed(text.trim_start_matches("\\x"), rng)
            .map(|digits| format!("'\\x{digits}'"))
            .into_iter()
            .collect(),
        _ => {
            let mut list: Vec<String> = changed(text, rng).into_iter().collect();
            list.extend(changed(text, rng));
            list.extend([format!("{text} "), String::new()]);
            list.into_iter().map(|text| format!("'{text}'")).collect()
        }
    }
}

/// The text with one digit changed, or one letter where there is no digit.
fn changed(text: &str, rng: &mut Rng) -> Option<String> {
    let positions = |accepts: fn(&u8) -> bool| -> Vec<usize> {
        let bytes = text.bytes().enumerate();
        bytes
            .filter(|(_, byte)| accepts(byte))
            .map(|(i, _)| i)
            .collect()
    };
    let digits = positions(u8::is_ascii_digit);
    let letters = positions(u8::is_ascii_lowercase);
    let among = match digits.is_empty() || (rng.percent(30) && !letters.is_empty()) {
        true => letters,
        false => digits,
    };
    let at = *rng.choose(&among)?;
    let mut bytes = text.as_bytes().to_vec();
    bytes[at] = match bytes[at] {
        b'9' | b'f' => bytes[at] - 1,
        b'z' => b'y',
        byte => byte + 1,
    };
    String::from_utf8(bytes).ok()
}
