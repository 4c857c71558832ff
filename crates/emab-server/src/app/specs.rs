//! Parsed specifications, shared by the writer, the loader and readers.
//!
//! A specification is immutable and may have megabytes, so that it is parsed once, one at a time, and never on an async worker
//! thread. The cache is bounded by the bytes of the texts. What lists of studies show of a specification is kept beside it for
//! many more studies.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::app::CommandError;
use crate::domain::{Head, Study};
use crate::store::{Store, StoreError};

/// The largest number of bytes of cached texts. A larger text is cached alone.
const MAX_BYTES: usize = 32 << 20;
/// The largest number of summaries, some hundred bytes each.
const MAX_SUMMARIES: usize = 65_536;

/// What lists of studies show of a specification.
#[derive(Debug, PartialEq)]
pub struct Summary {
    /// The learner.
    pub learner: String,
    /// Why its decisions have no certificate, if they have none.
    pub withheld: Option<String>,
    /// When outcomes are expected, if it is stated.
    pub expected_delay: Option<Duration>,
}

/// A cache of specifications.
#[derive(Default)]
pub struct Specs {
    cache: Mutex<Cache>,
    /// Held while a specification is parsed, which needs a multiple of its length.
    parsing: Mutex<()>,
    parsed: AtomicU64,
}

/// A study by its name and the hash of its specification.
type Key = (String, String);

#[derive(Default)]
struct Cache {
    /// With the use that was last.
    studies: HashMap<Key, (Arc<Study>, u64)>,
    /// The bytes of their texts.
    bytes: usize,
    uses: u64,
    summaries: HashMap<Key, Arc<Summary>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key_of(head: &Head) -> Key {
    (head.name.clone(), head.spec_hash.clone())
}

impl Specs {
    /// The specification of a study. Blocks while it is read and parsed.
    pub fn study(&self, store: &mut dyn Store, head: &Head) -> Result<Arc<Study>, CommandError> {
        if let Some(study) = self.cached(head) {
            return Ok(study);
        }
        let parsing = locked(&self.parsing);
        // Another thread may have parsed it meanwhile.
        if let Some(study) = self.cached(head) {
            return Ok(study);
        }
        let study = Arc::new(parse(store, head)?);
        self.parsed.fetch_add(1, Ordering::Relaxed);
        drop(parsing);
        if study.hash != head.spec_hash {
            let what = format!(
                "the specification of study `{}` has another hash",
                head.name
            );
            return Err(StoreError::Damaged(what).into());
        }
        self.add(&study);
        Ok(study)
    }

    /// What lists show of the specification of a study; none if it was not parsed yet.
    pub fn known_summary(&self, head: &Head) -> Option<Arc<Summary>> {
        locked(&self.cache).summaries.get(&key_of(head)).cloned()
    }

    /// What lists show of the specification of a study. Blocks while it is read and parsed for the first time.
    pub fn summary(
        &self,
        store: &mut dyn Store,
        head: &Head,
    ) -> Result<Arc<Summary>, CommandError> {
        if let Some(summary) = self.known_summary(head) {
            return Ok(summary);
        }
        let study = self.study(store, head)?;
        let summary = self.known_summary(head);
        // The cache was cleared meanwhile.
        Ok(summary.unwrap_or_else(|| Arc::new(Summary::of(&study))))
    }

    /// Adds a specification that was parsed elsewhere.
    pub fn add(&self, study: &Arc<Study>) {
        let key = (study.name.clone(), study.hash.clone());
        let mut cache = locked(&self.cache);
        if cache.summaries.len() >= MAX_SUMMARIES {
            cache.summaries.clear();
        }
        let summary = Arc::new(Summary::of(study));
        cache.summaries.insert(key.clone(), summary);
        cache.uses += 1;
        let used = cache.uses;
        if cache.studies.insert(key, (study.clone(), used)).is_none() {
            cache.bytes += study.canonical.len();
        }
        cache.evict();
    }

    /// The number of specifications that were read and parsed.
    pub fn parsed(&self) -> u64 {
        self.parsed.load(Ordering::Relaxed)
    }

    fn cached(&self, head: &Head) -> Option<Arc<Study>> {
        let mut cache = locked(&self.cache);
        cache.uses += 1;
        let used = cache.uses;
        let (study, last) = cache.studies.get_mut(&key_of(head))?;
        *last = used;
        Some(study.clone())
    }
}

impl Cache {
    /// Drops the least recently used specifications.
    fn evict(&mut self) {
        while self.bytes > MAX_BYTES && self.studies.len() > 1 {
            let oldest = self.studies.iter().min_by_key(|(_, (_, used))| *used);
            let Some(key) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some((study, _)) = self.studies.remove(&key) {
                self.bytes -= study.canonical.len();
            }
        }
    }
}

impl Summary {
    fn of(study: &Study) -> Summary {
        Summary {
            learner: study.learner.label().into(),
            withheld: study.unsound.clone(),
            expected_delay: study.expected_delay,
        }
    }
}

/// The specification of a study, read and parsed: what the cache avoids.
fn parse(store: &mut dyn Store, head: &Head) -> Result<Study, CommandError> {
    let missing = || {
        let what = format!("study `{}` has no specification", head.name);
        StoreError::Damaged(what)
    };
    let spec = store.spec(head.key)?.ok_or_else(missing)?;
    Ok(Study::from_canonical(&head.name, &spec)?)
}
