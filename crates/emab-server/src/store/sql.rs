//! What both stores share: the queries, and how rows are read.
//!
//! SQLite numbers `$1`, `$2`, … by their first occurrence, so that parameters occur in order.

use std::error::Error;

use rusqlite::types::ToSqlOutput;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, Type, to_sql_checked};

use super::{
    Begun, Changes, Checkpoint, Finding, GainSum, Head, LearnedEpisode, Restore, Result, Session,
    Store, StoreError, StoredDecision, Which, check,
};
use crate::domain::{EpisodeRecord, Record, Status};

macro_rules! heads {
    ($rest:literal) => {
        concat!(
            "SELECT key, name, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned, rules, salted, details, \
             EXISTS (SELECT 1 FROM restores WHERE restores.study = studies.key AND finished IS NULL) FROM studies ",
            $rest
        )
    };
}
pub(super) use heads;

/// Reads episodes after a name, with the index and the condition of some of them.
macro_rules! episodes_after {
    ($index:literal, $condition:literal) => {
        concat!(
            "SELECT id, body, step, open, awaited FROM cases ",
            $index,
            "WHERE study = $1 AND id > $2 ",
            $condition,
            "ORDER BY id LIMIT $3"
        )
    };
}
pub(super) use episodes_after;

pub(super) const CREATE: &str = "
    INSERT INTO studies
    (name, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned, rules, salted, details)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (name) DO NOTHING RETURNING key";
pub(super) const CREATE_SPEC: &str =
    "INSERT INTO specs (study, text) VALUES ($1, $2) RETURNING study";
pub(super) const SPEC: &str = "SELECT text FROM specs WHERE study = $1";
pub(super) const PUT_RESTORE: &str = "
    INSERT INTO restores (study, begun, begun_by, finished, finished_by, seq, hash) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (study) DO UPDATE SET begun = excluded.begun, begun_by = excluded.begun_by, finished = excluded.finished,
    finished_by = excluded.finished_by, seq = excluded.seq, hash = excluded.hash RETURNING study";
pub(super) const RESTORE: &str = "
    SELECT begun, begun_by, finished, finished_by, seq, hash FROM restores WHERE study = $1";
pub(super) const PUT_CHECKPOINT: &str = "
    INSERT INTO checkpoints (study, seq, text) VALUES ($1, $2, $3)
    ON CONFLICT (study) DO UPDATE SET seq = excluded.seq, text = excluded.text WHERE excluded.seq >= checkpoints.seq
    RETURNING study";
/// Ends the restoration of a study that is to be removed.
pub(super) const DISCARD: &str =
    "DELETE FROM restores WHERE study = $1 AND finished IS NULL RETURNING study";
pub(super) const CHECKPOINT: &str = "SELECT seq, text FROM checkpoints WHERE study = $1";
pub(super) const SESSION: &str = "SELECT hash, token, begun, expires FROM sessions WHERE hash = $1";
pub(super) const PUT_SESSION: &str = "
    INSERT INTO sessions (hash, token, begun, expires) VALUES ($1, $2, $3, $4)
    ON CONFLICT (hash) DO UPDATE SET token = excluded.token, begun = excluded.begun, expires = excluded.expires
    RETURNING hash";
pub(super) const REMOVE_SESSION: &str = "DELETE FROM sessions WHERE hash = $1 RETURNING hash";
pub(super) const REMOVE_EXPIRED: &str = "DELETE FROM sessions WHERE expires < $1 RETURNING hash";
/// Removes all but the newest 200 sessions of a token.
pub(super) const REMOVE_OLDEST: &str = "
    DELETE FROM sessions WHERE token = $1 AND hash NOT IN
    (SELECT hash FROM sessions WHERE token = $1 ORDER BY begun DESC, hash LIMIT 200) RETURNING hash";
pub(super) const KEY: &str = "SELECT key FROM studies WHERE name = $1";
pub(super) const HEAD: &str = heads!("WHERE name = $1");
pub(super) const UNCOVERED: &str = heads!(
    "WHERE name > $1 AND seq > COALESCE((SELECT checkpoints.seq FROM checkpoints WHERE checkpoints.study = studies.key), 0) \
     ORDER BY name LIMIT $2"
);
pub(super) const HEADS: &str = heads!("WHERE name > $1 ORDER BY name LIMIT $2");
pub(super) const EPISODES_AFTER: &str = episodes_after!("", "");
pub(super) const DECISION: &str =
    "SELECT episode, step, text FROM answers WHERE study = $1 AND episode = $2 AND step = $3";
pub(super) const DECISIONS: &str =
    "SELECT episode, step, text FROM answers WHERE study = $1 AND episode = $2 ORDER BY step";
pub(super) const DECISIONS_AFTER: &str = "
    SELECT episode, step, text FROM answers WHERE study = $1 AND (episode, step) > ($2, $3)
    ORDER BY episode, step LIMIT $4";
pub(super) const EVENTS: &str =
    "SELECT seq, text, hash FROM events WHERE study = $1 AND seq > $2 ORDER BY seq LIMIT $3";
pub(super) const LEARNED: &str =
    "SELECT place, bytes FROM lessons WHERE study = $1 AND place >= $2 ORDER BY place LIMIT $3";
pub(super) const GAIN_SUMS: &str = "
    SELECT t, x, a, count, sum FROM cells WHERE study = $1 AND (t, x, a) > ($2, $3, $4) ORDER BY t, x, a LIMIT $5";

/// A connection that executes SQL. It implements [`Store`] by this.
pub(super) trait Sql: Send {
    /// Reads the heads with given [`Names`] and locks their rows, in the order of names.
    const LOCK: &'static str;
    /// Reads the decision for the current step of an episode.
    const CURRENT_DECISION: &'static str;
    /// Reads the events with given sequence numbers, which are [`Names`].
    const EVENTS_AT: &'static str;

    /// Reads these episodes after a name.
    fn episodes_after_sql(&self, which: Which) -> &'static str;
    fn begin(&mut self) -> Result<()>;
    fn commit(&mut self) -> Result<()>;
    fn rollback(&mut self);
    fn begin_snapshot(&mut self) -> Result<()>;
    /// Fails outside a transaction, where every statement would be committed.
    fn in_transaction(&self) -> Result<()>;
    /// Whether every byte of an episode is checked.
    fn is_inspection(&self) -> bool;
    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<()>;
    fn begin_batch(&mut self, studies: &[&str], episodes: &[(i64, &str)]) -> Result<Begun> {
        Sql::begin(self)?;
        Ok(Begun {
            heads: self.rows(Self::LOCK, &[&Names(studies)])?,
            episodes: self.find_episodes(episodes)?,
        })
    }
    fn commit_batch(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        if !studies.is_empty() {
            Sql::write_all(self, studies)?;
        }
        Sql::commit(self)
    }
    /// Reads the episodes with these studies and names, in the order of studies.
    fn rows_of<T: Stored>(&mut self, keys: &[(i64, &str)]) -> Result<Vec<OfStudy<T>>>;

    /// The rows of a query.
    fn rows<T: Stored>(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<T>>;

    /// The row of a query with at most one.
    fn row<T: Stored>(&mut self, sql: &'static str, params: Params<'_>) -> Result<Option<T>> {
        self.rows(sql, params).map(|mut rows| rows.pop())
    }

    fn query_episodes(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<EpisodeRecord>> {
        if !self.is_inspection() {
            return self.rows(sql, params);
        }
        let episodes = self.rows(sql, params)?;
        Ok(episodes.into_iter().map(exact).collect())
    }

    /// The rows of a statement that is not prepared.
    fn rows_unprepared<T: Stored>(&mut self, sql: &str) -> Result<Vec<T>>;
    fn check_store(&mut self) -> Result<Vec<Finding>>;

    fn find_episodes(&mut self, keys: &[(i64, &str)]) -> Result<Vec<(i64, EpisodeRecord)>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        if !self.is_inspection() {
            let found = self.rows_of(keys)?;
            return Ok(found.into_iter().map(OfStudy::pair).collect());
        }
        let found = self.rows_of(keys)?.into_iter();
        Ok(found.map(|it| (it.study, exact(it.row))).collect())
    }

    fn find_key(&mut self, name: &str) -> Result<Option<i64>> {
        self.row(KEY, &[&name])
    }

    /// Replaces the key of a new study if an earlier study had it: readers may still hold that one.
    fn unused_key(&mut self, key: i64) -> Result<i64> {
        Ok(key)
    }
    /// Is called when the study with this key is removed.
    fn note_removed(&mut self, _key: i64) {}
}

fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl<C: Sql> Store for C {
    fn begin(&mut self) -> Result<()> {
        Sql::begin(self)
    }

    fn begin_batch(&mut self, studies: &[&str], episodes: &[(i64, &str)]) -> Result<Begun> {
        Sql::begin_batch(self, studies, episodes)
    }

    fn commit_batch(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        self.in_transaction()?;
        Sql::commit_batch(self, studies)
    }

    fn commit(&mut self) -> Result<()> {
        self.in_transaction()?;
        Sql::commit(self)
    }

    fn rollback(&mut self) {
        Sql::rollback(self);
    }

    fn begin_snapshot(&mut self) -> Result<()> {
        Sql::begin_snapshot(self)
    }

    fn create(&mut self, head: &Head, spec: &str) -> Result<Option<i64>> {
        self.in_transaction()?;
        let [seq, episodes, open, learned, missing, relearned] = &counters(head)?;
        let (name, spec_hash, hash) = (&head.name, &head.spec_hash, &head.hash);
        let (closed, rules, salted) = (&head.closed, &i64::from(head.rules), &head.salted);
        let values: Params<'_> = &[
            name,
            spec_hash,
            seq,
            hash,
            closed,
            episodes,
            open,
            learned,
            missing,
            relearned,
            rules,
            salted,
            &details(head)?,
        ];
        let key = self.row::<i64>(CREATE, values)?;
        match key {
            Some(key) => {
                let key = self.unused_key(key)?;
                self.row::<i64>(CREATE_SPEC, &[&key, &spec])
            }
            None => Ok(None),
        }
    }

    fn lock_all(&mut self, names: &[&str]) -> Result<Vec<Head>> {
        self.in_transaction()?;
        self.rows(C::LOCK, &[&Names(names)])
    }

    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        self.in_transaction()?;
        Sql::write_all(self, studies)
    }

    fn put_restore(&mut self, study: i64, restore: &Restore) -> Result<()> {
        self.in_transaction()?;
        let seq = integer(restore.seq, "the sequence number")?;
        let values: Params<'_> = &[
            &study,
            &restore.begun,
            &restore.begun_by,
            &restore.finished,
            &restore.finished_by,
            &seq,
            &restore.hash,
        ];
        self.row::<i64>(PUT_RESTORE, values).map(drop)
    }

    fn discard(&mut self, study: i64) -> Result<()> {
        self.in_transaction()?;
        if self.row::<i64>(DISCARD, &[&study])?.is_none() {
            let what = format!("the study with key {study} is not being restored");
            return Err(StoreError::Damaged(what));
        }
        for (table, _) in check::TABLES {
            let rows = format!("DELETE FROM {table} WHERE study = {study}");
            self.rows_unprepared::<i64>(&rows)?;
        }
        self.rows_unprepared::<i64>(&format!("DELETE FROM studies WHERE key = {study}"))?;
        self.note_removed(study);
        Ok(())
    }

    fn put_checkpoint(&mut self, study: i64, checkpoint: &Checkpoint) -> Result<()> {
        self.in_transaction()?;
        let seq = integer(checkpoint.seq, "the sequence number")?;
        let values: Params<'_> = &[&study, &seq, &checkpoint.text];
        self.row::<i64>(PUT_CHECKPOINT, values).map(drop)
    }

    fn put_session(&mut self, session: &Session) -> Result<()> {
        self.in_transaction()?;
        self.rows::<String>(REMOVE_EXPIRED, &[&session.begun])?;
        let values: Params<'_> = &[
            &session.hash,
            &session.token,
            &session.begun,
            &session.expires,
        ];
        self.row::<String>(PUT_SESSION, values)?;
        self.rows::<String>(REMOVE_OLDEST, &[&session.token])
            .map(drop)
    }

    fn remove_session(&mut self, hash: &str) -> Result<()> {
        self.in_transaction()?;
        self.row::<String>(REMOVE_SESSION, &[&hash]).map(drop)
    }

    fn key(&mut self, name: &str) -> Result<Option<i64>> {
        self.find_key(name)
    }

    fn head(&mut self, name: &str) -> Result<Option<Head>> {
        self.row(HEAD, &[&name])
    }

    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>> {
        self.rows(HEADS, &[&after, &limit_of(limit)])
    }

    fn uncovered(&mut self, after: &str, limit: usize) -> Result<Vec<Head>> {
        self.rows(UNCOVERED, &[&after, &limit_of(limit)])
    }

    fn check_store(&mut self) -> Result<Vec<Finding>> {
        Sql::check_store(self)
    }

    fn spec(&mut self, study: i64) -> Result<Option<String>> {
        self.row(SPEC, &[&study])
    }

    fn restore(&mut self, study: i64) -> Result<Option<Restore>> {
        self.row(RESTORE, &[&study])
    }

    fn checkpoint(&mut self, study: i64) -> Result<Option<Checkpoint>> {
        self.row(CHECKPOINT, &[&study])
    }

    fn session(&mut self, hash: &str) -> Result<Option<Session>> {
        self.row(SESSION, &[&hash])
    }

    fn episodes_of(&mut self, keys: &[(i64, &str)]) -> Result<Vec<(i64, EpisodeRecord)>> {
        self.find_episodes(keys)
    }

    fn episodes_after(
        &mut self,
        study: i64,
        after: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>> {
        let sql = self.episodes_after_sql(which);
        self.query_episodes(sql, &[&study, &after, &limit_of(limit)])
    }

    fn decision(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<StoredDecision>> {
        match step {
            Some(step) => self.row(DECISION, &[&study, &episode, &i64::from(step)]),
            None => self.row(C::CURRENT_DECISION, &[&study, &episode]),
        }
    }

    fn decisions(&mut self, study: i64, episode: &str) -> Result<Vec<StoredDecision>> {
        self.rows(DECISIONS, &[&study, &episode])
    }

    fn decisions_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<StoredDecision>> {
        let (episode, step) = after.map_or(("", -1), |(episode, step)| (episode, i64::from(step)));
        let values: Params<'_> = &[&study, &episode, &step, &limit_of(limit)];
        self.rows(DECISIONS_AFTER, values)
    }

    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>> {
        let Ok(after) = i64::try_from(after) else {
            return Ok(Vec::new());
        };
        self.rows(EVENTS, &[&study, &after, &limit_of(limit)])
    }

    fn events_at(&mut self, study: i64, seqs: &[u64]) -> Result<Vec<Record>> {
        let seqs = seqs.iter().filter(|seq| i64::try_from(**seq).is_ok());
        let seqs: Vec<String> = seqs.map(u64::to_string).collect();
        let seqs: Vec<&str> = seqs.iter().map(String::as_str).collect();
        self.rows(C::EVENTS_AT, &[&study, &Names(&seqs)])
    }

    fn learned_episodes(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>> {
        let Ok(from) = i64::try_from(from) else {
            return Ok(Vec::new());
        };
        self.rows(LEARNED, &[&study, &from, &limit_of(limit)])
    }

    fn gain_sums(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<GainSum>> {
        let [t, x, a] = after.map_or([-1, 0, 0], |(t, x, a)| [t, x, a].map(i64::from));
        self.rows(GAIN_SUMS, &[&study, &t, &x, &a, &limit_of(limit)])
    }
}

/// An integer as SQL stores it, in half of the range.
pub(super) fn integer(value: u64, what: &str) -> Result<i64> {
    const MAX: i64 = i64::MAX;
    let wrong = |_| StoreError::Damaged(format!("{what} is {value}, and the maximum is {MAX}"));
    i64::try_from(value).map_err(wrong)
}

/// The counters of a head as integers: sequence number, episodes, open, learned, missing, relearned.
pub(super) fn counters(head: &Head) -> Result<[i64; 6]> {
    Ok([
        integer(head.seq, "the sequence number")?,
        integer(head.episodes, "the number of episodes")?,
        integer(head.open, "the number of open episodes")?,
        integer(head.learned, "the number of learned episodes")?,
        integer(head.missing, "the number of missing outcomes")?,
        integer(head.relearned, "the sequence number of the last correction")?,
    ])
}

/// The counters of a head that are stored as JSON.
pub(super) fn details(head: &Head) -> Result<String> {
    serde_json::to_string(&head.details)
        .map_err(|error| StoreError::Damaged(format!("study `{}`: {error}", head.name)))
}

/// Fails if not every head was updated.
pub(super) fn have_updated(heads: u64, studies: &[(&Head, &Changes)]) -> Result<()> {
    if heads == studies.len() as u64 {
        return Ok(());
    }
    let studies = studies.iter();
    let names = studies.map(|(head, _)| format!("study `{}` with key {}", head.name, head.key));
    let names = names.collect::<Vec<_>>().join(", ");
    let what = format!("one of these has no row: {names}");
    Err(StoreError::Damaged(what))
}

/// The columns of an episode after its name: the step, whether it is open, whether its outcome is awaited, and its JSON text.
pub(super) fn episode_columns(episode: &EpisodeRecord) -> Result<(i64, bool, bool, String)> {
    let body = serde_json::to_string(episode)
        .map_err(|error| StoreError::Damaged(format!("episode `{}`: {error}", episode.id)))?;
    let step = integer(episode.step() as u64, "the step")?;
    let awaited = episode.status() == Status::Stopped;
    Ok((step, episode.end.is_none(), awaited, body))
}

/// A value of a statement, for either database.
pub(super) trait Param: rusqlite::ToSql + tokio_postgres::types::ToSql + Sync {}
impl<T: rusqlite::ToSql + tokio_postgres::types::ToSql + Sync> Param for T {}

/// The values of a statement.
pub(super) type Params<'a> = &'a [&'a dyn Param];

/// A list of names: a JSON array in SQLite, an array in PostgreSQL.
#[derive(Debug)]
pub(super) struct Names<'a>(pub(super) &'a [&'a str]);

impl rusqlite::ToSql for Names<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let list: std::collections::BTreeSet<_> = self.0.iter().collect();
        let text = serde_json::to_string(&list)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(text.into())
    }
}

impl tokio_postgres::types::ToSql for Names<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql(kind, out)
    }

    fn accepts(kind: &Type) -> bool {
        <&[&str]>::accepts(kind)
    }

    to_sql_checked!();
}

/// A type of a column, in either database.
pub(super) trait Value:
    rusqlite::types::FromSql + tokio_postgres::types::FromSqlOwned
{
}
impl<T: rusqlite::types::FromSql + tokio_postgres::types::FromSqlOwned> Value for T {}

/// A row of a result. A value of another type or range than was written is [`StoreError::Damaged`].
pub(super) trait Row {
    fn get<T: Value>(&self, column: usize) -> Result<T>;
    fn boolean(&self, column: usize) -> Result<bool>;
    fn name(&self, column: usize) -> &str;

    /// A value that is stored as JSON.
    fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T> {
        let text: String = self.get(column)?;
        let wrong = |error| StoreError::Damaged(format!("`{}`: {error}", self.name(column)));
        serde_json::from_str(&text).map_err(wrong)
    }

    /// A non-negative integer that fits its type.
    fn count<T: TryFrom<i64>>(&self, column: usize) -> Result<T> {
        let found: i64 = self.get(column)?;
        let wrong = |_| StoreError::Damaged(format!("`{}` is {found}", self.name(column)));
        T::try_from(found).map_err(wrong)
    }
}

/// A type that is read from a row.
pub(super) trait Stored: Sized {
    fn read(row: &impl Row) -> Result<Self>;
}

impl Stored for i64 {
    fn read(row: &impl Row) -> Result<i64> {
        row.get(0)
    }
}

impl Stored for String {
    fn read(row: &impl Row) -> Result<String> {
        row.get(0)
    }
}

/// Implements [`Stored`] by the method and the column of each field.
macro_rules! stored {
    ($($type:ident { $($field:ident: $method:ident($column:literal),)* })*) => {
        $(impl Stored for $type {
            fn read(row: &impl Row) -> Result<$type> {
                Ok($type { $($field: row.$method($column)?,)* })
            }
        })*
    };
}

stored! {
    Head {
        key: get(0), name: get(1), spec_hash: get(2), seq: count(3), hash: get(4), closed: boolean(5), episodes: count(6),
        open: count(7), learned: count(8), missing: count(9), relearned: count(10), rules: count(11), salted: boolean(12),
        details: json(13), restoring: boolean(14),
    }
    Restore {
        begun: get(0), begun_by: get(1), finished: get(2), finished_by: get(3), seq: count(4), hash: get(5),
    }
    Checkpoint { seq: count(0), text: get(1), }
    Session { hash: get(0), token: get(1), begun: get(2), expires: get(3), }
    StoredDecision { episode: get(0), step: count(1), text: get(2), }
    Record { seq: count(0), text: get(1), hash: get(2), }
    LearnedEpisode { position: count(0), bytes: get(1), }
}

impl Stored for GainSum {
    fn read(row: &impl Row) -> Result<GainSum> {
        Ok(GainSum {
            t: row.count(0)?,
            x: row.count(1)?,
            a: row.count(2)?,
            count: row.count(3)?,
            sum: f64::from_bits(row.get::<i64>(4)?.cast_unsigned()),
        })
    }
}

impl Stored for EpisodeRecord {
    /// The error does not contain the text of the episode, which must not appear in logs.
    fn read(row: &impl Row) -> Result<EpisodeRecord> {
        let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
        let (_, _, _): (i64, bool, bool) = (row.get(2)?, row.boolean(3)?, row.boolean(4)?);
        serde_json::from_str(&body)
            .map_err(|error| StoreError::Damaged(format!("episode `{id}`: {error}")))
    }
}

/// A row of an episode with its study in the column after it.
pub(super) struct OfStudy<T> {
    study: i64,
    row: T,
}

impl<T> OfStudy<T> {
    pub(super) fn pair(self) -> (i64, T) {
        (self.study, self.row)
    }
}

impl<T: Stored> Stored for OfStudy<T> {
    fn read(row: &impl Row) -> Result<OfStudy<T>> {
        let study = row.get(5)?;
        let row = T::read(row)?;
        Ok(OfStudy { study, row })
    }
}

/// An episode whose every byte is as the service writes it.
struct Exact(EpisodeRecord);

fn exact(Exact(episode): Exact) -> EpisodeRecord {
    episode
}

impl Stored for Exact {
    fn read(row: &impl Row) -> Result<Exact> {
        let episode = EpisodeRecord::read(row)?;
        let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
        let wrong = |what: &str| Err(StoreError::Damaged(format!("episode `{id}`: {what}")));
        let (step, open, awaited, written) = episode_columns(&episode)?;
        if written != body || episode.id != id {
            return wrong("it is not written as this service writes");
        }
        let columns: (i64, bool, bool) = (row.get(2)?, row.boolean(3)?, row.boolean(4)?);
        if columns != (step, open, awaited) {
            let (step, open, awaited) = columns;
            let what = format!(
                "the columns `step`, `open` and `awaited` are {step}, {open} and {awaited}"
            );
            return wrong(&what);
        }
        Ok(Exact(episode))
    }
}
