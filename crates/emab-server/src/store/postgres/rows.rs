//! SQL statements. All rows of a kind are written by one statement, with one array per column.

use std::collections::HashMap;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

use super::super::sql::{self, Row, Sql, Value, counters, details, episode_columns, integer};
use super::super::{Changes, GainSum, Head, LearnedEpisode, Result, StoreError, StoredDecision};
use super::connection::PgConnection;
use super::error::describe;
use super::schema::VERSION;
use super::session::Tools;
use super::tokens;
use crate::domain::{EpisodeRecord, Record, TripletKey};

/// Without the limit, a plan that was made for a small table reads all episodes of a study.
pub(super) const EPISODES: &str = "
    SELECT it.id, it.body, it.step, it.open, it.awaited, named.study FROM UNNEST($1::BIGINT[], $2::TEXT[]) AS named (study, id)
    CROSS JOIN LATERAL (SELECT id, body, step, open, awaited FROM cases
    WHERE cases.study = named.study AND cases.id = named.id LIMIT 1) AS it";
pub(super) const OPEN_EPISODES_AFTER: &str = sql::episodes_after!("", "AND open ");
pub(super) const AWAITED_EPISODES_AFTER: &str = sql::episodes_after!("", "AND awaited ");
const WRITE_HEADS: &str = "
    UPDATE studies SET seq = new.seq, hash = new.hash, closed = new.closed, episodes = new.episodes, open = new.open,
    learned = new.learned, missing = new.missing, relearned = new.relearned, salted = new.salted,
    details = new.details
    FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::TEXT[], $4::BOOLEAN[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[], $8::BIGINT[],
    $9::BIGINT[], $10::BOOLEAN[], $11::TEXT[])
    AS new (key, seq, hash, closed, episodes, open, learned, missing, relearned, salted, details) WHERE studies.key = new.key";
const WRITE_EVENTS: &str = "
    INSERT INTO events (study, seq, text, hash)
    SELECT * FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::TEXT[], $4::TEXT[])";
const WRITE_EPISODES: &str = "
    INSERT INTO cases (study, id, step, open, awaited, body)
    SELECT * FROM UNNEST($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::BOOLEAN[], $5::BOOLEAN[], $6::TEXT[])
    ON CONFLICT (study, id) DO UPDATE SET step = excluded.step, open = excluded.open, awaited = excluded.awaited,
    body = excluded.body";
const WRITE_DECISIONS: &str = "
    INSERT INTO answers (study, episode, step, text)
    SELECT * FROM UNNEST($1::BIGINT[], $2::TEXT[], $3::BIGINT[], $4::TEXT[])
    ON CONFLICT (study, episode, step) DO UPDATE SET text = excluded.text";
const WRITE_LEARNED: &str = "
    INSERT INTO lessons (study, place, bytes)
    SELECT * FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BYTEA[])
    ON CONFLICT (study, place) DO UPDATE SET bytes = excluded.bytes";
const WRITE_GAIN_SUMS: &str = "
    INSERT INTO cells (study, t, x, a, count, sum)
    SELECT * FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[])
    ON CONFLICT (study, t, x, a) DO UPDATE SET count = excluded.count, sum = excluded.sum";
const REMOVE_GAIN_SUMS: &str = "
    DELETE FROM cells USING UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[]) AS old (study, t, x, a)
    WHERE cells.study = old.study AND cells.t = old.t AND cells.x = old.x AND cells.a = old.a";
pub(super) const LAST_SEQ: &str = "SELECT seq FROM studies WHERE key = $1";

/// Precedes a read: shows the episodes of version 3 as those of version 4. Earlier versions have the same ones.
const VERSION_3_AS_4: &str = r#"
    WITH cases AS (SELECT study, id, step, open,
        body LIKE '%"place":null%' AND body LIKE '%"end":{"abandoned":false%' AND body NOT LIKE '%"voided":"%' AS awaited,
        body FROM cases) "#;
/// Follows it: shows the other tables of version 1 as those of version 3.
const VERSION_1_AS_3: &str = ",
    specs AS (SELECT key AS study, spec AS text FROM studies),
    restores AS (SELECT 0::BIGINT AS study, '' AS begun, '' AS begun_by, NULL::TEXT AS finished, NULL::TEXT AS finished_by,
        0::BIGINT AS seq, '' AS hash WHERE FALSE),
    checkpoints AS (SELECT 0::BIGINT AS study, 0::BIGINT AS seq, '' AS text WHERE FALSE),
    studies AS (SELECT key, name, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned,
        1::BIGINT AS rules, FALSE AS salted, '{}' AS details FROM studies) ";
/// The same for version 2.
const VERSION_2_AS_3: &str = ",
    studies AS (SELECT *, '{}' AS details FROM studies) ";

macro_rules! prepare {
    ($(#[$doc:meta])* $function:ident: $($name:ident = $sql:expr;)*) => {
        $(#[$doc])*
        async fn $function(client: &Client, before: &str) -> Result<Statements, Error> {
            let texts = [$(($sql, format!("{before}{}", $sql)),)*];
            let [$($name,)*] = &texts;
            let ($($name,)*) = tokio::try_join!($(client.prepare(&$name.1),)*)?;
            Ok(HashMap::from([$(($sql, $name),)*]))
        }
    };
}

/// Prepares the statements for tables of this version; only reads for an earlier one.
pub(super) async fn prepare(client: &Client, version: i64) -> Result<Statements, Error> {
    if version < VERSION {
        let views = match version {
            1 => VERSION_1_AS_3,
            2 => VERSION_2_AS_3,
            _ => "",
        };
        return prepare_reads(client, &format!("{VERSION_3_AS_4}{views}")).await;
    }
    let (mut reads, writes) =
        tokio::try_join!(prepare_reads(client, ""), prepare_writes(client, ""))?;
    reads.extend(writes);
    Ok(reads)
}

prepare! {
    /// Prepares what writes, in one round trip.
    prepare_writes:
    create = sql::CREATE;
    create_spec = sql::CREATE_SPEC;
    lock = PgConnection::LOCK;
    write_heads = WRITE_HEADS;
    put_restore = sql::PUT_RESTORE;
    put_checkpoint = sql::PUT_CHECKPOINT;
    discard = sql::DISCARD;
    write_events = WRITE_EVENTS;
    write_episodes = WRITE_EPISODES;
    write_decisions = WRITE_DECISIONS;
    write_learned = WRITE_LEARNED;
    write_gain_sums = WRITE_GAIN_SUMS;
    remove_gain_sums = REMOVE_GAIN_SUMS;
    last_seq = LAST_SEQ;
    find_tokens = tokens::FIND;
    all_tokens = tokens::ALL;
    write_token = tokens::WRITE;
    lock_tokens = tokens::LOCK;
    session = sql::SESSION;
    put_session = sql::PUT_SESSION;
    remove_session = sql::REMOVE_SESSION;
    remove_expired = sql::REMOVE_EXPIRED;
    remove_oldest = sql::REMOVE_OLDEST;
}

prepare! {
    /// Prepares what reads, in one round trip.
    prepare_reads:
    head = sql::HEAD;
    heads = sql::HEADS;
    uncovered = sql::UNCOVERED;
    spec = sql::SPEC;
    restore = sql::RESTORE;
    checkpoint = sql::CHECKPOINT;
    episodes = EPISODES;
    episodes_after = sql::EPISODES_AFTER;
    open_episodes = OPEN_EPISODES_AFTER;
    awaited_episodes = AWAITED_EPISODES_AFTER;
    decision = sql::DECISION;
    current_decision = PgConnection::CURRENT_DECISION;
    decisions = sql::DECISIONS;
    decisions_after = sql::DECISIONS_AFTER;
    events = sql::EVENTS;
    events_at = PgConnection::EVENTS_AT;
    learned = sql::LEARNED;
    gain_sums = sql::GAIN_SUMS;
}

/// The prepared statements of a connection, by their SQL.
pub(super) type Statements = HashMap<&'static str, Statement>;

/// The arrays of a write, in the order of the columns; the study comes first.
pub(super) struct Columns<'a> {
    heads: HeadColumns<'a>,
    events: (Vec<i64>, Vec<i64>, Vec<&'a str>, Vec<&'a str>),
    episodes: EpisodeColumns<'a>,
    decisions: (Vec<i64>, Vec<&'a str>, Vec<i64>, Vec<&'a str>),
    learned_episodes: (Vec<i64>, Vec<i64>, Vec<&'a [u8]>),
    gain_sums: [Vec<i64>; 6],
    removed_gain_sums: [Vec<i64>; 4],
}

type EpisodeColumns<'a> = (
    Vec<i64>,
    Vec<&'a str>,
    Vec<i64>,
    Vec<bool>,
    Vec<bool>,
    Vec<String>,
);

struct HeadColumns<'a> {
    keys: Vec<i64>,
    /// Sequence number, episodes, open, learned, missing, relearned.
    counts: [Vec<i64>; 6],
    hashes: Vec<&'a str>,
    closed: Vec<bool>,
    salted: Vec<bool>,
    details: Vec<String>,
}

/// Converts every row of every study, and collects the values by column.
fn try_unzip<'a, R: 'a, V, C: FromIterator<V>>(
    studies: &[(&'a Head, &'a Changes)],
    rows: impl Fn(&'a Changes) -> &'a [R],
    values: impl Fn(i64, &'a R) -> Result<V>,
) -> Result<C> {
    let all = studies.iter();
    let all = all.flat_map(|(head, changes)| rows(changes).iter().map(|row| (head.key, row)));
    all.map(|(study, row)| values(study, row)).collect()
}

/// Collects rows of integers by column.
fn by_column<const N: usize>(rows: Vec<[i64; N]>) -> [Vec<i64>; N] {
    std::array::from_fn(|column| rows.iter().map(|row| row[column]).collect())
}

impl<'a> Columns<'a> {
    /// Converts the changes; fails if a number is out of range.
    pub(super) fn of(studies: &[(&'a Head, &'a Changes)]) -> Result<Columns<'a>> {
        let event = |study: i64, event: &'a Record| {
            let seq = integer(event.seq, "the sequence number")?;
            Ok((study, seq, event.text.as_str(), event.hash.as_str()))
        };
        let episode = |study: i64, episode: &'a EpisodeRecord| {
            let (step, open, awaited, body) = episode_columns(episode)?;
            Ok((study, episode.id.as_str(), step, open, awaited, body))
        };
        let decision = |study: i64, decision: &'a StoredDecision| {
            let step = i64::from(decision.step);
            Ok((study, &*decision.episode, step, &*decision.text))
        };
        let learned = |study: i64, learned: &'a LearnedEpisode| {
            let position = integer(learned.position, "the position")?;
            Ok((study, position, learned.bytes.as_slice()))
        };
        let gains = |study: i64, gains: &'a GainSum| {
            let count = integer(gains.count, "the count")?;
            let sum = gains.sum.to_bits().cast_signed();
            let [t, x, a] = [gains.t, gains.x, gains.a].map(i64::from);
            Ok([study, t, x, a, count, sum])
        };
        let heads = || studies.iter().map(|(head, _)| *head);
        let counts: Result<Vec<[i64; 6]>> = heads().map(counters).collect();
        let gains: Vec<_> = try_unzip(studies, |it| &it.gain_sums, gains)?;
        let removed = |study: i64, (t, x, a): &TripletKey| {
            Ok([study, i64::from(*t), i64::from(*x), i64::from(*a)])
        };
        let removed: Vec<_> = try_unzip(studies, |it| &it.removed_gain_sums, removed)?;
        Ok(Columns {
            heads: HeadColumns {
                keys: heads().map(|head| head.key).collect(),
                counts: by_column(counts?),
                hashes: heads().map(|head| &*head.hash).collect(),
                closed: heads().map(|head| head.closed).collect(),
                salted: heads().map(|head| head.salted).collect(),
                details: heads().map(details).collect::<Result<_>>()?,
            },
            events: try_unzip(studies, |it| &it.events, event)?,
            episodes: try_unzip(studies, |it| &it.episodes, episode)?,
            decisions: try_unzip(studies, |it| &it.decisions, decision)?,
            learned_episodes: try_unzip(studies, |it| &it.learned_episodes, learned)?,
            gain_sums: by_column(gains),
            removed_gain_sums: by_column(removed),
        })
    }

    /// Sends all statements in one round trip, one for each table; returns the number of updated studies.
    ///
    /// Events go first: if the lock was lost, they collide with those of the other writer.
    /// With `commit` the transaction is committed in the same round trip, or rolled back if one failed.
    pub(super) async fn send(&self, tools: &Tools, commit: bool) -> Result<u64, Error> {
        let put = async |rows: usize, sql: &str, params: &[&(dyn ToSql + Sync)]| match rows {
            0 => Ok(0),
            _ => tools.client.execute(&tools.statements[sql], params).await,
        };
        let events = async {
            let (study, seq, text, hash) = &self.events;
            put(seq.len(), WRITE_EVENTS, &[study, seq, text, hash]).await
        };
        let episodes = async {
            let (study, id, step, open, awaited, body) = &self.episodes;
            let values: &[&(dyn ToSql + Sync)] = &[study, id, step, open, awaited, body];
            put(id.len(), WRITE_EPISODES, values).await
        };
        let decisions = async {
            let (study, episode, step, text) = &self.decisions;
            put(step.len(), WRITE_DECISIONS, &[study, episode, step, text]).await
        };
        let learned_episodes = async {
            let (study, position, bytes) = &self.learned_episodes;
            put(position.len(), WRITE_LEARNED, &[study, position, bytes]).await
        };
        let gain_sums = async {
            let [study, t, x, a, count, sum] = &self.gain_sums;
            put(t.len(), WRITE_GAIN_SUMS, &[study, t, x, a, count, sum]).await
        };
        let removed_gain_sums = async {
            let [study, t, x, a] = &self.removed_gain_sums;
            put(t.len(), REMOVE_GAIN_SUMS, &[study, t, x, a]).await
        };
        let heads = async {
            let HeadColumns {
                keys,
                counts: [seq, episodes, open, learned, missing, relearned],
                hashes,
                closed,
                salted,
                details,
            } = &self.heads;
            let values: &[&(dyn ToSql + Sync)] = &[
                keys, seq, hashes, closed, episodes, open, learned, missing, relearned, salted,
                details,
            ];
            put(keys.len(), WRITE_HEADS, values).await
        };
        let commit = async {
            match commit {
                true => tools.client.batch_execute("COMMIT").await,
                false => Ok(()),
            }
        };
        // They are sent in this order, and the error is that of the first one to fail. All answers are awaited: a commit that was
        // sent has been executed when this returns.
        let sent = tokio::join!(biased; events, episodes, decisions, learned_episodes, gain_sums, removed_gain_sums, heads, commit);
        sent.0
            .and(sent.1)
            .and(sent.2)
            .and(sent.3)
            .and(sent.4)
            .and(sent.5)?;
        let updated = sent.6?;
        sent.7?;
        Ok(updated)
    }
}

impl Row for tokio_postgres::Row {
    fn get<T: Value>(&self, column: usize) -> Result<T> {
        self.try_get(column)
            .map_err(|error| StoreError::Damaged(describe(&error)))
    }

    fn boolean(&self, column: usize) -> Result<bool> {
        Row::get(self, column)
    }

    fn name(&self, column: usize) -> &str {
        self.columns().get(column).map_or("?", |it| it.name())
    }
}
