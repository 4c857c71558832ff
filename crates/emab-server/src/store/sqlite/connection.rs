//! A connection: implements [`Store`] with SQL statements.

use std::sync::Arc;

use rusqlite::{Connection, Params, Row, params};

use super::super::exact;
use super::super::{Changes, GainSum, Head, LearnedEpisode, Store, StoreError, StoredDecision};
use super::super::{counters, integer};
use super::error::{fault, insert_error};
use super::file::DatabaseFile;
use super::{Role, connect, statements as sql};
use crate::domain::episode::EpisodeRecord;
use crate::domain::event::Record;

/// The length from which the log is emptied, even if that waits for a reader.
const LONG_LOG: u64 = 64 << 20;

/// After a failed attempt, the growth of the log before the next one.
const LONGER: u64 = 16 << 20;

pub(super) struct SqliteConnection {
    pub(super) connection: Connection,
    file: Arc<DatabaseFile>,
    role: Role,
    /// The length at which the log is emptied next.
    empty_at: u64,
}

impl SqliteConnection {
    pub(super) fn new(
        file: Arc<DatabaseFile>,
        connection: Connection,
        role: Role,
    ) -> SqliteConnection {
        SqliteConnection {
            connection,
            file,
            role,
            empty_at: LONG_LOG,
        }
    }

    /// Executes a statement; returns the number of changed rows.
    fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(params)
    }

    /// The rows of a query.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params, read)?.collect()
        };
        rows().map_err(fault)
    }

    /// The row of a query with at most one.
    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.rows(sql, params, read).map(|mut rows| rows.pop())
    }

    /// Fails outside a transaction. SQLite ends a transaction after some errors, and later writes would be committed.
    fn in_transaction(&self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() {
            return Err(StoreError::Unavailable("no transaction is open".into()));
        }
        Ok(())
    }

    /// Empties a long log.
    ///
    /// Automatic checkpoints restart the log only when no reader uses it, which rarely happens under constant reads. Here the
    /// checkpoint waits for readers, briefly.
    fn shorten_log(&mut self) {
        let length = self.file.log_length();
        if length < LONG_LOG {
            self.empty_at = LONG_LOG;
        }
        if length < self.empty_at {
            return;
        }
        let emptied = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        self.empty_at = match emptied {
            Ok(0_i64) => LONG_LOG,
            _ => length.saturating_add(LONGER),
        };
    }

    fn write_head(&self, head: &Head) -> Result<(), StoreError> {
        let [seq, episodes, open, learned, missing, relearned] = counters(head)?;
        let Head {
            key, hash, closed, ..
        } = head;
        let values = params![
            key, hash, closed, seq, episodes, open, learned, missing, relearned
        ];
        if self.run(sql::WRITE_HEAD, values).map_err(fault)? == 1 {
            return Ok(());
        }
        Err(StoreError::Damaged(format!(
            "study `{}` has no row with key {key}",
            head.name
        )))
    }

    fn write_events(&self, head: &Head, events: &[Record]) -> Result<(), StoreError> {
        for event in events {
            let seq = integer(event.seq, "the sequence number")?;
            let values = params![head.key, seq, event.text, event.hash];
            self.run(sql::WRITE_EVENT, values).map_err(|error| {
                insert_error(error, || format!("event {seq} in study `{}`", head.name))
            })?;
        }
        Ok(())
    }

    fn write_episodes(&self, study: i64, episodes: &[EpisodeRecord]) -> Result<(), StoreError> {
        for episode in episodes {
            let step = integer(episode.step() as u64, "the step")?;
            let body = serde_json::to_string(episode).map_err(|error| {
                StoreError::Damaged(format!("episode `{}`: {error}", episode.id))
            })?;
            let values = params![study, episode.id, step, episode.end.is_none(), body];
            self.run(sql::WRITE_EPISODE, values).map_err(fault)?;
        }
        Ok(())
    }

    fn write_decisions(&self, head: &Head, decisions: &[StoredDecision]) -> Result<(), StoreError> {
        for decision in decisions {
            let (episode, step) = (&decision.episode, decision.step);
            let values = params![head.key, episode, step, decision.text];
            let what = || {
                let study = &head.name;
                format!("a decision of step {step} of episode `{episode}` in study `{study}`")
            };
            self.run(sql::WRITE_DECISION, values)
                .map_err(|error| insert_error(error, what))?;
        }
        Ok(())
    }

    fn write_learned(
        &self,
        study: i64,
        learned_episodes: &[LearnedEpisode],
    ) -> Result<(), StoreError> {
        for learned in learned_episodes {
            let position = integer(learned.position, "the position")?;
            let values = params![study, position, learned.bytes];
            self.run(sql::WRITE_LEARNED, values).map_err(fault)?;
        }
        Ok(())
    }

    fn write_gain_sums(&self, study: i64, gain_sums: &[GainSum]) -> Result<(), StoreError> {
        for gains in gain_sums {
            let count = integer(gains.count, "the count")?;
            let bits = gains.sum.to_bits().cast_signed();
            let values = params![study, gains.t, gains.x, gains.a, count, bits];
            self.run(sql::WRITE_GAIN_SUM, values).map_err(fault)?;
        }
        Ok(())
    }

    /// The episodes of a query.
    fn query_episodes(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        let episodes = self.rows(sql, params, |row| {
            let found = exact::Row {
                id: row.get_ref(0)?.as_str()?,
                body: row.get_ref(1)?.as_str()?,
                step: row.get(2)?,
                open: boolean(row, 3)?,
            };
            Ok(match self.role {
                Role::Inspect | Role::InspectFixed => found.read_exactly(),
                // Faster, for the service.
                Role::Read | Role::Write => found.read(),
            })
        })?;
        episodes
            .into_iter()
            .map(|episode| episode.map_err(StoreError::Damaged))
            .collect()
    }
}

fn read_head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        key: row.get(0)?,
        name: row.get(1)?,
        spec: row.get(2)?,
        spec_hash: row.get(3)?,
        hash: row.get(4)?,
        closed: boolean(row, 5)?,
        seq: natural(row, 6)?,
        episodes: natural(row, 7)?,
        open: natural(row, 8)?,
        learned: natural(row, 9)?,
        missing: natural(row, 10)?,
        relearned: natural(row, 11)?,
    })
}

fn read_decision(row: &Row<'_>) -> rusqlite::Result<StoredDecision> {
    Ok(StoredDecision {
        episode: row.get(0)?,
        step: row.get(1)?,
        text: row.get(2)?,
    })
}

/// A non-negative integer.
fn natural(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// A boolean, stored as 0 or 1.
fn boolean(row: &Row<'_>, column: usize) -> rusqlite::Result<bool> {
    match row.get(column)? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(rusqlite::Error::IntegralValueOutOfRange(column, other)),
    }
}

/// A limit as a SQLite integer.
fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Store for SqliteConnection {
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.role != Role::Write {
            return Err(StoreError::Unavailable(
                "this connection is read-only".into(),
            ));
        }
        self.file.is_unchanged()?;
        // Immediate: otherwise another writer could commit between the first read and the first write.
        self.run("BEGIN IMMEDIATE", []).map_err(fault)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.in_transaction()?;
        self.run("COMMIT", []).map_err(fault)?;
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

    fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        // The snapshot begins with the first read.
        self.run("BEGIN DEFERRED", []).map_err(fault)?;
        self.row("SELECT key FROM studies LIMIT 1", [], |_| Ok(()))?;
        Ok(())
    }

    fn create(&mut self, head: &Head) -> Result<Option<i64>, StoreError> {
        self.in_transaction()?;
        let [seq, episodes, open, learned, missing, relearned] = counters(head)?;
        let Head {
            name,
            spec,
            spec_hash,
            hash,
            closed,
            ..
        } = head;
        let values = params![
            name, spec, spec_hash, hash, closed, seq, episodes, open, learned, missing, relearned
        ];
        self.row(sql::CREATE, values, |row| row.get(0))
    }

    fn lock(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        // The open transaction is the only one.
        self.in_transaction()?;
        self.head(name)
    }

    fn write(&mut self, head: &Head, changes: &Changes) -> Result<(), StoreError> {
        self.in_transaction()?;
        self.write_head(head)?;
        self.write_events(head, &changes.events)?;
        self.write_episodes(head.key, &changes.episodes)?;
        self.write_decisions(head, &changes.decisions)?;
        self.write_learned(head.key, &changes.learned_episodes)?;
        self.write_gain_sums(head.key, &changes.gain_sums)
    }

    fn key(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        self.row(sql::KEY, [name], |row| row.get(0))
    }

    fn head(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        self.row(sql::HEAD, [name], read_head)
    }

    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.rows(sql::HEADS, params![after, limit_of(limit)], read_head)
    }

    fn episodes(
        &mut self,
        study: i64,
        episodes: &[&str],
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        let mut episodes = episodes.to_vec();
        episodes.sort_unstable();
        episodes.dedup();
        // One statement with a JSON list sees one state of the store.
        let list = serde_json::to_string(&episodes)
            .map_err(|error| StoreError::Damaged(error.to_string()))?;
        self.query_episodes(sql::EPISODES, params![study, list])
    }

    fn episodes_after(
        &mut self,
        study: i64,
        after: &str,
        open: bool,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        let sql = if open {
            sql::OPEN_EPISODES_AFTER
        } else {
            sql::EPISODES_AFTER
        };
        self.query_episodes(sql, params![study, after, limit_of(limit)])
    }

    fn decision(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<StoredDecision>, StoreError> {
        match step {
            Some(step) => self.row(sql::DECISION, params![study, episode, step], read_decision),
            None => self.row(
                sql::CURRENT_DECISION,
                params![study, episode],
                read_decision,
            ),
        }
    }

    fn decisions(&mut self, study: i64, episode: &str) -> Result<Vec<StoredDecision>, StoreError> {
        self.rows(sql::DECISIONS, params![study, episode], read_decision)
    }

    fn decisions_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<StoredDecision>, StoreError> {
        let sql = "SELECT episode, step, text FROM answers WHERE study = ?1 AND (episode, step) > (?2, ?3) \
                   ORDER BY episode, step LIMIT ?4";
        let (episode, step) = after.map_or(("", -1), |(episode, step)| (episode, i64::from(step)));
        self.rows(
            sql,
            params![study, episode, step, limit_of(limit)],
            read_decision,
        )
    }

    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let Ok(after) = i64::try_from(after) else {
            return Ok(Vec::new());
        };
        self.rows(sql::EVENTS, params![study, after, limit_of(limit)], |row| {
            Ok(Record {
                seq: natural(row, 0)?,
                text: row.get(1)?,
                hash: row.get(2)?,
            })
        })
    }

    fn learned_episodes(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>, StoreError> {
        let Ok(from) = i64::try_from(from) else {
            return Ok(Vec::new());
        };
        self.rows(sql::LEARNED, params![study, from, limit_of(limit)], |row| {
            Ok(LearnedEpisode {
                position: natural(row, 0)?,
                bytes: row.get(1)?,
            })
        })
    }

    fn gain_sums(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<GainSum>, StoreError> {
        let (t, x, a) = after.map_or((-1_i64, 0_i64, 0_i64), |(t, x, a)| {
            (t.into(), x.into(), a.into())
        });
        self.rows(
            sql::GAIN_SUMS,
            params![study, t, x, a, limit_of(limit)],
            |row| {
                let bits: i64 = row.get(4)?;
                Ok(GainSum {
                    t: row.get(0)?,
                    x: row.get(1)?,
                    a: row.get(2)?,
                    count: natural(row, 3)?,
                    sum: f64::from_bits(bits.cast_unsigned()),
                })
            },
        )
    }
}
