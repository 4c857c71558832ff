//! A connection: executes SQL, and reconnects after the loss of a session.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::Error;
use tokio_postgres::types::ToSql;

use super::super::sql::{self, OfStudy, Params, Sql, Stored, have_updated};
use super::super::{Begun, Changes, Finding, Head, Result, StoreError, Which};
use super::address::Target;
use super::error::{fault, is_duplicate};
use super::rows::{AWAITED_EPISODES_AFTER, Columns, EPISODES, LAST_SEQ, OPEN_EPISODES_AFTER};
use super::session::{Session, Tables, Tools, begin_snapshot, no_connection};
use super::{MIGRATION_TIMEOUT, Role, Timeouts, check};

/// The largest number of cached study keys.
const KEYS: usize = 1_024;

/// The state of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Open,
    /// A statement failed. Nothing may be executed before the rollback: a new session would continue without the transaction, and
    /// PostgreSQL reports no error when a failed transaction is committed.
    Failed,
}

pub(super) struct PgConnection {
    target: Arc<Target>,
    timeouts: Timeouts,
    role: Role,
    phase: Phase,
    session: Option<Session>,
    /// Whether the last session was lost, and did not time out.
    lost: bool,
    /// Keys of studies read in this session. Another session may see another database.
    keys: HashMap<String, i64>,
    /// None only during drop.
    runtime: Option<Runtime>,
}

impl PgConnection {
    pub(super) fn new(target: Arc<Target>, timeouts: Timeouts, role: Role) -> Result<PgConnection> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(PgConnection {
            target,
            timeouts,
            role,
            phase: Phase::Idle,
            session: None,
            lost: false,
            keys: HashMap::new(),
            runtime: Some(runtime),
        })
    }

    /// Connects, and creates or migrates the tables.
    pub(super) fn make_tables(&mut self) -> Result<()> {
        let session = self.connect(Tables::Make)?;
        self.session = Some(session);
        Ok(())
    }

    fn connect(&self, tables: Tables) -> Result<Session> {
        let limit = match tables {
            Tables::Make => self.timeouts.connect + MIGRATION_TIMEOUT,
            Tables::Use | Tables::Inspect => self.timeouts.connect,
        };
        let connect = Session::connect(&self.target, &self.timeouts, tables);
        let result = self.block_on(async { timeout(limit, connect).await })?;
        result
            .unwrap_or_else(|_| Err(no_connection(limit)))
            .map_err(|error| error.map(|text| format!("{}: {text}", self.target.location)))
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        match &self.runtime {
            Some(runtime) => Ok(runtime.block_on(work)),
            None => Err(StoreError::Unavailable("the connection is closed".into())),
        }
    }

    /// Executes work on the session, or on a new one, and tracks the state of the transaction.
    pub(super) fn call<T>(&mut self, work: &impl AsyncFn(&Tools) -> Result<T, Error>) -> Result<T> {
        let result = match self.phase {
            Phase::Failed => Err(StoreError::Retry(
                "the transaction failed and was not rolled back".into(),
            )),
            Phase::Open | Phase::Idle => self.try_call(work),
        };
        if result.is_err() && self.phase == Phase::Open {
            self.phase = Phase::Failed;
        }
        result
    }

    fn try_call<T>(&mut self, work: &impl AsyncFn(&Tools) -> Result<T, Error>) -> Result<T> {
        self.lost = false;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => {
                self.keys.clear();
                self.connect(match self.role {
                    Role::Inspect => Tables::Inspect,
                    Role::Read | Role::Write => Tables::Use,
                })?
            }
        };
        let limit = self.timeouts.response;
        let Session { driver, tools } = &mut session;
        let call = async { timeout(limit, driver.during(work(tools))).await };
        let error = match self.block_on(call)? {
            Ok(Ok(value)) => {
                self.session = Some(session);
                return Ok(value);
            }
            // The reason of the server is more precise than "closed".
            Ok(Err(error)) => match &session.driver.reason {
                Some(reason) if error.is_closed() => fault(reason),
                _ => fault(&error),
            },
            Err(_) => {
                let why = format!("no response after {limit:?}");
                tracing::warn!(
                    location = self.target.location,
                    why,
                    "PostgreSQL does not respond"
                );
                return Err(StoreError::Unavailable(why));
            }
        };
        self.lost = matches!(error, StoreError::Unavailable(_));
        if self.lost || session.driver.connection.is_none() {
            // Dropped: the server rolls back.
            tracing::warn!(location = self.target.location, why = %error, "connection to PostgreSQL lost");
        } else {
            self.session = Some(session);
        }
        Err(error)
    }

    /// Executes work that may be repeated: outside a transaction, a session that was lost while idle is replaced at once. A restart
    /// of the server only affects open transactions.
    fn call_repeatable<T>(&mut self, work: &impl AsyncFn(&Tools) -> Result<T, Error>) -> Result<T> {
        let was_idle = self.phase == Phase::Idle && self.session.is_some();
        match self.call(work) {
            Err(_) if was_idle && self.lost => self.call(work),
            other => other,
        }
    }

    /// Begins a transaction.
    fn open<T>(&mut self, begin: impl AsyncFn(&Tools) -> Result<T, Error>) -> Result<T> {
        if self.phase != Phase::Idle {
            let what = "a transaction is open already";
            return Err(StoreError::Unavailable(what.into()));
        }
        let begun = self.call_repeatable(&begin)?;
        self.phase = Phase::Open;
        Ok(begun)
    }

    fn is_writer(&self) -> Result<()> {
        if self.role == Role::Write {
            return Ok(());
        }
        let what = "this connection is read-only";
        Err(StoreError::Unavailable(what.into()))
    }

    /// Writes the changes of studies, and commits if `commit` is set.
    fn send(&mut self, studies: &[(&Head, &Changes)], commit: bool) -> Result<()> {
        let columns = Columns::of(studies);
        let written = columns.and_then(|columns| {
            let work = async |tools: &Tools| match columns.send(tools, commit).await {
                Err(error) if is_duplicate(&error, "events") => {
                    overtaken(tools, studies, &error).await.map(Err)
                }
                sent => sent.map(Ok),
            };
            have_updated(self.call(&work)??, studies)
        });
        if written.is_err() {
            self.phase = Phase::Failed;
        }
        written
    }

    fn query<T: Stored>(
        &mut self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<T>> {
        let work = async |tools: &Tools| {
            let statement = &tools.statements[sql];
            tools.client.query(statement, params).await
        };
        self.call_repeatable(&work)?.iter().map(T::read).collect()
    }

    fn batch(&mut self, sql: &str) -> Result<()> {
        self.call(&async |tools: &Tools| tools.client.batch_execute(sql).await)
    }
}

impl Drop for PgConnection {
    fn drop(&mut self) {
        // A name lookup that timed out may still block a thread; do not wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Sql for PgConnection {
    const LOCK: &'static str = sql::heads!("WHERE name = ANY($1) ORDER BY name FOR UPDATE");
    const CURRENT_DECISION: &'static str = "
        SELECT answers.episode, answers.step, answers.text FROM cases JOIN answers
        ON answers.study = cases.study AND answers.episode = cases.id AND answers.step = cases.step
        WHERE cases.study = $1 AND cases.id = $2";
    const EVENTS_AT: &'static str =
        "SELECT seq, text, hash FROM events WHERE study = $1 AND seq = ANY($2::TEXT[]::BIGINT[])";

    fn episodes_after_sql(&self, which: Which) -> &'static str {
        match which {
            Which::All => sql::EPISODES_AFTER,
            Which::Open => OPEN_EPISODES_AFTER,
            Which::Awaited => AWAITED_EPISODES_AFTER,
        }
    }

    fn begin(&mut self) -> Result<()> {
        self.is_writer()?;
        self.open(async |tools: &Tools| tools.client.batch_execute(&tools.begin).await)
    }

    /// After [`StoreError::Unavailable`] it is not known whether the transaction was or will be committed. A later check must hold the
    /// lock of the study, which is not released before that is decided.
    fn commit(&mut self) -> Result<()> {
        self.batch("COMMIT")?;
        self.phase = Phase::Idle;
        Ok(())
    }

    fn rollback(&mut self) {
        if self.phase == Phase::Idle {
            return;
        }
        self.phase = Phase::Idle;
        // A session that cannot roll back is dropped, which rolls back.
        if self.session.is_some() && self.batch("ROLLBACK").is_err() {
            self.session = None;
        }
    }

    fn begin_snapshot(&mut self) -> Result<()> {
        let sql = begin_snapshot(&self.timeouts);
        self.open(async |tools: &Tools| tools.client.batch_execute(&sql).await)
    }

    fn in_transaction(&self) -> Result<()> {
        match self.phase {
            Phase::Idle => Err(StoreError::Unavailable("no transaction is open".into())),
            Phase::Open | Phase::Failed => Ok(()),
        }
    }

    fn is_inspection(&self) -> bool {
        self.role == Role::Inspect
    }

    fn rows_unprepared<T: Stored>(&mut self, sql: &str) -> Result<Vec<T>> {
        let work = async |tools: &Tools| tools.client.query(sql, &[]).await;
        self.call_repeatable(&work)?.iter().map(T::read).collect()
    }

    fn check_store(&mut self) -> Result<Vec<Finding>> {
        check::store(self)
    }

    fn rows<T: Stored>(&mut self, sql: &'static str, params: Params<'_>) -> Result<Vec<T>> {
        let params: Vec<_> = params.iter().map(|it| *it as &(dyn ToSql + Sync)).collect();
        self.query(sql, &params)
    }

    fn rows_of<T: Stored>(&mut self, keys: &[(i64, &str)]) -> Result<Vec<OfStudy<T>>> {
        let (studies, names): (Vec<i64>, Vec<&str>) = keys.iter().copied().unzip();
        self.query(EPISODES, &[&studies, &names])
    }

    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        self.send(studies, false)
    }

    /// In one round trip: the statements are sent without waiting for the answer to the one before. If one fails, so do those after
    /// it.
    fn begin_batch(&mut self, studies: &[&str], episodes: &[(i64, &str)]) -> Result<Begun> {
        self.is_writer()?;
        let (keys, names): (Vec<i64>, Vec<&str>) = episodes.iter().copied().unzip();
        let work = async |tools: &Tools| {
            let Tools {
                client, statements, ..
            } = tools;
            let episodes = async {
                match keys.is_empty() {
                    true => Ok(Vec::new()),
                    false => client.query(&statements[EPISODES], &[&keys, &names]).await,
                }
            };
            let begin = client.batch_execute(&tools.begin);
            let lock_params: &[&(dyn ToSql + Sync)] = &[&studies];
            let lock = client.query(&statements[Self::LOCK], lock_params);
            let begun = tokio::join!(biased; begin, lock, episodes);
            begun.0?;
            // The transaction has begun: a later error has to be rolled back.
            Ok(begun.1.and_then(|heads| Ok((heads, begun.2?))))
        };
        let rows = self.open(work)?;
        let read = rows
            .map_err(|error| fault(&error))
            .and_then(|(heads, episodes)| {
                let heads = heads.iter().map(Head::read).collect::<Result<_>>()?;
                let episodes = episodes.iter().map(OfStudy::read);
                let episodes = episodes.map(|row| row.map(OfStudy::pair));
                let episodes = episodes.collect::<Result<_>>()?;
                Ok(Begun { heads, episodes })
            });
        if read.is_err() {
            self.phase = Phase::Failed;
        }
        read
    }

    /// In one round trip. After a failed statement the server rolls back instead of committing.
    fn commit_batch(&mut self, studies: &[(&Head, &Changes)]) -> Result<()> {
        if studies.is_empty() {
            return Sql::commit(self);
        }
        self.send(studies, true)?;
        self.phase = Phase::Idle;
        Ok(())
    }

    fn find_key(&mut self, name: &str) -> Result<Option<i64>> {
        if let Some(key) = self.keys.get(name) {
            return Ok(Some(*key));
        }
        let head: Option<Head> = self.row(sql::HEAD, &[&name])?;
        // A key read in a transaction may be rolled back, and a study that is being restored may be discarded.
        if let (Some(head), Phase::Idle) = (&head, self.phase)
            && !head.restoring
        {
            if self.keys.len() >= KEYS {
                self.keys.clear();
            }
            self.keys.insert(name.into(), head.key);
        }
        Ok(head.map(|head| head.key))
    }
}

/// The error for an event that exists already.
///
/// Under the lock of the study it can exist only if the log is ahead of its head: the store is damaged. If a distributed database
/// lost the lock, another copy was faster and its head is stored too: the transaction can be retried.
async fn overtaken(
    tools: &Tools,
    studies: &[(&Head, &Changes)],
    error: &Error,
) -> Result<StoreError, Error> {
    // A failed transaction cannot be read.
    tools.client.batch_execute("ROLLBACK").await?;
    for (head, changes) in studies {
        let rows = tools
            .client
            .query(&tools.statements[LAST_SEQ], &[&head.key])
            .await?;
        let last: Option<i64> = rows.first().and_then(|row| row.try_get(0).ok());
        let last = last.and_then(|last| u64::try_from(last).ok());
        let first = changes.events.iter().map(|event| event.seq).min();
        if first.is_some()
            && last >= first
            && let StoreError::Damaged(text) = fault(error)
        {
            return Ok(StoreError::Retry(text));
        }
    }
    Ok(fault(error))
}
