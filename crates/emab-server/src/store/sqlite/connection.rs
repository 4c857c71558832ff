//! A connection: executes SQL on the file.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::{Connection, Params as SqliteParams, params, params_from_iter};

use super::super::sql::{
    self, Names, OfStudy, Params, Row, Sql, Stored, Value, counters, details, episode_columns,
    have_updated, integer,
};
use super::super::{Changes, Finding, Head, Result, StoreError, Which};
use super::error::{fault, insert_error};
use super::file::DatabaseFile;
use super::log_copier::LogCopier;
use super::{BUSY_TIMEOUT, Role, check, connect};

/// The names come as a JSON array; one statement sees one state of the store.
pub(super) const EPISODES: &str = "
    SELECT cases.id, body, step, open, awaited, cases.study FROM json_each(?2) AS named
    CROSS JOIN cases ON cases.study = ?1 AND cases.id = named.value";
pub(super) const OPEN_EPISODES_AFTER: &str =
    sql::episodes_after!("INDEXED BY cases_open ", "AND open = 1 ");
pub(super) const AWAITED_EPISODES_AFTER: &str =
    sql::episodes_after!("INDEXED BY cases_awaited ", "AND awaited = 1 ");
/// The same for a view of an earlier version, which has no index of its own.
const OPEN_IN_VIEW: &str = sql::episodes_after!("", "AND open = 1 ");
const AWAITED_IN_VIEW: &str = sql::episodes_after!("", "AND awaited = 1 ");
pub(super) const WRITE_HEAD: &str = "
    UPDATE studies SET seq = $1, hash = $2, closed = $3, episodes = $4, open = $5, learned = $6, missing = $7,
    relearned = $8, salted = $9, details = $10 WHERE key = $11";
const WRITE_EVENT: &str = "INSERT INTO events (study, seq, text, hash) VALUES (?1, ?2, ?3, ?4)";
const WRITE_EPISODE: &str = "
    INSERT INTO cases (study, id, step, open, awaited, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (study, id) DO UPDATE SET step = excluded.step, open = excluded.open, awaited = excluded.awaited,
    body = excluded.body";
const WRITE_DECISION: &str = "
    INSERT INTO answers (study, episode, step, text) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (study, episode, step) DO UPDATE SET text = excluded.text";
const WRITE_LEARNED: &str = "
    INSERT INTO lessons (study, place, bytes) VALUES (?1, ?2, ?3)
    ON CONFLICT (study, place) DO UPDATE SET bytes = excluded.bytes";
const WRITE_GAIN_SUM: &str = "
    INSERT INTO cells (study, t, x, a, count, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (study, t, x, a) DO UPDATE SET count = excluded.count, sum = excluded.sum";

const REMOVE_GAIN_SUM: &str = "DELETE FROM cells WHERE study = ?1 AND t = ?2 AND x = ?3 AND a = ?4";

/// The length from which the log is emptied, even if that waits for a reader.
const LONG_LOG: u64 = 128 << 20;

/// After a failed attempt, the growth of the log before the next one.
const LONGER: u64 = 16 << 20;

/// How long emptying the log waits for readers: commits wait as long.
const READER_WAIT: Duration = Duration::from_millis(10);

pub(super) struct SqliteConnection {
    pub(super) connection: Connection,
    file: Arc<DatabaseFile>,
    role: Role,
    /// The length at which the log is emptied next.
    empty_at: u64,
    /// Of the writer.
    copier: Option<LogCopier>,
    /// Whether the file has the current version; otherwise views show it so.
    pub(super) is_current: bool,
}

impl SqliteConnection {
    pub(super) fn new(
        file: Arc<DatabaseFile>,
        connection: Connection,
        role: Role,
        copier: Option<LogCopier>,
    ) -> SqliteConnection {
        SqliteConnection {
            connection,
            file,
            role,
            empty_at: LONG_LOG,
            copier,
            is_current: true,
        }
    }

    /// Executes a statement; returns the number of changed rows.
    fn run(&self, sql: &str, params: impl SqliteParams) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(params)
    }

    /// Empties a long log.
    ///
    /// A copied log begins anew only when no reader uses it, which rarely happens under constant reads. Here the copy waits for
    /// readers, briefly.
    fn shorten_log(&mut self) {
        let length = self.file.log_length();
        if length < LONG_LOG {
            self.empty_at = LONG_LOG;
        }
        if length < self.empty_at {
            return;
        }
        let _ = self.connection.busy_timeout(READER_WAIT);
        let emptied = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        let _ = self.connection.busy_timeout(BUSY_TIMEOUT);
        self.empty_at = match emptied {
            Ok(0_i64) => LONG_LOG,
            _ => length.saturating_add(LONGER),
        };
    }
}

impl Row for rusqlite::Row<'_> {
    fn get<T: Value>(&self, column: usize) -> Result<T> {
        rusqlite::Row::get(self, column).map_err(fault)
    }

    /// Stored as 0 or 1.
    fn boolean(&self, column: usize) -> Result<bool> {
        match self.count(column)? {
            0_u8 => Ok(false),
            1 => Ok(true),
            other => {
                let what = format!("`{}` is {other}", self.name(column));
                Err(StoreError::Damaged(what))
            }
        }
    }

    fn name(&self, column: usize) -> &str {
        self.as_ref().column_name(column).unwrap_or("?")
    }
}

impl Sql for SqliteConnection {
    // The open transaction is the only one.
    const LOCK: &'static str =
        sql::heads!("WHERE name IN (SELECT value FROM json_each($1)) ORDER BY name");

    // Without statistics the planner might prefer the other index.
    // `CROSS` fixes the order: first the episode, then its decision.
    const CURRENT_DECISION: &'static str = "
        SELECT answers.episode, answers.step, answers.text FROM cases CROSS JOIN answers
        ON answers.study = cases.study AND answers.episode = cases.id AND answers.step = cases.step
        WHERE cases.study = ?1 AND cases.id = ?2";

    const EVENTS_AT: &'static str = "
        SELECT seq, text, hash FROM events WHERE study = ?1 AND seq IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))";

    fn episodes_after_sql(&self, which: Which) -> &'static str {
        match (which, self.is_current) {
            (Which::All, _) => sql::EPISODES_AFTER,
            (Which::Open, true) => OPEN_EPISODES_AFTER,
            (Which::Awaited, true) => AWAITED_EPISODES_AFTER,
            (Which::Open, false) => OPEN_IN_VIEW,
            (Which::Awaited, false) => AWAITED_IN_VIEW,
        }
    }

    fn begin(&mut self) -> Result<()> {
        if self.role != Role::Write {
            let what = "this connection is read-only";
            return Err(StoreError::Unavailable(what.into()));
        }
        self.file.is_unchanged()?;
        // Immediate: otherwise another writer could commit between the first read and the first write.
        self.run("BEGIN IMMEDIATE", []).map_err(fault)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.run("COMMIT", []).map_err(fault)?;
        if let Some(copier) = &self.copier {
            copier.committed(&self.connection);
        }
        self.shorten_log();
        Ok(())
    }

    fn rollback(&mut self) {
        if self.connection.is_autocommit() {
            return;
        }
        let _ = self.connection.execute_batch("ROLLBACK");
        // A connection that cannot roll back is replaced; dropping it rolls back.
        if !self.connection.is_autocommit()
            && let Ok(connection) = connect(&self.file, self.role)
        {
            self.connection = connection;
        }
    }

    fn begin_snapshot(&mut self) -> Result<()> {
        self.run("BEGIN DEFERRED", []).map_err(fault)?;
        // The snapshot begins with the first read.
        self.row::<i64>("SELECT key FROM studies LIMIT 1", &[])?;
        Ok(())
    }

    /// SQLite ends a transaction after some errors, and later writes would be committed.
    fn in_transaction(&self) -> Result<()> {
        if self.connection.is_autocommit() {
            return Err(StoreError::Unavailable("no transaction is open".into()));
        }
        Ok(())
    }

    fn is_inspection(&self) -> bool {
        matches!(self.role, Role::Inspect | Role::InspectFixed)
    }

    fn rows_unprepared<T: Stored>(&mut self, sql: &str) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare(sql).map_err(fault)?;
        let mut rows = statement.query([]).map_err(fault)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            all.push(T::read(row)?);
        }
        Ok(all)
    }

    fn check_store(&mut self) -> Result<Vec<Finding>> {
        check::store(self)
    }

    fn rows<T: Stored>(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(fault)?;
        let params = params.iter().map(|value| *value as &dyn rusqlite::ToSql);
        let mut rows = statement.query(params_from_iter(params)).map_err(fault)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            all.push(T::read(row)?);
        }
        Ok(all)
    }

    fn rows_of<T: Stored>(&mut self, keys: &[(i64, &str)]) -> Result<Vec<OfStudy<T>>> {
        let mut all = Vec::new();
        for keys in keys.chunk_by(|(one, _), (other, _)| one == other) {
            let names: Vec<&str> = keys.iter().map(|(_, name)| *name).collect();
            all.extend(self.rows(EPISODES, &[&keys[0].0, &Names(&names)])?);
        }
        Ok(all)
    }

    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        for (head, changes) in studies {
            self.write_study(head, changes)?;
        }
        Ok(())
    }

    fn unused_key(&mut self, key: i64) -> Result<i64> {
        let removed = self.file.removed.load(Ordering::Relaxed);
        if key > removed {
            return Ok(key);
        }
        let values = params![removed + 1, key];
        let sql = "UPDATE studies SET key = ?1 WHERE key = ?2";
        self.run(sql, values).map_err(fault)?;
        Ok(removed + 1)
    }

    fn note_removed(&mut self, key: i64) {
        self.file.removed.fetch_max(key, Ordering::Relaxed);
    }
}

impl SqliteConnection {
    fn write_study(&mut self, head: &Head, changes: &Changes) -> Result<()> {
        let [seq, episodes, open, learned, missing, relearned] = counters(head)?;
        let Head {
            key,
            hash,
            closed,
            salted,
            ..
        } = head;
        let values = params![
            seq,
            hash,
            closed,
            episodes,
            open,
            learned,
            missing,
            relearned,
            salted,
            details(head)?,
            key
        ];
        let updated = self.run(WRITE_HEAD, values).map_err(fault)?;
        have_updated(updated as u64, &[(head, changes)])?;
        for event in &changes.events {
            let seq = integer(event.seq, "the sequence number")?;
            let what = || format!("event {seq} in study `{}`", head.name);
            self.run(WRITE_EVENT, params![key, seq, event.text, event.hash])
                .map_err(|error| insert_error(error, what))?;
        }
        for episode in &changes.episodes {
            let (step, open, awaited, body) = episode_columns(episode)?;
            let values = params![key, episode.id, step, open, awaited, body];
            self.run(WRITE_EPISODE, values).map_err(fault)?;
        }
        for decision in &changes.decisions {
            let (episode, step) = (&decision.episode, decision.step);
            self.run(WRITE_DECISION, params![key, episode, step, decision.text])
                .map_err(fault)?;
        }
        for learned in &changes.learned_episodes {
            let position = integer(learned.position, "the position")?;
            self.run(WRITE_LEARNED, params![key, position, learned.bytes])
                .map_err(fault)?;
        }
        for gains in &changes.gain_sums {
            let count = integer(gains.count, "the count")?;
            let bits = gains.sum.to_bits().cast_signed();
            let values = params![key, gains.t, gains.x, gains.a, count, bits];
            self.run(WRITE_GAIN_SUM, values).map_err(fault)?;
        }
        for (t, x, a) in &changes.removed_gain_sums {
            self.run(REMOVE_GAIN_SUM, params![key, t, x, a])
                .map_err(fault)?;
        }
        Ok(())
    }
}
