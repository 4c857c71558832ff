//! Finds and reads a log: the file of an export, of past episodes, of a saved learner or of a table, a store, or a service.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use emab::Names;
use emab::reach::SpecComparison;
use emab_episodes::SavedLearnerHeader;
use emab_logs::read::{read_csv_log, read_parquet_log, read_past_log, read_saved_learner_log};
use emab_logs::{DecisionLog, LogError};
use emab_problem::{Format, ProblemFile};
use serde_json::Value;
use thiserror::Error;

use crate::app::decision_log::{LogReadError, of_export, of_store};
use crate::app::export::ExportHeader;
use crate::domain::{CHECKED_PAIRS, Record, Study};
use crate::remote::{RemoteError, StudyUrl};
use crate::store::{Address, Head, Store, StoreError};

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The first bytes of every Parquet file.
const PARQUET: &[u8] = b"PAR1";
/// The longest first line: a problem with large tables fits.
const MAX_FIRST_LINE: u64 = 256 << 20;
/// The environment variable with the token for a service.
pub const TOKEN: &str = "EMAB_TOKEN";

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The call is wrong, or the content is not a log.
    #[error("{0}")]
    Input(String),
    /// The system, the store or the service failed.
    #[error("{0}")]
    System(String),
}

/// A log and the problem that it is on.
pub struct LogSource<'a> {
    /// A file, `-` for standard input, a store (`sqlite:FILE`, `postgres://…`) or the URL of a service.
    pub place: &'a str,
    /// The study, where the place has several.
    pub study: Option<&'a str>,
    /// The problem, where the log does not carry it.
    pub problem: Option<ProblemFile>,
    /// Called with the number of events read so far.
    pub progress: &'a mut dyn FnMut(u64),
}

impl SourceError {
    fn at(self, place: &str) -> SourceError {
        match self {
            SourceError::Input(what) => SourceError::Input(format!("{place}: {what}")),
            SourceError::System(what) => SourceError::System(format!("{place}: {what}")),
        }
    }
}

fn input(error: impl std::fmt::Display) -> SourceError {
    SourceError::Input(error.to_string())
}

impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> SourceError {
        match error {
            StoreError::Damaged(_) => input(error),
            other => SourceError::System(other.to_string()),
        }
    }
}

impl From<LogReadError> for SourceError {
    fn from(error: LogReadError) -> SourceError {
        match error {
            LogReadError::Store(error) => error.into(),
            LogReadError::Input(_) => SourceError::System(error.to_string()),
            other => input(other),
        }
    }
}

impl From<RemoteError> for SourceError {
    fn from(error: RemoteError) -> SourceError {
        match error {
            RemoteError::Connection { .. } => SourceError::System(error.to_string()),
            // The service is overloaded, or fails.
            RemoteError::Answer { status, .. } if status == 429 || status >= 500 => {
                SourceError::System(error.to_string())
            }
            other => input(other),
        }
    }
}

impl LogSource<'_> {
    /// Reads the log. If a problem is given, the log must be of it, and its parameters and model are used.
    pub fn read(mut self) -> Result<DecisionLog, SourceError> {
        let problem = self.problem.take();
        let mut log = match self.place.split_once(':') {
            Some(("http" | "https", rest)) if rest.starts_with("//") => self.remote()?,
            Some(("sqlite" | "postgres" | "postgresql", _)) => {
                self.store(&self.place.parse().map_err(SourceError::Input)?)?
            }
            // The rest may contain a password.
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(input(format!(
                    "`{scheme}://…` is not a log: it is a file, sqlite:FILE, postgres://…, http://… or https://…"
                )));
            }
            _ if self.place == "-" => {
                let stdin = BufReader::new(std::io::stdin());
                self.stream("standard input", stdin, problem.clone())?
            }
            _ => self.file(problem.clone())?,
        };
        if let Some(problem) = problem {
            same_problem(&log, &problem)?;
            log.file = problem;
        }
        Ok(log)
    }

    fn remote(&mut self) -> Result<DecisionLog, SourceError> {
        let url = StudyUrl::parse(self.place, self.study)?;
        let token = std::env::var(TOKEN).unwrap_or_default();
        if token.trim().is_empty() {
            return Err(input(format!(
                "the service needs a token that may read the log: set {TOKEN} to it"
            )));
        }
        let export = url.export(token.trim())?;
        Ok(of_export(&export[..], &mut *self.progress)?)
    }

    fn store(&mut self, address: &Address) -> Result<DecisionLog, SourceError> {
        if let Address::Sqlite(file) = address
            && !file.is_file()
        {
            return Err(input(format!("there is no store {}", file.display())));
        }
        let mut store = address.inspect()?;
        store.begin_snapshot()?;
        let head = find_study(&mut *store, self.study)?;
        Ok(of_store(&mut *store, &head, &mut *self.progress)?)
    }

    fn file(&mut self, problem: Option<ProblemFile>) -> Result<DecisionLog, SourceError> {
        let place = self.place;
        let unreadable = |error: std::io::Error| input(format!("cannot read {place}: {error}"));
        let mut file = File::open(place).map_err(unreadable)?;
        let mut begin = Vec::new();
        let head = (&mut file).take(16).read_to_end(&mut begin);
        head.map_err(unreadable)?;
        if begin.starts_with(SQLITE) {
            return self.store(&Address::Sqlite(place.into()));
        }
        if begin.starts_with(PARQUET) {
            self.has_no_study()?;
            return in_place(place, read_parquet_log(needed(place, problem)?, file));
        }
        // A pipe cannot be read twice.
        let whole = Cursor::new(begin).chain(file);
        self.stream(place, BufReader::with_capacity(1 << 20, whole), problem)
    }

    /// Fails if a study is named, for a log that has none.
    fn has_no_study(&self) -> Result<(), SourceError> {
        match self.study {
            None => Ok(()),
            Some(study) => Err(input(format!(
                "{} has no study `{study}`: --study names one of a store, a service or an export",
                self.place
            ))),
        }
    }

    /// Lines of JSON, or a table in CSV.
    fn stream(
        &mut self,
        place: &str,
        mut from: impl BufRead + Send,
        problem: Option<ProblemFile>,
    ) -> Result<DecisionLog, SourceError> {
        let unreadable = |error: std::io::Error| input(format!("cannot read {place}: {error}"));
        // White space may fill the first buffers.
        let mut begin = Vec::new();
        let first = loop {
            let buffer = from.fill_buf().map_err(unreadable)?;
            let first = buffer.iter().find(|byte| !byte.is_ascii_whitespace());
            let (first, read) = (first.copied(), buffer.len());
            if read == 0 || begin.len() as u64 > MAX_FIRST_LINE {
                return Err(input(format!("{place} is empty")));
            }
            begin.extend_from_slice(buffer);
            from.consume(read);
            if let Some(first) = first {
                break first;
            }
        };
        if begin.starts_with(PARQUET) {
            return Err(input(
                "a table in Parquet is read from a file, not from standard input",
            ));
        }
        let mut from = Cursor::new(begin).chain(from);
        if first != b'{' {
            self.has_no_study()?;
            return in_place(place, read_csv_log(needed(place, problem)?, from));
        }
        // The first line says what the others are; it may be longer than a buffer.
        let mut line = Vec::new();
        let read = (&mut from)
            .take(MAX_FIRST_LINE)
            .read_until(b'\n', &mut line);
        if read.map_err(unreadable)? as u64 == MAX_FIRST_LINE {
            return Err(input(format!(
                "{place}: the first line is longer than {MAX_FIRST_LINE} bytes"
            )));
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        let whole = Cursor::new(line).chain(from);
        let has_header = ExportHeader::matches(&text);
        if has_header || Record::from_line(&text).is_ok() {
            if let Some(study) = self.study.filter(|_| has_header) {
                let header = ExportHeader::read(&text, study);
                header.map_err(|error| input(format!("{place}: {}", error.detail)))?;
            }
            let log = of_export(whole, &mut *self.progress);
            return log.map_err(|error| SourceError::from(error).at(place));
        }
        self.has_no_study()?;
        if SavedLearnerHeader::matches(&text) {
            return in_place(place, read_saved_learner_log(whole));
        }
        in_place(place, read_past_log(needed(place, problem)?, whole))
    }
}

/// How a log is called in files that are made from it: the end of its path, or the name of the database or study. Never the part of
/// an address that can contain a password.
///
/// ```
/// use emab_server::log_source::source_name;
/// assert_eq!(source_name("data/log.jsonl", None), "log.jsonl");
/// assert_eq!(source_name("postgres://ada:secret@db/emab", Some("clinic")), "emab, study clinic");
/// assert_eq!(source_name("postgres://ada:secret@db", None), "postgres");
/// ```
pub fn source_name(place: &str, study: Option<&str>) -> String {
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let name = match place.split_once("://") {
        None => place.trim_end_matches('/').rsplit('/').next(),
        Some((scheme, rest)) => {
            let rest = rest.rsplit('@').next().unwrap_or_default();
            let path = rest.split_once('/').map(|(_, path)| path);
            let end = path.and_then(|path| path.trim_end_matches('/').rsplit('/').next());
            end.filter(|end| !end.is_empty()).or(Some(scheme))
        }
    };
    let name = name.unwrap_or(place);
    match study {
        Some(study) => format!("{name}, study {study}"),
        None => name.into(),
    }
}

fn in_place(place: &str, log: Result<DecisionLog, LogError>) -> Result<DecisionLog, SourceError> {
    log.map_err(|error| input(format!("{place}: {error}")))
}

fn needed(place: &str, problem: Option<ProblemFile>) -> Result<ProblemFile, SourceError> {
    problem.ok_or_else(|| {
        let name = Path::new(place).file_name().unwrap_or_default();
        input(format!(
            "{} does not say which problem it is of: name it with --problem FILE",
            name.to_string_lossy()
        ))
    })
}

/// The problem of the body of a request that creates a study: a problem as JSON with `learner` and other fields beside it. None if
/// the text is not such a body.
pub fn study_problem(body: &[u8]) -> Option<Result<ProblemFile, SourceError>> {
    let fields: Value = serde_json::from_slice(body).ok()?;
    fields.get("learner")?;
    Some(Study::read("study", body).map_err(input).and_then(|study| {
        let problem = study.problem_json().map_err(input)?;
        let mut problem: Value = serde_json::from_str(&problem).map_err(input)?;
        let range = serde_json::to_value(study.outcome_range).map_err(input)?;
        if range.as_object().is_some_and(|it| !it.is_empty()) {
            problem["learning"]["outcome_range"] = range;
        }
        ProblemFile::parse_as(Format::Json, "study", &problem.to_string()).map_err(input)
    }))
}

/// Fails if a log is not of this problem.
fn same_problem(log: &DecisionLog, problem: &ProblemFile) -> Result<(), SourceError> {
    let compared = problem.spec().compare(log.spec(), CHECKED_PAIRS);
    match compared.map_err(|error| input(problem.locate(&error)))? {
        SpecComparison::Same | SpecComparison::TooLarge => Ok(()),
        SpecComparison::Differ(found) => Err(input(format!(
            "the log is of another problem: {} is {} in `{}` and {} in the log",
            found.what,
            found.one,
            problem.name(),
            found.other
        ))),
    }
}

/// The study of this name, or the only one of the store.
pub fn find_study(store: &mut dyn Store, study: Option<&str>) -> Result<Head, SourceError> {
    let mut heads = store.heads("", 1_000)?;
    let names = || Names::List(heads.iter().map(|head| head.name.clone()).collect());
    match study {
        _ if heads.is_empty() => Err(input("the store has no study")),
        None if heads.len() == 1 => Ok(heads.remove(0)),
        None => Err(input(format!(
            "the store has several studies{}: name one with --study",
            names().instead_of("")
        ))),
        Some(name) => store.head(name)?.ok_or_else(|| {
            let instead = names().instead_of(name);
            input(format!("the store has no study `{name}`{instead}"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_service_is_no_wrong_call() {
        let is_input = |status| {
            let (address, what) = ("desk:80".into(), "no reason is given".into());
            let error = RemoteError::Answer {
                address,
                status,
                what,
            };
            matches!(SourceError::from(error), SourceError::Input(_))
        };
        assert_eq!(
            [401, 404, 429, 500, 503].map(is_input),
            [true, true, false, false, false]
        );
    }
}
