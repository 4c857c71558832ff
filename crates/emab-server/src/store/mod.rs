//! Where a study is kept: the log, and the projections that are written with it in one transaction.
//!
//! The trait is blocking: one thread writes, in groups, and a few read. Each has a connection, that is a [`Store`], of
//! its own.

pub mod conformance;
mod exact;
pub mod postgres;
pub mod sqlite;

use thiserror::Error;

use crate::domain::episode::EpisodeRecord;
use crate::domain::event::{GENESIS, Record, sha256};

/// Why the store could not do it.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It cannot be reached, or does not answer; later it may.
    #[error("the store cannot be reached: {0}")]
    Gone(String),
    /// It has no room; reading goes on.
    #[error("the store is full: {0}")]
    Full(String),
    /// Somebody else's transaction was in the way; the same again may succeed at once.
    #[error("the transaction has to be tried again: {0}")]
    Again(String),
    /// What is stored is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

/// One study as it stands: the row that its writers lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The store's own number of it; 0 before it is created.
    pub key: i64,
    /// Its name.
    pub name: String,
    /// What it was created from, as canonical JSON.
    pub spec: String,
    /// SHA-256 of that, in hexadecimal.
    pub spec_hash: String,
    /// The sequence number of its last event.
    pub seq: u64,
    /// The hash of its last event, in hexadecimal.
    pub hash: String,
    /// Whether it takes no new episodes.
    pub closed: bool,
    /// How many episodes were opened or imported.
    pub episodes: u64,
    /// How many of them are open.
    pub open: u64,
    /// How many were learned from: the next one's place.
    pub learned: u64,
    /// How many ended with an outcome that is missing for good, in whole or in part.
    pub missing: u64,
    /// The sequence number of the last event that changed what had been learned; 0 if none did.
    pub relearned: u64,
}

impl Head {
    /// A study before its first event.
    pub fn new(name: &str, spec: &str) -> Head {
        Head {
            key: 0,
            name: name.into(),
            spec_hash: sha256(spec.as_bytes()),
            spec: spec.into(),
            seq: 0,
            hash: GENESIS.into(),
            closed: false,
            episodes: 0,
            open: 0,
            learned: 0,
            missing: 0,
            relearned: 0,
        }
    }
}

/// What is counted of one action in one step and state: the sufficient statistics of its gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Step, from 1.
    pub t: u32,
    /// State.
    pub x: u32,
    /// Action; the number of continuation actions stands for `stop`.
    pub a: u32,
    /// How often its gain was observed.
    pub count: u64,
    /// The sum of what was observed, added up in the order of learning. Stored with all its bits.
    pub sum: f64,
}

/// A decision as it was answered, byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The episode.
    pub episode: String,
    /// The step.
    pub step: u32,
    /// JSON.
    pub text: String,
}

/// An episode as it was learned.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedEpisode {
    /// Its place in the order of learning, from 0.
    pub place: u64,
    /// The episode, packed by [`crate::domain::learned_episode`].
    pub bytes: Vec<u8>,
}

/// What a group of requests changes in one study.
#[derive(Debug, Default)]
pub struct Changes {
    /// New events, in order.
    pub events: Vec<Record>,
    /// Episodes as they now are, each once.
    pub cases: Vec<EpisodeRecord>,
    /// New decisions.
    pub answers: Vec<Answer>,
    /// Episodes learned, or learned again with other values: a place that is there is replaced.
    pub lessons: Vec<LearnedEpisode>,
    /// Counts and sums as they now are, each once.
    pub cells: Vec<Cell>,
}

/// A connection to a store.
///
/// Reads outside of a transaction see what is committed. After any error inside of one the caller calls
/// [`Store::rollback`].
pub trait Store: Send {
    /// Begins the transaction of a group.
    fn begin(&mut self) -> Result<(), StoreError>;
    /// Ends it: when this returns, what was written is on disk and stays there.
    fn commit(&mut self) -> Result<(), StoreError>;
    /// Takes everything back since [`Store::begin`]; also after an error, and harmless where nothing was begun.
    fn rollback(&mut self);
    /// Holds still: until [`Store::rollback`] reads see what is committed now, whatever is written meanwhile. For a
    /// connection that reads.
    fn hold(&mut self) -> Result<(), StoreError>;

    /// Adds a study and returns its key; none if the name is taken. Inside a transaction.
    fn create(&mut self, head: &Head) -> Result<Option<i64>, StoreError>;
    /// The study, held against other writers until the transaction ends.
    fn lock(&mut self, name: &str) -> Result<Option<Head>, StoreError>;
    /// Writes what changed in a study and its head. Inside a transaction, any number of times.
    fn write(&mut self, head: &Head, changes: &Changes) -> Result<(), StoreError>;

    /// The study's key, which it keeps for ever: all that most reading needs to know of it.
    fn key(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        Ok(self.head(name)?.map(|head| head.key))
    }
    /// The study.
    fn head(&mut self, name: &str) -> Result<Option<Head>, StoreError>;
    /// Studies by name, those after a name.
    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError>;
    /// The episodes with these names that there are, in any order.
    fn cases(&mut self, study: i64, episodes: &[&str]) -> Result<Vec<EpisodeRecord>, StoreError>;
    /// Episodes by name, those after a name; only open ones if so asked.
    fn cases_after(
        &mut self,
        study: i64,
        after: &str,
        open: bool,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>, StoreError>;
    /// The decision of a step, or that of the step where the episode now is.
    fn answer(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<Answer>, StoreError>;
    /// All decisions of an episode, by step.
    fn answers(&mut self, study: i64, episode: &str) -> Result<Vec<Answer>, StoreError>;
    /// Decisions of all episodes in the order of (episode, step), those after one.
    fn answers_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<Answer>, StoreError>;
    /// Events after a sequence number, in order.
    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>, StoreError>;
    /// Learned episodes from a place on, in order.
    fn lessons(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>, StoreError>;
    /// Counts and sums in the order of (t, x, a), those after a triple.
    fn cells(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<Cell>, StoreError>;
}

/// What connections come from.
pub trait Backend: Send + Sync {
    /// The connection of the one who writes.
    fn writer(&self) -> Result<Box<dyn Store>, StoreError>;
    /// A connection to read with.
    fn reader(&self) -> Result<Box<dyn Store>, StoreError>;
}

/// Where a store is, as it is written on the command line.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// `sqlite:FILE`.
    Sqlite(std::path::PathBuf),
    /// `postgres://…`, a URL or a string of the PostgreSQL library.
    Postgres(String),
}

impl std::fmt::Debug for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Sqlite(file) => write!(out, "sqlite:{}", file.display()),
            // There may be a password in it.
            Address::Postgres(_) => out.write_str("postgres://…"),
        }
    }
}

impl Address {
    /// Opens the store there.
    pub fn open(&self) -> Result<std::sync::Arc<dyn Backend>, StoreError> {
        match self {
            Address::Sqlite(file) => Ok(std::sync::Arc::new(sqlite::Sqlite::open(file)?)),
            Address::Postgres(url) => Ok(std::sync::Arc::new(postgres::Postgres::open(url)?)),
        }
    }

    /// Opens the store there to look into it, whoever serves it; nothing in it is made or changed.
    pub fn inspect(&self) -> Result<Box<dyn Store>, StoreError> {
        match self {
            Address::Sqlite(file) => sqlite::Sqlite::inspect(file),
            Address::Postgres(url) => postgres::Postgres::inspect(url),
        }
    }
}

impl std::str::FromStr for Address {
    type Err = String;

    /// ```
    /// use emab_server::store::Address;
    /// assert_eq!("sqlite:a.db".parse(), Ok(Address::Sqlite("a.db".into())));
    /// assert!("mysql://x".parse::<Address>().is_err());
    /// let address: Address = "postgres://emab:secret@localhost/emab".parse().unwrap();
    /// assert!(!format!("{address:?}").contains("secret"));
    /// ```
    fn from_str(text: &str) -> Result<Address, String> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Address::Postgres(text.into()));
        }
        match text.strip_prefix("sqlite:") {
            Some(file) if !file.is_empty() => Ok(Address::Sqlite(file.into())),
            // What was got is not told: it may hold a password.
            _ => Err(
                "a store is `sqlite:FILE` or `postgres://USER@HOST/DATABASE`, got neither".into(),
            ),
        }
    }
}
