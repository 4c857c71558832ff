//! Imports newline-delimited JSON: past episodes, the events of an exported study, or the file of a saved learner.
//!
//! Lines are collected in batches. Each batch is one command, or is only checked in a dry run. Lines before an error stay.

mod dry_run;
mod saved_learner;

use std::sync::Arc;

use emab_episodes::{SavedLearnerHeader, is_query};
use serde::Serialize;
use utoipa::ToSchema;

use self::dry_run::DryRun;
use self::saved_learner::check_header;
use crate::app::export::ExportHeader;
use crate::app::{CHANGED, CommandError, Service, ServiceError};
use crate::domain::json::object_of;
use crate::domain::{
    Author, Command, Event, EventKind, PastEpisode, Record, Rejection, ReplyBody, RestoreEvents,
    Study, StudyState,
};
use crate::store::Store;

/// The largest number of lines in a batch, and of bytes.
const BATCH: (usize, usize) = (500, 1 << 20);
/// The largest number of mistakes that a dry run reports.
const MAX_MISTAKES: usize = 100;

/// The result of an import.
#[derive(Default, Serialize, ToSchema)]
pub struct ImportReport {
    /// Lines that were imported, or would be.
    taken: u64,
    /// Lines that were imported before.
    repeated: u64,
    /// Whether nothing was written.
    dry_run: bool,
    /// The errors, by line; only in a dry run, which continues after an error.
    mistakes: Vec<String>,
}

impl ImportReport {
    fn mistake(&mut self, what: String) {
        if self.mistakes.len() < MAX_MISTAKES {
            self.mistakes.push(what);
        }
    }
}

pub struct Import {
    service: Arc<Service>,
    study: String,
    by: Author,
    dry_run: Option<DryRun>,
    /// Checks the events of an export before they are restored.
    check: DryRun,
    /// Whether the first line was the header of a saved learner.
    of_learner: bool,
    /// The first line of an export, if it has one.
    export: Option<ExportHeader>,
    /// Whether events were restored, or would be.
    has_events: bool,
    is_first: bool,
    batch: Vec<(u64, String)>,
    report: ImportReport,
}

impl Import {
    pub fn new(service: Arc<Service>, study: String, by: Author, dry_run: bool) -> Import {
        Import {
            service,
            study,
            by,
            dry_run: dry_run.then(DryRun::default),
            check: DryRun::default(),
            of_learner: false,
            export: None,
            has_events: false,
            is_first: true,
            batch: Vec::new(),
            report: ImportReport {
                dry_run,
                ..ImportReport::default()
            },
        }
    }

    /// Adds a line, and executes the batch if it is full.
    pub async fn add(&mut self, number: u64, line: String) -> Result<(), ServiceError> {
        if std::mem::take(&mut self.is_first) {
            if SavedLearnerHeader::matches(&line) {
                return self.header(number, line).await;
            }
            if ExportHeader::matches(&line) {
                let header = ExportHeader::read(&line, &self.study);
                self.export = Some(header.map_err(|rejection| rejection.in_line(number))?);
                return Ok(());
            }
        }
        self.batch.push((number, line));
        let bytes: usize = self.batch.iter().map(|(_, line)| line.len()).sum();
        if self.batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            self.execute().await?;
        }
        Ok(())
    }

    /// Imports the lines so far, after an error in the next one.
    pub async fn flush(mut self) -> Result<(), ServiceError> {
        self.execute().await
    }

    /// Imports the last lines. A restored study is live from here on.
    pub async fn finish(mut self) -> Result<ImportReport, ServiceError> {
        self.execute().await?;
        let end = self.export.take().map(|header| (header.seq, header.hash));
        match (&self.dry_run, &end) {
            (Some(dry_run), Some((seq, _))) if dry_run.end() != end => {
                let what =
                    format!("the export does not end with event {seq}, which its first line names");
                self.report.mistake(what);
            }
            (None, _) if self.has_events || end.is_some() => {
                self.submit(Command::FinishRestore(end)).await?;
            }
            _ => {}
        }
        Ok(self.report)
    }

    async fn execute(&mut self) -> Result<(), ServiceError> {
        let batch = std::mem::take(&mut self.batch);
        match batch.first() {
            None => Ok(()),
            Some((_, first)) if !self.of_learner && Record::from_line(first).is_ok() => {
                self.events(batch).await
            }
            Some(_) => self.past_episodes(batch).await,
        }
    }

    /// Checks the header of a saved learner; nothing of it is kept.
    async fn header(&mut self, number: u64, line: String) -> Result<(), ServiceError> {
        self.of_learner = true;
        let head = self.service.head(&self.study).await?;
        let study = self.service.load_study(&head).await?;
        // Comparing the problems can take long: not on an async thread.
        let checked =
            tokio::task::spawn_blocking(move || check_header(&study, number, &line)).await;
        match checked.map_err(|_| Rejection::internal("comparing the problems failed"))? {
            Err(rejection) if self.dry_run.is_some() => {
                self.report.mistake(rejection.to_string());
                Ok(())
            }
            checked => Ok(checked?),
        }
    }

    async fn events(&mut self, batch: Vec<(u64, String)>) -> Result<(), ServiceError> {
        let read = |(number, line): (u64, String)| {
            Record::from_line(&line)
                .map_err(|error| Rejection::malformed(error.to_string()).in_line(number))
        };
        let records = batch.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        self.has_events = true;
        if self.dry_run.is_none() {
            let (records, checked) = self.check_events(records).await?;
            let (study, records) = self.restored_study(records).await?;
            let end = self.export.as_ref();
            let end = end.map(|header| (header.seq, header.hash.clone()));
            let events = RestoreEvents {
                study,
                end,
                records,
            };
            // Events before an error are restored.
            if !events.records.is_empty() {
                self.submit(Command::Restore(events)).await?;
            }
            return checked;
        }
        self.try_out(move |dry_run, store, study, report| {
            dry_run.events(store, study, &records, report)
        })
        .await
    }

    /// Checks events beside the writer, and recomputes their decisions. Returns those before the first error, and the error.
    async fn check_events(
        &mut self,
        mut records: Vec<Record>,
    ) -> Result<(Vec<Record>, Result<(), ServiceError>), ServiceError> {
        let mut check = std::mem::take(&mut self.check);
        let study = self.study.clone();
        let checked = self.service.read(move |store| {
            let mut report = ImportReport::default();
            let checked = check.events(store, &study, &records, &mut report);
            records.truncate((report.taken + report.repeated) as usize);
            let checked = match checked {
                Err(CommandError::Store(error)) => return Err(error.into()),
                Err(CommandError::Rejected(rejection)) => Err(rejection.into()),
                other => other.map_err(|_| Rejection::internal("the check failed").into()),
            };
            Ok((check, records, checked))
        });
        let (check, records, checked) = checked.await?;
        self.check = check;
        Ok((records, checked))
    }

    /// The study that the first event creates, if it is among these events. Checking it can take long: not on an async thread.
    async fn restored_study(
        &mut self,
        records: Vec<Record>,
    ) -> Result<(Option<Arc<Study>>, Vec<Record>), ServiceError> {
        let name = self.study.clone();
        let read = tokio::task::spawn_blocking(move || {
            let first = records.first().filter(|record| record.seq == 1);
            let study = first.map(|first| restored(&name, first)).transpose()?;
            Ok::<_, Rejection>((study, records))
        });
        let failed = |_| Rejection::internal("the specification could not be read");
        Ok(read.await.map_err(failed)??)
    }

    async fn past_episodes(&mut self, batch: Vec<(u64, String)>) -> Result<(), ServiceError> {
        let of_learner = self.of_learner;
        let lines = batch.into_iter().filter_map(|(number, line)| {
            let read = object_of::<PastEpisode>(line.as_bytes(), "an episode");
            if of_learner && read.is_err() && is_query(&line) {
                return None;
            }
            let read = read.map_err(|rejection| match SavedLearnerHeader::matches(&line) {
                true => Rejection::malformed(
                    "the file of a saved learner begins here; its header must be the first line: import one file at a time",
                )
                .at("/emab_learner"),
                false => rejection,
            });
            Some((number, read.map_err(|rejection| rejection.in_line(number))))
        });
        if self.dry_run.is_some() {
            let lines: Vec<_> = lines.collect();
            let specs = self.service.specs.clone();
            return self
                .try_out(move |dry_run, store, study, report| {
                    dry_run.past_episodes(store, &specs, study, &lines, report)
                })
                .await;
        }
        let mut failed = Ok(());
        let list = lines.map_while(|(number, line)| match line {
            Ok(past) => Some((number, past)),
            Err(rejection) => {
                failed = Err(rejection.into());
                None
            }
        });
        // Lines before the error are imported.
        let command = Command::Import(list.collect());
        self.submit(command).await?;
        failed
    }

    /// Runs a part of a dry run on a reader connection.
    async fn try_out(
        &mut self,
        part: impl FnOnce(
            &mut DryRun,
            &mut dyn Store,
            &str,
            &mut ImportReport,
        ) -> Result<(), CommandError>
        + Send
        + 'static,
    ) -> Result<(), ServiceError> {
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

    async fn submit(&mut self, command: Command) -> Result<(), ServiceError> {
        let reply = self.service.submit(&self.study, command, &self.by).await?;
        if let ReplyBody::Imported { new, repeated } = reply.body {
            self.report.taken += new;
            self.report.repeated += repeated;
        }
        Ok(())
    }
}

/// The study that the first event of an export creates. It must be applicable: a study without events must not be left behind.
fn restored(name: &str, first: &Record) -> Result<Arc<Study>, Rejection> {
    let wrong = |what: &str| Rejection::conflict(format!("event {}: {what}", first.seq));
    if !first.is_intact() {
        return Err(wrong(CHANGED));
    }
    let (event, spec, rules) = created_by(name, first)?;
    let faulty =
        |rejection: Rejection| Rejection::not_possible(format!("event 1: {}", rejection.detail));
    let study = Arc::new(Study::check_canonical(name, &spec).map_err(faulty)?);
    let mut state = StudyState::new(study.clone(), rules).map_err(faulty)?;
    state.check_strictly(&event, None).map_err(faulty)?;
    let advanced = state.advance(&event, &first.hash, None);
    advanced.map_err(|rejection| wrong(&rejection.detail))?;
    Ok(study)
}

/// The first event of an exported study, with the specification and the rules in it; fails if the event does not create this
/// study.
fn created_by(study: &str, first: &Record) -> Result<(Event, String, u32), Rejection> {
    let event = first
        .read()
        .map_err(|error| Rejection::not_possible(error.to_string()))?;
    match &event.kind {
        EventKind::Created(created) if created.study == study => {
            let (spec, rules) = (created.spec.get().to_owned(), created.rules);
            Ok((event, spec, rules))
        }
        EventKind::Created(created) => Err(Rejection::not_possible(format!(
            "these are the events of study `{}`, not of `{study}`",
            created.study
        ))),
        _ => Err(Rejection::not_possible(format!(
            "there is no study `{study}`, and the first event does not create it"
        ))),
    }
}
