//! SQL statements, and the mapping of rows. All rows of a kind are written by one statement, with one array per column.

use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Error, Row, Statement};

use super::super::exact;
use super::super::{Changes, GainSum, Head, LearnedEpisode, StoreError, StoredDecision};
use super::super::{counters, integer};
use super::error::describe;
use super::session::Tools;
use crate::domain::episode::EpisodeRecord;
use crate::domain::event::Record;

macro_rules! statements {
    ($($name:ident: $sql:expr;)*) => {
        /// The statements of a connection.
        pub(super) struct Statements {
            $(pub(super) $name: Statement,)*
        }

        impl Statements {
            /// Prepares all, in one round trip.
            pub(super) async fn prepare(client: &Client) -> Result<Statements, Error> {
                let ($($name,)*) = tokio::try_join!($(client.prepare($sql),)*)?;
                Ok(Statements { $($name,)* })
            }
        }
    };
}

macro_rules! heads {
    ($rest:literal) => {
        concat!(
            "SELECT key, name, spec, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned \
             FROM studies ",
            $rest
        )
    };
}

statements! {
    create: "INSERT INTO studies (name, spec, spec_hash, seq, hash, closed, episodes, open, learned, missing, relearned) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (name) DO NOTHING RETURNING key";
    lock: heads!("WHERE name = $1 FOR UPDATE");
    head: heads!("WHERE name = $1");
    heads: heads!("WHERE name > $1 ORDER BY name LIMIT $2");

    write_head: "UPDATE studies SET seq = $2, hash = $3, closed = $4, episodes = $5, open = $6, learned = $7, \
                 missing = $8, relearned = $9 WHERE key = $1";
    write_events: "INSERT INTO events (study, seq, text, hash) \
                   SELECT $1::BIGINT, * FROM UNNEST($2::BIGINT[], $3::TEXT[], $4::TEXT[])";
    write_episodes: "INSERT INTO cases (study, id, step, open, body) \
                  SELECT $1::BIGINT, * FROM UNNEST($2::TEXT[], $3::BIGINT[], $4::BOOLEAN[], $5::TEXT[]) \
                  ON CONFLICT (study, id) DO UPDATE SET step = excluded.step, open = excluded.open, body = excluded.body";
    write_decisions: "INSERT INTO answers (study, episode, step, text) \
                    SELECT $1::BIGINT, * FROM UNNEST($2::TEXT[], $3::BIGINT[], $4::TEXT[])";
    write_learned: "INSERT INTO lessons (study, place, bytes) \
                    SELECT $1::BIGINT, * FROM UNNEST($2::BIGINT[], $3::BYTEA[]) \
                    ON CONFLICT (study, place) DO UPDATE SET bytes = excluded.bytes";
    write_gain_sums: "INSERT INTO cells (study, t, x, a, count, sum) \
                  SELECT $1::BIGINT, * FROM UNNEST($2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[]) \
                  ON CONFLICT (study, t, x, a) DO UPDATE SET count = excluded.count, sum = excluded.sum";

    episodes: "SELECT id, body, step, open FROM cases WHERE study = $1 AND id = ANY($2)";
    episodes_after: "SELECT id, body, step, open FROM cases WHERE study = $1 AND id > $2 ORDER BY id LIMIT $3";
    open_episodes: "SELECT id, body, step, open FROM cases WHERE study = $1 AND id > $2 AND open ORDER BY id LIMIT $3";
    decision: "SELECT episode, step, text FROM answers WHERE study = $1 AND episode = $2 AND step = $3";
    current_decision: "SELECT answers.episode, answers.step, answers.text FROM cases JOIN answers \
                 ON answers.study = cases.study AND answers.episode = cases.id AND answers.step = cases.step \
                 WHERE cases.study = $1 AND cases.id = $2";
    decisions: "SELECT episode, step, text FROM answers WHERE study = $1 AND episode = $2 ORDER BY step";
    decisions_after: "SELECT episode, step, text FROM answers WHERE study = $1 AND (episode, step) > ($2, $3) \
                    ORDER BY episode, step LIMIT $4";
    events: "SELECT seq, text, hash FROM events WHERE study = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    learned_episodes: "SELECT place, bytes FROM lessons WHERE study = $1 AND place >= $2 ORDER BY place LIMIT $3";
    gain_sums: "SELECT t, x, a, count, sum FROM cells WHERE study = $1 AND (t, x, a) > ($2, $3, $4) \
            ORDER BY t, x, a LIMIT $5";
    last_seq: "SELECT seq FROM studies WHERE key = $1";
}

/// The arrays of a write, in the order of the columns.
pub(super) struct Columns<'a> {
    head: &'a Head,
    counts: [i64; 6],
    events: (Vec<i64>, Vec<&'a str>, Vec<&'a str>),
    episodes: (Vec<&'a str>, Vec<i64>, Vec<bool>, Vec<String>),
    decisions: (Vec<&'a str>, Vec<i64>, Vec<&'a str>),
    learned_episodes: (Vec<i64>, Vec<&'a [u8]>),
    gain_sums: GainSumColumns,
}

type GainSumColumns = (Vec<i64>, Vec<i64>, Vec<i64>, Vec<i64>, Vec<i64>);

/// Converts every row, and collects the values by column.
fn try_unzip<'a, R, V, C: FromIterator<V>>(
    rows: &'a [R],
    values: impl Fn(&'a R) -> Result<V, StoreError>,
) -> Result<C, StoreError> {
    rows.iter().map(values).collect()
}

impl<'a> Columns<'a> {
    /// Converts the changes; fails if a number is out of range.
    pub(super) fn of(head: &'a Head, changes: &'a Changes) -> Result<Columns<'a>, StoreError> {
        let event = |event: &'a Record| {
            let seq = integer(event.seq, "the sequence number")?;
            Ok((seq, event.text.as_str(), event.hash.as_str()))
        };
        let episode = |episode: &'a EpisodeRecord| {
            let body = serde_json::to_string(episode).map_err(|error| {
                StoreError::Damaged(format!("episode `{}`: {error}", episode.id))
            })?;
            let step = integer(episode.step() as u64, "the step")?;
            Ok((episode.id.as_str(), step, episode.end.is_none(), body))
        };
        let decision = |decision: &'a StoredDecision| {
            let step = i64::from(decision.step);
            (decision.episode.as_str(), step, decision.text.as_str())
        };
        let learned = |learned: &'a LearnedEpisode| {
            let position = integer(learned.position, "the position")?;
            Ok((position, learned.bytes.as_slice()))
        };
        let gains = |gains: &GainSum| {
            let count = integer(gains.count, "the count")?;
            let sum = gains.sum.to_bits().cast_signed();
            let [t, x, a] = [gains.t, gains.x, gains.a].map(i64::from);
            Ok((t, x, a, count, sum))
        };
        Ok(Columns {
            head,
            counts: counters(head)?,
            events: try_unzip(&changes.events, event)?,
            episodes: try_unzip(&changes.episodes, episode)?,
            decisions: changes.decisions.iter().map(decision).collect(),
            learned_episodes: try_unzip(&changes.learned_episodes, learned)?,
            gain_sums: try_unzip(&changes.gain_sums, gains)?,
        })
    }

    /// Sends all statements in one round trip; returns the number of updated studies.
    ///
    /// Events go first: if the lock was lost, they collide with those of the other writer.
    pub(super) async fn send(&self, tools: &Tools) -> Result<u64, Error> {
        let Statements {
            write_head,
            write_events,
            write_episodes,
            write_decisions,
            write_learned,
            write_gain_sums,
            ..
        } = &tools.statements;
        let Head {
            key, hash, closed, ..
        } = self.head;
        let put = async |rows: usize, statement: &Statement, params: Params<'_>| match rows {
            0 => Ok(0),
            _ => tools.client.execute(statement, params).await,
        };
        let events = async {
            let (seq, text, hash) = &self.events;
            put(seq.len(), write_events, &[key, seq, text, hash]).await
        };
        let episodes = async {
            let (id, step, open, body) = &self.episodes;
            put(id.len(), write_episodes, &[key, id, step, open, body]).await
        };
        let decisions = async {
            let (episode, step, text) = &self.decisions;
            put(step.len(), write_decisions, &[key, episode, step, text]).await
        };
        let learned_episodes = async {
            let (position, bytes) = &self.learned_episodes;
            put(position.len(), write_learned, &[key, position, bytes]).await
        };
        let gain_sums = async {
            let (t, x, a, count, sum) = &self.gain_sums;
            put(t.len(), write_gain_sums, &[key, t, x, a, count, sum]).await
        };
        let head = async {
            let [seq, episodes, open, learned, missing, relearned] = &self.counts;
            let values: Params<'_> = &[
                key, seq, hash, closed, episodes, open, learned, missing, relearned,
            ];
            put(1, write_head, values).await
        };
        // They are sent in this order, and the error is that of the first one to fail.
        let sent = tokio::try_join!(biased; events, episodes, decisions, learned_episodes, gain_sums, head)?;
        Ok(sent.5)
    }
}

/// The values of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A column of the expected type; otherwise the store is damaged.
fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, StoreError> {
    row.try_get(column)
        .map_err(|error| StoreError::Damaged(describe(&error)))
}

/// A non-negative integer that fits its type.
fn count<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, StoreError> {
    let found: i64 = value(row, column)?;
    T::try_from(found).map_err(|_| {
        let name = row.columns().get(column).map_or("?", |it| it.name());
        StoreError::Damaged(format!("`{name}` is {found}"))
    })
}

/// A type that is read from a row.
pub(super) trait Stored: Sized {
    fn read(row: &Row) -> Result<Self, StoreError>;
}

impl Stored for i64 {
    fn read(row: &Row) -> Result<i64, StoreError> {
        value(row, 0)
    }
}

impl Stored for Head {
    fn read(row: &Row) -> Result<Head, StoreError> {
        Ok(Head {
            key: value(row, 0)?,
            name: value(row, 1)?,
            spec: value(row, 2)?,
            spec_hash: value(row, 3)?,
            seq: count(row, 4)?,
            hash: value(row, 5)?,
            closed: value(row, 6)?,
            episodes: count(row, 7)?,
            open: count(row, 8)?,
            learned: count(row, 9)?,
            missing: count(row, 10)?,
            relearned: count(row, 11)?,
        })
    }
}

fn episode_row(row: &Row) -> Result<exact::Row<'_>, StoreError> {
    Ok(exact::Row {
        id: value(row, 0)?,
        body: value(row, 1)?,
        step: value(row, 2)?,
        open: value(row, 3)?,
    })
}

impl Stored for EpisodeRecord {
    fn read(row: &Row) -> Result<EpisodeRecord, StoreError> {
        episode_row(row)?.read().map_err(StoreError::Damaged)
    }
}

/// An episode whose every byte is as the service writes it.
pub(super) struct Exact(pub(super) EpisodeRecord);

impl Stored for Exact {
    fn read(row: &Row) -> Result<Exact, StoreError> {
        let episode = episode_row(row)?.read_exactly();
        episode.map(Exact).map_err(StoreError::Damaged)
    }
}

impl Stored for StoredDecision {
    fn read(row: &Row) -> Result<StoredDecision, StoreError> {
        Ok(StoredDecision {
            episode: value(row, 0)?,
            step: count(row, 1)?,
            text: value(row, 2)?,
        })
    }
}

impl Stored for Record {
    fn read(row: &Row) -> Result<Record, StoreError> {
        Ok(Record {
            seq: count(row, 0)?,
            text: value(row, 1)?,
            hash: value(row, 2)?,
        })
    }
}

impl Stored for LearnedEpisode {
    fn read(row: &Row) -> Result<LearnedEpisode, StoreError> {
        Ok(LearnedEpisode {
            position: count(row, 0)?,
            bytes: value(row, 1)?,
        })
    }
}

impl Stored for GainSum {
    fn read(row: &Row) -> Result<GainSum, StoreError> {
        Ok(GainSum {
            t: count(row, 0)?,
            x: count(row, 1)?,
            a: count(row, 2)?,
            count: count(row, 3)?,
            sum: f64::from_bits(value::<i64>(row, 4)?.cast_unsigned()),
        })
    }
}
