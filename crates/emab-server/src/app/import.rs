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
use crate::app::{CommandError, Service, ServiceError};
use crate::domain::{Command, PastEpisode, Record, Rejection, ReplyBody};
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
    by: String,
    dry_run: Option<DryRun>,
    /// Whether the first line was the header of a saved learner.
    of_learner: bool,
    is_first: bool,
    batch: Vec<(u64, String)>,
    report: ImportReport,
}

impl Import {
    pub fn new(service: Arc<Service>, study: String, by: &str, dry_run: bool) -> Import {
        Import {
            service,
            study,
            by: by.into(),
            dry_run: dry_run.then(DryRun::default),
            of_learner: false,
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
        if std::mem::take(&mut self.is_first) && SavedLearnerHeader::matches(&line) {
            return self.header(number, line).await;
        }
        self.batch.push((number, line));
        let bytes: usize = self.batch.iter().map(|(_, line)| line.len()).sum();
        if self.batch.len() >= BATCH.0 || bytes >= BATCH.1 {
            self.execute().await?;
        }
        Ok(())
    }

    pub async fn finish(mut self) -> Result<ImportReport, ServiceError> {
        self.execute().await?;
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
                self.report.mistake(rejection.detail);
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
        if self.dry_run.is_none() {
            return self.submit(Command::Restore(records)).await;
        }
        self.try_out(move |dry_run, store, study, report| {
            dry_run.events(store, study, &records, report)
        })
        .await
    }

    async fn past_episodes(&mut self, batch: Vec<(u64, String)>) -> Result<(), ServiceError> {
        let of_learner = self.of_learner;
        let lines = batch.into_iter().filter_map(|(number, line)| {
            let read = crate::domain::json::object::<PastEpisode>(line.as_bytes());
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
            return self
                .try_out(move |dry_run, store, study, report| {
                    dry_run.past_episodes(store, study, &lines, report)
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
