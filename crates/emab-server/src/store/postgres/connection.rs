//! A connection as the service sees it: a [`Store`] that outlives the sessions it is made of.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::{Error, Statement};

use super::super::{Changes, GainSum, Head, LearnedEpisode, Store, StoreError, StoredDecision};
use super::address::Target;
use super::error::{fault, is_twice};
use super::rows::{Columns, Exact, Params, Statements, Stored, counts};
use super::session::{Session, Tools, begin_snapshot};
use super::{Role, Timeouts};
use crate::domain::episode::EpisodeRecord;
use crate::domain::event::Record;

/// Keys of studies that are kept at hand, at most.
const KEYS: usize = 1_024;

/// Where a connection is with its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Open,
    /// Something failed in it. Nothing may be done before it is rolled back: what was begun on a session that is lost
    /// must not go on, without its transaction, on the next one; and to PostgreSQL, committing what has failed is no
    /// error.
    Failed,
}

pub(super) struct PgConnection {
    target: Arc<Target>,
    timeouts: Timeouts,
    role: Role,
    phase: Phase,
    session: Option<Session>,
    /// Whether the last session ended otherwise than by our patience.
    cut: bool,
    /// Keys of studies that were asked for on this session. After another one began, the database may be another.
    keys: HashMap<String, i64>,
    /// None only while it is dropped.
    runtime: Option<Runtime>,
}

impl PgConnection {
    pub(super) fn new(
        target: Arc<Target>,
        timeouts: Timeouts,
        role: Role,
    ) -> Result<PgConnection, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(PgConnection {
            target,
            timeouts,
            role,
            phase: Phase::Idle,
            session: None,
            cut: false,
            keys: HashMap::new(),
            runtime: Some(runtime),
        })
    }

    /// Connects for the first time, and makes the tables if there are none.
    pub(super) fn make_tables(&mut self) -> Result<(), StoreError> {
        let session = self.connect(true)?;
        self.session = Some(session);
        Ok(())
    }

    fn connect(&self, make: bool) -> Result<Session, StoreError> {
        let patience = match make {
            // Others may be at it, too.
            true => self.timeouts.connect.max(self.timeouts.response),
            false => self.timeouts.connect,
        };
        let connect = Session::connect(&self.target, &self.timeouts, make);
        let result = self.block_on(async { timeout(patience, connect).await })?;
        let named = |text| format!("{}: {text}", self.target.location);
        match result {
            Err(_) => Err(StoreError::Unavailable(named(format!(
                "no connection after {patience:?}"
            )))),
            Ok(Err(StoreError::Unavailable(text))) => Err(StoreError::Unavailable(named(text))),
            Ok(Err(StoreError::Damaged(text))) => Err(StoreError::Damaged(named(text))),
            Ok(other) => other,
        }
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        match &self.runtime {
            Some(runtime) => Ok(runtime.block_on(work)),
            None => Err(StoreError::Unavailable(
                "the connection is being dropped".into(),
            )),
        }
    }

    /// Does something on the session, or on a new one where there is none, and sorts out what that leaves behind.
    pub(super) fn call<T>(
        &mut self,
        work: &impl AsyncFn(&Tools) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let result = match self.phase {
            Phase::Failed => Err(StoreError::Retry(
                "the transaction has failed, and was not rolled back".into(),
            )),
            Phase::Open | Phase::Idle => self.try_call(work),
        };
        if result.is_err() && self.phase == Phase::Open {
            self.phase = Phase::Failed;
        }
        result
    }

    fn try_call<T>(
        &mut self,
        work: &impl AsyncFn(&Tools) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.cut = false;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => {
                self.keys.clear();
                self.connect(false)?
            }
        };
        let patience = self.timeouts.response;
        let Session { driver, tools } = &mut session;
        let call = async { timeout(patience, driver.during(work(tools))).await };
        let error = match self.block_on(call)? {
            Ok(Ok(value)) => {
                self.session = Some(session);
                return Ok(value);
            }
            // The server's last words say more than that it is silent now.
            Ok(Err(error)) => match session.driver.reason() {
                Some(reason) if error.is_closed() => fault(reason),
                _ => fault(&error),
            },
            Err(_) => {
                let why = format!("no answer after {patience:?}");
                tracing::warn!(
                    location = self.target.location,
                    why,
                    "PostgreSQL is given up"
                );
                return Err(StoreError::Unavailable(why));
            }
        };
        self.cut = matches!(error, StoreError::Unavailable(_));
        if self.cut || session.driver.has_ended() {
            // Dropped: the server takes back what it has not committed.
            tracing::warn!(location = self.target.location, why = %error, "PostgreSQL is gone");
        } else {
            self.session = Some(session);
        }
        Err(error)
    }

    /// The same for what may be done twice: outside of a transaction, a session that was cut while it rested is replaced
    /// at once. When a server is started anew, nobody but those in a transaction notices.
    fn call_again<T>(
        &mut self,
        work: &impl AsyncFn(&Tools) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let rested = self.phase == Phase::Idle && self.session.is_some();
        match self.call(work) {
            Err(_) if rested && self.cut => self.call(work),
            other => other,
        }
    }

    /// The rows that a statement finds.
    fn rows<T: Stored>(
        &mut self,
        statement: impl Fn(&Statements) -> &Statement,
        params: Params<'_>,
    ) -> Result<Vec<T>, StoreError> {
        let work = async |tools: &Tools| {
            tools
                .client
                .query(statement(&tools.statements), params)
                .await
        };
        self.call_again(&work)?.iter().map(T::read).collect()
    }

    /// The row that a statement finds, of one at most.
    fn row<T: Stored>(
        &mut self,
        statement: impl Fn(&Statements) -> &Statement,
        params: Params<'_>,
    ) -> Result<Option<T>, StoreError> {
        self.rows(statement, params).map(|mut rows| rows.pop())
    }

    /// The episodes that a statement finds, as exactly as is called for.
    fn episodes_of(
        &mut self,
        statement: impl Fn(&Statements) -> &Statement,
        params: Params<'_>,
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        match self.role {
            Role::Inspect => {
                let episodes = self.rows(statement, params)?;
                Ok(episodes.into_iter().map(|Exact(episode)| episode).collect())
            }
            Role::Read | Role::Write => self.rows(statement, params),
        }
    }

    /// Refuses to write outside of a transaction, where every statement would stay.
    fn inside(&self) -> Result<(), StoreError> {
        match self.phase {
            Phase::Idle => Err(StoreError::Unavailable("no transaction has begun".into())),
            Phase::Open | Phase::Failed => Ok(()),
        }
    }

    fn put(&mut self, head: &Head, changes: &Changes) -> Result<(), StoreError> {
        let columns = Columns::of(head, changes)?;
        let work = async |tools: &Tools| match columns.send(tools).await {
            Err(error) if is_twice(&error, "events") => {
                overtaken(tools, head.key, changes, &error).await.map(Err)
            }
            sent => sent.map(Ok),
        };
        if self.call(&work)?? == 1 {
            return Ok(());
        }
        Err(StoreError::Damaged(format!(
            "study `{}` is not there by its key {}",
            head.name, head.key
        )))
    }

    fn say(&mut self, words: &str) -> Result<(), StoreError> {
        self.call(&async |tools: &Tools| tools.client.batch_execute(words).await)
    }
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        // The look-up of a name that was given up may still be waiting in a thread; it is not waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A limit as PostgreSQL takes it.
fn at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Store for PgConnection {
    fn begin(&mut self) -> Result<(), StoreError> {
        if self.role != Role::Write {
            return Err(StoreError::Unavailable("this connection only reads".into()));
        }
        if self.phase != Phase::Idle {
            return Err(StoreError::Unavailable(
                "a transaction has begun already".into(),
            ));
        }
        self.call_again(&async |tools: &Tools| tools.client.batch_execute(&tools.begin).await)?;
        self.phase = Phase::Open;
        Ok(())
    }

    /// Where this is [`StoreError::Unavailable`], nobody knows whether it is committed, and the server may even be about to.
    /// Whoever looks again must look under the lock of the study: it is not given away before that is decided.
    fn commit(&mut self) -> Result<(), StoreError> {
        self.inside()?;
        self.say("COMMIT")?;
        self.phase = Phase::Idle;
        Ok(())
    }

    fn rollback(&mut self) {
        if self.phase == Phase::Idle {
            return;
        }
        self.phase = Phase::Idle;
        // One that cannot even do that is dropped, which takes everything back as well.
        if self.session.is_some() && self.say("ROLLBACK").is_err() {
            self.session = None;
        }
    }

    fn begin_snapshot(&mut self) -> Result<(), StoreError> {
        if self.phase != Phase::Idle {
            return Err(StoreError::Unavailable(
                "a transaction has begun already".into(),
            ));
        }
        let words = begin_snapshot(&self.timeouts);
        self.call_again(&async |tools: &Tools| tools.client.batch_execute(&words).await)?;
        self.phase = Phase::Open;
        Ok(())
    }

    fn create(&mut self, head: &Head) -> Result<Option<i64>, StoreError> {
        self.inside()?;
        let Head {
            name,
            spec,
            spec_hash,
            hash,
            closed,
            ..
        } = head;
        let [seq, episodes, open, learned, missing, relearned] = counts(head)?;
        let values: Params<'_> = &[
            name, spec, spec_hash, &seq, hash, closed, &episodes, &open, &learned, &missing,
            &relearned,
        ];
        self.row(|it| &it.create, values)
    }

    fn lock(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        self.inside()?;
        self.row(|it| &it.lock, &[&name])
    }

    fn write(&mut self, head: &Head, changes: &Changes) -> Result<(), StoreError> {
        self.inside()?;
        let result = self.put(head, changes);
        if result.is_err() {
            self.phase = Phase::Failed;
        }
        result
    }

    fn key(&mut self, name: &str) -> Result<Option<i64>, StoreError> {
        if let Some(key) = self.keys.get(name) {
            return Ok(Some(*key));
        }
        let key = self.head(name)?.map(|head| head.key);
        // In a transaction it may be one that is taken back.
        if let (Some(key), Phase::Idle) = (key, self.phase) {
            if self.keys.len() >= KEYS {
                self.keys.clear();
            }
            self.keys.insert(name.into(), key);
        }
        Ok(key)
    }

    fn head(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        self.row(|it| &it.head, &[&name])
    }

    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.rows(|it| &it.heads, &[&after, &at_most(limit)])
    }

    fn episodes(
        &mut self,
        study: i64,
        episodes: &[&str],
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        if episodes.is_empty() {
            return Ok(Vec::new());
        }
        self.episodes_of(|it| &it.episodes, &[&study, &episodes])
    }

    fn episodes_after(
        &mut self,
        study: i64,
        after: &str,
        open: bool,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        let values: Params<'_> = &[&study, &after, &at_most(limit)];
        match open {
            true => self.episodes_of(|it| &it.open_episodes, values),
            false => self.episodes_of(|it| &it.episodes_after, values),
        }
    }

    fn decision(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<StoredDecision>, StoreError> {
        match step {
            Some(step) => self.row(|it| &it.decision, &[&study, &episode, &i64::from(step)]),
            None => self.row(|it| &it.current_decision, &[&study, &episode]),
        }
    }

    fn decisions(&mut self, study: i64, episode: &str) -> Result<Vec<StoredDecision>, StoreError> {
        self.rows(|it| &it.decisions, &[&study, &episode])
    }

    fn decisions_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<StoredDecision>, StoreError> {
        let (episode, step) = after.map_or(("", -1), |(episode, step)| (episode, i64::from(step)));
        let values: Params<'_> = &[&study, &episode, &step, &at_most(limit)];
        self.rows(|it| &it.decisions_after, values)
    }

    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let Ok(after) = i64::try_from(after) else {
            return Ok(Vec::new());
        };
        self.rows(|it| &it.events, &[&study, &after, &at_most(limit)])
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
        self.rows(|it| &it.learned_episodes, &[&study, &from, &at_most(limit)])
    }

    fn gain_sums(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<GainSum>, StoreError> {
        let (t, x, a) = after.map_or((-1, 0, 0), |(t, x, a)| {
            (i64::from(t), i64::from(x), i64::from(a))
        });
        self.rows(|it| &it.gain_sums, &[&study, &t, &x, &a, &at_most(limit)])
    }
}

/// What it means that an event was there already.
///
/// Under the lock of the study it cannot be, unless the log is ahead of the head that is written with it: then the store
/// is damaged. Without the lock, or where a distributed database has lost it, another copy was faster, and its head is
/// there, too: then the same may be tried again. Events are never taken for one another.
async fn overtaken(
    tools: &Tools,
    study: i64,
    changes: &Changes,
    error: &Error,
) -> Result<StoreError, Error> {
    // Nothing can be read in a transaction that has failed.
    tools.client.batch_execute("ROLLBACK").await?;
    let rows = tools
        .client
        .query(&tools.statements.last_seq, &[&study])
        .await?;
    let last: Option<i64> = rows.first().and_then(|row| row.try_get(0).ok());
    let first = changes.events.iter().map(|event| event.seq).min();
    let last = last.and_then(|last| u64::try_from(last).ok());
    Ok(match fault(error) {
        StoreError::Damaged(text) if last >= first => StoreError::Retry(text),
        other => other,
    })
}
