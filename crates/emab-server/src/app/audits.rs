//! Audits that people start on a page. They run in the background, one for each study, and their results are kept in memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::app::audit::{Options, Report, audit_study_with};
use crate::app::{Service, head, with_caller};
use crate::clock::now_text;
use crate::domain::Author;

/// An audit of a study.
#[derive(Clone, Debug)]
pub struct Audit {
    /// When it began, RFC 3339, and the person who started it.
    pub begun: String,
    pub by: String,
    /// The hash that one of the events must have.
    pub expect: Option<String>,
    progress: Arc<EventCount>,
    /// When it ended, and its result or why there is none.
    pub ended: Option<(String, Result<Report, String>)>,
}

/// The number of events that were read, and of all.
#[derive(Debug, Default)]
struct EventCount {
    read: AtomicU64,
    all: AtomicU64,
}

impl Audit {
    /// The number of events that were read, and of all; 0 of 0 before it has begun to read.
    pub fn progress(&self) -> (u64, u64) {
        let [read, all] = [&self.progress.read, &self.progress.all];
        (read.load(Ordering::Relaxed), all.load(Ordering::Relaxed))
    }
}

/// The latest audit of each study.
#[derive(Clone, Debug, Default)]
pub struct Audits(Arc<Mutex<HashMap<String, Audit>>>);

/// The largest number of studies whose results are kept.
const KEPT: usize = 1_000;

impl Audits {
    /// The latest audit of a study.
    pub fn latest(&self, study: &str) -> Option<Audit> {
        self.locked().get(study).cloned()
    }

    /// Starts an audit of a study on a snapshot of the store; without effect while one runs. It counts as a table that the author
    /// reads.
    pub fn start(&self, service: &Arc<Service>, study: &str, expect: Option<String>, by: &Author) {
        let progress = Arc::<EventCount>::default();
        let audit = Audit {
            begun: now_text(),
            by: by.person.clone(),
            expect: expect.clone(),
            progress: progress.clone(),
            ended: None,
        };
        {
            let mut audits = self.locked();
            if audits.get(study).is_some_and(|it| it.ended.is_none()) {
                return;
            }
            if audits.len() >= KEPT {
                audits.retain(|_, it| it.ended.is_none());
            }
            audits.insert(study.into(), audit);
        }
        let (audits, service) = (self.clone(), service.clone());
        let (name, token) = (study.to_owned(), by.token.clone());
        tokio::spawn(async move {
            let audited = name.clone();
            let read = service.read_table(move |store| {
                let head = head(store, &audited)?;
                progress.all.store(head.seq, Ordering::Relaxed);
                let mut count = |events| progress.read.store(events, Ordering::Relaxed);
                let options = Options {
                    expect: expect.as_deref(),
                    progress: Some(&mut count),
                    ..Options::default()
                };
                Ok(audit_study_with(store, &head, options)?)
            });
            let result = match with_caller(&token, read).await {
                Ok(running) => running.await,
                Err(error) => Err(error),
            };
            if let Some(audit) = audits.locked().get_mut(&name) {
                audit.ended = Some((now_text(), result.map_err(|error| error.to_string())));
            }
        });
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Audit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
