//! Reads logs: past episodes, saved learners, and tables with one row per decision. The decision service reads its own log.

mod table;

use std::io::BufRead;

use emab_episodes::{SavedEntry, SavedLearner, SavedLearnerError, read_past_episodes};
use emab_problem::{OutcomeRange, ProblemFile};
use emab_tables::TableError;
use thiserror::Error;

use crate::log::{DecisionLog, LoggedEpisode};

pub use table::{COLUMNS, TableLog, read_csv_log, read_parquet_log};

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The lines are not past episodes of the problem, or not a saved learner.
    #[error(transparent)]
    Lines(#[from] SavedLearnerError),
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A column is missing.
    #[error(
        "the table has no column `{column}`: a table of decisions has `episode`, `step`, `action`, `feedback`, `cost` and `reward`"
    )]
    Column {
        /// The column.
        column: &'static str,
    },
    /// A row is invalid.
    #[error("row {row}, column `{column}`: {what}")]
    Cell {
        /// Its line in CSV, and its number from 1 elsewhere.
        row: u64,
        /// The column.
        column: &'static str,
        /// What is wrong.
        what: String,
    },
    /// An episode is invalid.
    #[error("episode `{episode}` (row {row}): {what}")]
    Episode {
        /// Its name.
        episode: String,
        /// Its first row, as above.
        row: u64,
        /// What is wrong.
        what: String,
    },
}

/// Past episodes, one JSON object per line, in the order of the file.
pub fn read_past_log(file: ProblemFile, from: impl BufRead) -> Result<DecisionLog, LogError> {
    let episodes = read_past_episodes(file.spec(), from)?;
    let past = (0..).zip(episodes);
    let past = past.map(|(at, (id, episode))| LoggedEpisode::past(id, episode, at));
    let past = past.collect();
    Ok(DecisionLog::new(file, OutcomeRange::default(), past))
}

/// The episodes that a saved learner learned from, with its problem.
pub fn read_saved_learner_log(from: impl BufRead) -> Result<DecisionLog, LogError> {
    let saved = SavedLearner::read(from)?;
    let learned = saved.entries.into_iter().filter_map(|entry| match entry {
        SavedEntry::Episode(episode) => Some(episode),
        SavedEntry::Query(..) => None,
    });
    let past = (0..).zip(learned);
    let past =
        past.map(|(at, episode)| LoggedEpisode::past(format!("learned-{}", at + 1), episode, at));
    let past = past.collect();
    Ok(DecisionLog {
        learner: Some(saved.learner),
        ..DecisionLog::new(saved.file, OutcomeRange::default(), past)
    })
}
