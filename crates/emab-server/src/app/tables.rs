//! Reads the tables of a study from one snapshot of the store, and writes them as CSV, Parquet or JSON rows.
//!
//! The rows are read in parts and written as they are read: a table is never in memory. The columns are in [`crate::domain::tables`].

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use emab_tables::{TableError, TableWriter};
use serde::Deserialize;
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

use crate::app::{CommandError, Service, ServiceError, Specs, head, load_state};
use crate::domain::estimates::Estimates;
use crate::domain::tables::{self, Column, DecisionRow, EpisodeRow};
use crate::domain::{EpisodeRecord, Head, Rejection, StoredDecision, Study};
use crate::store::{Store, StoreError, Which};

pub use crate::domain::tables::Table;
pub use emab_tables::Format;

/// The number of episodes in one read.
const EPISODES: usize = 100;
/// The number of decisions in one read.
const DECISIONS: usize = 1_000;
/// The number of bytes that are sent at once.
const CHUNK: usize = 64 << 10;
/// A snapshot keeps the store from reusing space: a client that reads no faster loses its table.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Why a table cannot be written.
#[derive(Debug, Error)]
pub enum ExportError {
    /// There is no such study, or it is not as it was written.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The output failed.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        TableError::from(error).into()
    }
}

impl From<CommandError> for ExportError {
    fn from(error: CommandError) -> ExportError {
        match error {
            CommandError::Rejected(rejection) => rejection.into(),
            CommandError::Store(error) => error.into(),
            CommandError::Deferred => Rejection::internal("the read failed").into(),
        }
    }
}

/// Which rows of a table are written, and for which caller.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Only episodes after this name.
    pub after: String,
    /// At most this many rows; the decisions end with the episode that reaches it.
    pub limit: Option<usize>,
    /// Only open episodes.
    pub open: bool,
    /// Without what a `blinded` token does not see.
    pub blinded: bool,
}

/// The episodes of a study with their decisions, in the order of names, in parts.
pub struct EpisodeReader<'a> {
    store: &'a mut dyn Store,
    study: Arc<Study>,
    key: i64,
    rows: Rows,
    /// Episodes that are read and not returned yet.
    episodes: VecDeque<EpisodeRecord>,
    /// Decisions that are read and belong to later episodes.
    decisions: VecDeque<StoredDecision>,
    last_decision: (String, u32),
}

impl<'a> EpisodeReader<'a> {
    pub fn new(
        store: &'a mut dyn Store,
        study: Arc<Study>,
        key: i64,
        rows: Rows,
    ) -> EpisodeReader<'a> {
        EpisodeReader {
            store,
            study,
            key,
            episodes: VecDeque::new(),
            decisions: VecDeque::new(),
            last_decision: (rows.after.clone(), u32::MAX),
            rows,
        }
    }

    /// The next episodes of the store, at most this many; none at the end.
    fn records(&mut self, most: usize) -> Result<Vec<EpisodeRecord>, StoreError> {
        let which = Which::open_or_all(self.rows.open);
        let episodes = self
            .store
            .episodes_after(self.key, &self.rows.after, which, most)?;
        if let Some(last) = episodes.last() {
            self.rows.after.clone_from(&last.id);
        }
        Ok(episodes)
    }

    /// The next episodes, at most this many; none at the end.
    fn episodes(&mut self, most: usize) -> Result<Vec<EpisodeRow>, StoreError> {
        let episodes = self.records(most)?;
        let seqs = episodes.iter().flat_map(|it| [it.opened, it.touched]);
        let times = self.times(seqs)?;
        let rows = episodes.into_iter().map(|episode| EpisodeRow {
            study: self.study.clone(),
            times: [episode.opened, episode.touched].map(|seq| times.get(&seq).cloned()),
            episode,
        });
        Ok(rows.collect())
    }

    /// The steps of the next episodes: of as many as have this many steps together; none at the end.
    pub fn steps(&mut self, least: usize) -> Result<Vec<DecisionRow>, StoreError> {
        let mut rows = Vec::new();
        while rows.len() < least {
            if self.episodes.is_empty() {
                let more = self.records(EPISODES)?;
                self.episodes.extend(more);
            }
            let Some(episode) = self.episodes.pop_front() else {
                break;
            };
            let mut decisions = self.decisions_of(&episode.id)?.into_iter().peekable();
            let episode = Arc::new(episode);
            for step in 1..=episode.step() {
                let damaged = |error: serde_json::Error| {
                    let id = &episode.id;
                    StoreError::Damaged(format!("decision {step} of episode `{id}`: {error}"))
                };
                let decision = decisions.next_if(|it| it.step as usize == step);
                let decision = decision.map(|it| serde_json::from_str(&it.text));
                rows.push(DecisionRow {
                    study: self.study.clone(),
                    episode: episode.clone(),
                    step,
                    decision: decision.transpose().map_err(damaged)?,
                    at: None,
                });
            }
        }
        let times = self.times(rows.iter().filter_map(DecisionRow::event))?;
        for row in &mut rows {
            row.at = row.event().and_then(|seq| times.get(&seq).cloned());
        }
        Ok(rows)
    }

    /// The decisions of the next episode, which has this name. Those of episodes that are left out are skipped.
    fn decisions_of(&mut self, episode: &str) -> Result<Vec<StoredDecision>, StoreError> {
        let mut found = Vec::new();
        loop {
            while let Some(next) = self.decisions.front() {
                match next.episode.as_str().cmp(episode) {
                    std::cmp::Ordering::Less => drop(self.decisions.pop_front()),
                    std::cmp::Ordering::Equal => found.extend(self.decisions.pop_front()),
                    std::cmp::Ordering::Greater => return Ok(found),
                }
            }
            let (name, step) = &self.last_decision;
            let after = Some((name.as_str(), *step)).filter(|(name, _)| !name.is_empty());
            let page = self.store.decisions_after(self.key, after, DECISIONS)?;
            let Some(last) = page.last() else {
                return Ok(found);
            };
            self.last_decision = (last.episode.clone(), last.step);
            self.decisions.extend(page);
        }
    }

    /// The times of events, by sequence number.
    fn times(
        &mut self,
        seqs: impl Iterator<Item = u64>,
    ) -> Result<HashMap<u64, String>, StoreError> {
        #[derive(Deserialize)]
        struct Time {
            at: String,
        }
        let mut seqs: Vec<u64> = seqs.collect();
        seqs.sort_unstable();
        seqs.dedup();
        let mut times = HashMap::new();
        for seqs in seqs.chunks(DECISIONS) {
            for event in self.store.events_at(self.key, seqs)? {
                let time: Time = serde_json::from_str(&event.text).map_err(|error| {
                    StoreError::Damaged(format!("event {}: {error}", event.seq))
                })?;
                times.insert(event.seq, time.at);
            }
        }
        Ok(times)
    }
}

fn writer<R, W: Write + Send>(
    columns: &[Column<R>],
    format: Format,
    out: W,
) -> Result<TableWriter<W>, TableError> {
    Ok(TableWriter::new(format, &tables::header(columns), out)?.without_formulas())
}

/// Writes rows that are in memory.
fn write_rows<R, W: Write + Send>(
    columns: &[Column<R>],
    rows: &[R],
    format: Format,
    out: W,
) -> Result<(W, u64), TableError> {
    let mut table = writer(columns, format, out)?;
    for row in rows {
        table.row(tables::cells(columns, row, false))?;
    }
    let count = table.rows();
    Ok((table.finish()?, count))
}

/// The codebook as a file.
pub fn codebook(format: Format) -> Result<Vec<u8>, TableError> {
    let rows = tables::codebook();
    Ok(write_rows(tables::CODEBOOK, &rows, format, Vec::new())?.0)
}

/// The estimates as a file.
pub fn estimates(estimates: &Estimates, format: Format) -> Result<Vec<u8>, TableError> {
    let rows = &estimates.estimates;
    Ok(write_rows(tables::ESTIMATES, rows, format, Vec::new())?.0)
}

/// Writes a table of a study at its head; returns the output and the number of rows. Inside a snapshot.
pub fn write<W: Write + Send>(
    store: &mut dyn Store,
    head: &Head,
    table: Table,
    format: Format,
    out: W,
) -> Result<(W, u64), ExportError> {
    let specs = Specs::default();
    match table {
        Table::Codebook => Ok(write_rows(
            tables::CODEBOOK,
            &tables::codebook(),
            format,
            out,
        )?),
        Table::Estimates => {
            let mut state = load_state(None, head.clone(), store, &specs)?;
            let rows = Estimates::of(&mut state).estimates;
            Ok(write_rows(tables::ESTIMATES, &rows, format, out)?)
        }
        Table::Episodes | Table::Decisions => {
            let study = specs.study(store, head)?;
            let reader = EpisodeReader::new(store, study, head.key, Rows::default());
            write_episodes(reader, table == Table::Decisions, format, out)
        }
    }
}

/// Writes the table of episodes, or of their decisions.
fn write_episodes<W: Write + Send>(
    mut reader: EpisodeReader<'_>,
    decisions: bool,
    format: Format,
    out: W,
) -> Result<(W, u64), ExportError> {
    let blinded = reader.rows.blinded;
    let mut table = match decisions {
        true => writer(tables::DECISIONS, format, out)?,
        false => writer(tables::EPISODES, format, out)?,
    };
    loop {
        let before = table.rows();
        let left = reader
            .rows
            .limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(before as usize));
        if left == 0 {
            // No row more.
        } else if decisions {
            for row in reader.steps(left.min(DECISIONS))? {
                table.row(tables::cells(tables::DECISIONS, &row, blinded))?;
            }
        } else {
            for row in reader.episodes(left.min(EPISODES))? {
                table.row(tables::cells(tables::EPISODES, &row, blinded))?;
            }
        }
        if table.rows() == before {
            return Ok((table.finish()?, before));
        }
        // Otherwise a commit may wait for a time slice.
        std::thread::yield_now();
    }
}

/// A stream of a table.
pub type TableStream = ReceiverStream<io::Result<Bytes>>;

impl Service {
    /// Streams the table of episodes, or of their decisions, as of the head that it returns. The stream ends with an error if the
    /// store fails, or the client reads too slowly.
    pub async fn episode_table(
        self: &Arc<Self>,
        study: &str,
        decisions: bool,
        format: Format,
        rows: Rows,
    ) -> Result<(Head, TableStream), ServiceError> {
        let (begun, head_of_table) = oneshot::channel();
        let (sender, receiver) = mpsc::channel(4);
        let (name, service) = (study.to_owned(), self.clone());
        let out = ChannelWriter {
            sender: sender.clone(),
            runtime: Handle::current(),
            end: Instant::now() + LONGEST,
            buffer: Vec::with_capacity(CHUNK),
        };
        let read = self
            .read_table(move |store| {
                let head = head(store, &name)?;
                let study = service.study(store, &head)?;
                let key = head.key;
                if begun.send(head).is_err() {
                    return Ok(());
                }
                let reader = EpisodeReader::new(store, study, key, rows);
                let sent = write_episodes(reader, decisions, format, out)
                    .and_then(|(mut out, _)| Ok(out.send()?));
                sent.map_err(|error| match error {
                    ExportError::Rejected(rejection) => rejection.into(),
                    ExportError::Store(error) => error.into(),
                    ExportError::Table(error) => Rejection::internal(error.to_string()).into(),
                })
            })
            .await?;
        let reading = tokio::spawn(async move {
            let result: Result<(), ServiceError> = read.await;
            if let Err(error) = &result {
                let _ = sender.send(Err(io::Error::other(error.to_string()))).await;
            }
            result
        });
        match head_of_table.await {
            Ok(head) => Ok((head, ReceiverStream::new(receiver))),
            Err(_) => match reading.await {
                Ok(Err(error)) => Err(error),
                _ => Err(Rejection::internal("the table could not be read").into()),
            },
        }
    }
}

/// Sends what is written, in parts, and waits while the client reads.
struct ChannelWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    runtime: Handle,
    end: Instant,
    buffer: Vec<u8>,
}

impl ChannelWriter {
    fn send(&mut self) -> io::Result<()> {
        let chunk = Bytes::from(std::mem::replace(
            &mut self.buffer,
            Vec::with_capacity(CHUNK),
        ));
        let sending = tokio::time::timeout_at(self.end, self.sender.send(Ok(chunk)));
        match self.runtime.block_on(sending) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::other("the client has disconnected")),
            Err(_) => Err(io::Error::other("the client reads too slowly")),
        }
    }
}

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK {
            self.send()?;
        }
        Ok(bytes.len())
    }

    /// Writers flush often; what is left is sent at the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
