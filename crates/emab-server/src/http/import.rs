//! Taking episodes, or a whole study, in.

mod dry_run;
mod learner;
mod lines;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use emab_log::{SavedLearnerHeader, is_query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::dry_run::DryRun;
use self::learner::check_head;
use self::lines::Lines;
use super::answer::{Answer, json};
use super::auth::Caller;
use super::body::media_type;
use super::log::LINES;
use super::path::Path;
use super::{App, query};
use crate::app::error::CommandError;
use crate::app::service::Service;
use crate::domain::command::{Body as Said, Command, Past};
use crate::domain::error::ApiError;
use crate::domain::event::Record;
use crate::domain::past::in_line;
use crate::store::Store;
use crate::tokens::Permission;

/// How many lines, or bytes, of an import are put in with one commit.
const BATCH: (usize, usize) = (500, 1 << 20);
/// The most mistakes that a dry run names.
const MISTAKES: usize = 100;

/// How to import.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Only look whether it could be done.
    #[serde(default)]
    dry_run: bool,
}

/// What became of an import.
#[derive(Default, Serialize, ToSchema)]
pub struct Report {
    /// Lines that were taken, or would be.
    taken: u64,
    /// Lines that were there before.
    repeated: u64,
    /// Whether nothing was written.
    dry_run: bool,
    /// What is wrong, by line; only in a dry run, which goes on after a mistake.
    mistakes: Vec<String>,
}

impl Report {
    fn mistake(&mut self, what: String) {
        if self.mistakes.len() < MISTAKES {
            self.mistakes.push(what);
        }
    }
}

/// Take episodes, or a whole study, in
///
/// One JSON object a line. Either past episodes (`{"id", "actions", "feedbacks", "costs", "rewards"}`), from which the
/// learner learns at once; or the events of an exported study, which must be the same study or one that is not there yet;
/// or the file of a learner that was saved in Python (`Learner.save`), whose first line (`{"emab_learner": 1, …}`) must be
/// about the study's problem, and whose other lines are the episodes it learned from. The study's own learner learns from
/// them, whichever learner was saved; what that one was asked (`{"ask": …}`) is passed over.
///
/// It is streamed: what was taken before a mistake stays, and sending everything again is harmless.
#[utoipa::path(post, operation_id = "importStudy", path = "/v1/studies/{study}:import", tag = "audit",
    params(("study" = String, Path, description = "The study's name"), How),
    request_body(content = Past, content_type = "application/x-ndjson", description = "Each line is one of these, or an event; the first may be that of a learner's file",
        example = json!({"id": "patient-0", "actions": ["test"], "feedbacks": ["positive"], "costs": [0.1], "rewards": [0.0, 0.9]})),
    responses((status = 200, description = "What was taken", body = Report)))]
pub async fn import(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    how: query::Query<How>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    caller.may_in(Permission::Import, &study)?;
    let kind = media_type(&headers);
    if ![
        "application/x-ndjson",
        "application/jsonl",
        "application/json",
    ]
    .contains(&&*kind)
    {
        return Err(ApiError::media_type(format!(
            "the body is said to be `{}`; this call takes `{LINES}`",
            crate::domain::json::short(&kind)
        )));
    }
    let busy = |_| ApiError::too_many("other imports are under way").retry(5);
    let _permit = app.imports.try_acquire().map_err(busy)?;
    let mut lines = Lines::new(body.into_data_stream());
    let mut import = Import {
        service: app.service.clone(),
        by: caller.id().into(),
        study,
        of_learner: false,
        dry_run: how.dry_run.then(DryRun::default),
        report: Report {
            dry_run: how.dry_run,
            ..Report::default()
        },
    };
    let (mut batch, mut bytes): (Vec<(u64, String)>, _) = (Vec::new(), 0);
    match lines.next().await? {
        Some((number, line)) if SavedLearnerHeader::matches(&line) => {
            import.take_head(number, line).await?;
        }
        other => batch.extend(other),
    }
    let end = loop {
        match lines.next().await {
            Ok(Some((number, line))) => {
                bytes += line.len();
                batch.push((number, line));
            }
            Ok(None) => break Ok(()),
            Err(refusal) => break Err(refusal),
        }
        if batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            import.take(std::mem::take(&mut batch)).await?;
            bytes = 0;
        }
    };
    // What came before a mistake is taken all the same.
    import.take(batch).await?;
    end?;
    if lines.number == 0 {
        return Err(ApiError::malformed("the body is empty; it has one JSON object a line").at(""));
    }
    json(StatusCode::OK, &import.report)
}

/// An import under way.
struct Import {
    service: Arc<Service>,
    by: String,
    study: String,
    /// Whether these are the lines of a learner's file.
    of_learner: bool,
    dry_run: Option<DryRun>,
    report: Report,
}

impl Import {
    async fn take(&mut self, batch: Vec<(u64, String)>) -> Result<(), ApiError> {
        let Some((_, first)) = batch.first() else {
            return Ok(());
        };
        if !self.of_learner && Record::from_line(first).is_ok() {
            self.take_events(batch).await
        } else {
            self.take_episodes(batch).await
        }
    }

    /// The first line of a learner's file, of which nothing is kept.
    async fn take_head(&mut self, number: u64, line: String) -> Result<(), ApiError> {
        self.of_learner = true;
        let head = self.service.head(&self.study).await?;
        let study = self.service.study(&head)?;
        // It may be long, and there may be much to compare: not on a thread that serves others.
        let checked = tokio::task::spawn_blocking(move || check_head(&study, number, &line)).await;
        match checked.map_err(|_| ApiError::internal("comparing the problems failed"))? {
            Err(refusal) if self.dry_run.is_some() => {
                self.report.mistake(refusal.detail);
                Ok(())
            }
            checked => checked,
        }
    }

    async fn take_events(&mut self, batch: Vec<(u64, String)>) -> Result<(), ApiError> {
        let mut records = Vec::with_capacity(batch.len());
        for (number, line) in batch {
            let record = Record::from_line(&line);
            records.push(
                record.map_err(|error| ApiError::malformed(format!("line {number}: {error}")))?,
            );
        }
        if self.dry_run.is_none() {
            return self.submit(Command::Restore(records)).await;
        }
        self.try_out(move |dry_run, store, study, report| {
            dry_run.events(store, study, &records, report)
        })
        .await
    }

    async fn take_episodes(&mut self, batch: Vec<(u64, String)>) -> Result<(), ApiError> {
        let of_learner = self.of_learner;
        let lines = batch.into_iter().filter_map(|(number, line)| {
            let read = crate::domain::json::object::<Past>(line.as_bytes());
            if of_learner && read.is_err() && is_query(&line) {
                return None;
            }
            let read = read.map_err(|refusal| match SavedLearnerHeader::matches(&line) {
                true => ApiError::malformed(
                    "a learner's file begins here; it must be the first line: import one file at a time",
                )
                .at("/emab_learner"),
                false => refusal,
            });
            Some((number, read.map_err(|refusal| in_line(number, refusal))))
        });
        if self.dry_run.is_some() {
            let lines: Vec<_> = lines.collect();
            return self
                .try_out(move |dry_run, store, study, report| {
                    dry_run.episodes(store, study, &lines, report)
                })
                .await;
        }
        let mut list = Vec::new();
        let mut mistake = None;
        for (number, line) in lines {
            match line {
                Ok(past) => list.push((number, past)),
                Err(refusal) => {
                    mistake = Some(refusal);
                    break;
                }
            }
        }
        // What came before it on the way here is taken all the same.
        self.submit(Command::Import(list)).await?;
        mistake.map_or(Ok(()), Err)
    }

    /// Has a part of a dry run done where the store is.
    async fn try_out<F>(&mut self, part: F) -> Result<(), ApiError>
    where
        F: FnOnce(&mut DryRun, &mut dyn Store, &str, &mut Report) -> Result<(), CommandError>
            + Send
            + 'static,
    {
        let mut dry_run = self.dry_run.take().unwrap_or_default();
        let mut report = std::mem::take(&mut self.report);
        let study = self.study.clone();
        let tried = self.service.read(move |store| {
            part(&mut dry_run, store, &study, &mut report)?;
            Ok((dry_run, report))
        });
        let (dry_run, report) = tried.await?;
        self.dry_run = Some(dry_run);
        self.report = report;
        Ok(())
    }

    async fn submit(&mut self, command: Command) -> Result<(), ApiError> {
        let reply = self.service.submit(&self.study, command, &self.by).await?;
        if let Said::Taken { new, repeated } = reply.body {
            self.report.taken += new;
            self.report.repeated += repeated;
        }
        Ok(())
    }
}
