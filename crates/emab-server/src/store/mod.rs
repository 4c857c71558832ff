//! Stores: the log of each study, and its projections, written in one transaction.
//!
//! [`Store`] is one connection, and blocking: the writer thread and each reader have their own. The two implementations are
//! [`sqlite`] (one file, one process) and [`postgres`] (several copies of the service). [`Store::commit`] returns after the
//! fsync. A full disk is [`StoreError::Full`].

mod check;
pub mod postgres;
mod sql;
pub mod sqlite;

use thiserror::Error;

pub use crate::domain::checkpoint::Checkpoint;
pub use crate::domain::decision::StoredDecision;
pub use crate::domain::episode::EpisodeRecord;
pub use crate::domain::event::Record;
pub use crate::domain::finding::Finding;
pub use crate::domain::head::Head;
pub use crate::domain::learned_episode::LearnedEpisode;
pub use crate::domain::restore::Restore;
pub use crate::domain::session::Session;
pub use crate::domain::study_learners::{GainSum, TripletKey};

/// Why the store failed.
#[derive(Debug, Error)]
pub enum StoreError {
    /// It cannot be reached, or does not answer; it may later.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// Its disk is full; reads still work.
    #[error("the store is full: {0}")]
    Full(String),
    /// Another transaction interfered; a retry may succeed at once.
    #[error("the transaction has to be retried: {0}")]
    Retry(String),
    /// A stored value is not one that the service wrote.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

impl StoreError {
    /// Changes the text.
    fn map(self, change: impl FnOnce(String) -> String) -> StoreError {
        match self {
            StoreError::Unavailable(text) => StoreError::Unavailable(change(text)),
            StoreError::Full(text) => StoreError::Full(change(text)),
            StoreError::Retry(text) => StoreError::Retry(change(text)),
            StoreError::Damaged(text) => StoreError::Damaged(change(text)),
        }
    }
}

/// The result of an operation of the store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The changes of one study in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// New events, in order.
    pub events: Vec<Record>,
    /// Changed episodes, each once.
    pub episodes: Vec<EpisodeRecord>,
    /// New decisions; one of a known step is replaced.
    pub decisions: Vec<StoredDecision>,
    /// Learned episodes; one at a known position is replaced.
    pub learned_episodes: Vec<LearnedEpisode>,
    /// Changed gain sums, each once.
    pub gain_sums: Vec<GainSum>,
    /// Gain sums of which no observation is left, after a correction.
    pub removed_gain_sums: Vec<TripletKey>,
}

/// Which episodes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All of a study.
    All,
    /// Those that have not ended.
    Open,
    /// Stopped, and their outcomes are awaited.
    Awaited,
}

impl Which {
    /// Only open episodes, or all.
    pub fn open_or_all(open: bool) -> Which {
        match open {
            true => Which::Open,
            false => Which::All,
        }
    }
}

/// What a transaction for a batch begins with.
#[derive(Debug)]
pub struct Begun {
    /// The locked heads, in the order of names.
    pub heads: Vec<Head>,
    /// The episodes, each with its study.
    pub episodes: Vec<(i64, EpisodeRecord)>,
}

/// A connection to a store.
///
/// Reads outside a transaction see committed data. After an error inside a transaction the caller calls [`Store::rollback`].
pub trait Store: Send {
    /// Begins a transaction for writing.
    fn begin(&mut self) -> Result<()>;
    /// Begins a transaction for a batch: locks studies as [`Store::lock_all`] and reads episodes as [`Store::episodes_of`]. A store
    /// on another machine does it in one round trip.
    fn begin_batch(&mut self, studies: &[&str], episodes: &[(i64, &str)]) -> Result<Begun> {
        self.begin()?;
        Ok(Begun {
            heads: self.lock_all(studies)?,
            episodes: self.episodes_of(episodes)?,
        })
    }
    /// Writes as [`Store::write_all`] and commits. A store on another machine does it in one round trip.
    fn commit_batch(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        if !studies.is_empty() {
            self.write_all(studies)?;
        }
        self.commit()
    }
    /// Commits: when this returns, the changes are durable (fsync).
    fn commit(&mut self) -> Result<()>;
    /// Undoes everything since [`Store::begin`]; also after an error, and without effect outside a transaction.
    fn rollback(&mut self);
    /// Begins a read snapshot: until [`Store::rollback`] reads see what is committed now. For reader connections.
    fn begin_snapshot(&mut self) -> Result<()>;

    /// Adds a study with its specification and returns its key; none if the name is taken. Inside a transaction.
    fn create(&mut self, head: &Head, spec: &str) -> Result<Option<i64>>;
    /// The heads of the studies with these names, in the order of names, locked against other writers until the transaction ends;
    /// unknown names are left out. They are locked in that order: two copies that lock several studies do not deadlock.
    fn lock_all(&mut self, names: &[&str]) -> Result<Vec<Head>>;
    /// The head of a study, locked against other writers until the transaction ends.
    fn lock(&mut self, name: &str) -> Result<Option<Head>> {
        Ok(self.lock_all(&[name])?.pop())
    }
    /// Writes the changes of studies, each once, and their heads. Inside a transaction, any number of times.
    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<()>;
    /// Writes the changes of a study and its head. Inside a transaction, any number of times.
    fn write(&mut self, head: &Head, changes: &Changes) -> Result<()> {
        self.write_all(&[(head, changes)])
    }
    /// Writes or replaces the restore of a study. Inside a transaction.
    fn put_restore(&mut self, study: i64, restore: &Restore) -> Result<()>;
    /// Removes a study that is being restored, with every row of it; fails if it is not being restored. Its key is not given to
    /// another study while this process runs. Inside a transaction that has locked the study.
    fn discard(&mut self, study: i64) -> Result<()>;
    /// Writes the checkpoint of a study, unless there is one of a later event. Inside a transaction.
    fn put_checkpoint(&mut self, study: i64, checkpoint: &Checkpoint) -> Result<()>;

    /// Writes a session, and removes those that expired before it began. Inside a transaction.
    fn put_session(&mut self, session: &Session) -> Result<()>;
    /// Removes a session, if there is one with this hash. Inside a transaction.
    fn remove_session(&mut self, hash: &str) -> Result<()>;

    /// The key of a study. It never changes; a study that was discarded and created again is another one.
    fn key(&mut self, name: &str) -> Result<Option<i64>> {
        Ok(self.head(name)?.map(|head| head.key))
    }
    /// The head of a study.
    fn head(&mut self, name: &str) -> Result<Option<Head>>;
    /// The heads of studies after a name, in the order of names.
    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>>;
    /// The heads of studies after a name that have events after their checkpoint, in the order of names.
    fn uncovered(&mut self, after: &str, limit: usize) -> Result<Vec<Head>>;
    /// Checks what concerns the whole store: its file, its tables, and rows that belong to no study. For inspections.
    fn check_store(&mut self) -> Result<Vec<Finding>>;
    /// The specification of a study, as canonical JSON. It may have megabytes, and never changes.
    fn spec(&mut self, study: i64) -> Result<Option<String>>;
    /// The restore of a study; none if it was not restored.
    fn restore(&mut self, study: i64) -> Result<Option<Restore>>;
    /// The latest checkpoint of a study.
    fn checkpoint(&mut self, study: i64) -> Result<Option<Checkpoint>>;
    /// The session with this hash, whether or not it has expired.
    fn session(&mut self, hash: &str) -> Result<Option<Session>>;
    /// The episodes with these studies and names, each with its study, in any order; unknown ones are left out.
    fn episodes_of(&mut self, keys: &[(i64, &str)]) -> Result<Vec<(i64, EpisodeRecord)>>;
    /// The episodes with these names, in any order; unknown names are left out.
    fn episodes(&mut self, study: i64, names: &[&str]) -> Result<Vec<EpisodeRecord>> {
        let mut keys: Vec<_> = names.iter().map(|name| (study, *name)).collect();
        keys.sort_unstable();
        keys.dedup();
        let found = self.episodes_of(&keys)?;
        Ok(found.into_iter().map(|(_, episode)| episode).collect())
    }
    /// Episodes after a name, in the order of names.
    fn episodes_after(
        &mut self,
        study: i64,
        after: &str,
        which: Which,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>>;
    /// The decision for a step, or for the current step.
    fn decision(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<StoredDecision>>;
    /// All decisions of an episode, by step.
    fn decisions(&mut self, study: i64, episode: &str) -> Result<Vec<StoredDecision>>;
    /// Decisions after one, in the order of (episode, step).
    fn decisions_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<StoredDecision>>;
    /// Events after a sequence number, in order.
    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>>;
    /// The events with these sequence numbers, in any order; unknown ones are left out.
    fn events_at(&mut self, study: i64, seqs: &[u64]) -> Result<Vec<Record>>;
    /// Learned episodes from a position on, in order.
    fn learned_episodes(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>>;
    /// Gain sums after a triplet, in the order of (t, x, a).
    fn gain_sums(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<GainSum>>;
}

/// The tokens in a database, each as a JSON text.
pub trait TokenRows: Send {
    /// Those with these ids.
    fn find(&mut self, ids: &[&str]) -> Result<Vec<String>>;
    /// All of them.
    fn all(&mut self) -> Result<Vec<String>>;
    /// Writes the ids and texts that `change` makes of all texts, in one transaction, while no other one changes tokens.
    fn change(
        &mut self,
        change: &mut dyn FnMut(Vec<String>) -> Vec<(String, String)>,
    ) -> Result<()>;
}

/// Opens connections to a store.
pub trait Backend: Send + Sync {
    /// A connection for the writer thread.
    fn writer(&self) -> Result<Box<dyn Store>>;
    /// A connection for reading.
    fn reader(&self) -> Result<Box<dyn Store>>;
    /// A connection to the tokens; none if they are in a file.
    fn tokens(&self) -> Result<Option<Box<dyn TokenRows>>> {
        Ok(None)
    }
}

/// The address of a store, as on the command line.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// `sqlite:FILE`.
    Sqlite(std::path::PathBuf),
    /// `postgres://…`.
    Postgres(String),
}

impl std::fmt::Debug for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Sqlite(file) => write!(out, "sqlite:{}", file.display()),
            // It may contain a password.
            Address::Postgres(_) => out.write_str("postgres://…"),
        }
    }
}

impl Address {
    /// Opens the store for a service.
    pub fn open(&self) -> Result<std::sync::Arc<dyn Backend>> {
        match self {
            Address::Sqlite(file) => Ok(std::sync::Arc::new(sqlite::Sqlite::open(file)?)),
            Address::Postgres(url) => Ok(std::sync::Arc::new(postgres::Postgres::open(url)?)),
        }
    }

    /// The tokens of a PostgreSQL store that a service has created; none for SQLite, whose tokens are in a file.
    pub fn tokens(&self) -> Result<Option<Box<dyn TokenRows>>> {
        match self {
            Address::Sqlite(_) => Ok(None),
            Address::Postgres(url) => postgres::Postgres::existing(url)?.tokens(),
        }
    }

    /// Opens the store read-only, also while a service uses it. Nothing is created or changed.
    pub fn inspect(&self) -> Result<Box<dyn Store>> {
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
            // Without the value, which may contain a password.
            _ => Err(
                "a store is `sqlite:FILE` or `postgres://USER@HOST/DATABASE`, got neither".into(),
            ),
        }
    }
}
