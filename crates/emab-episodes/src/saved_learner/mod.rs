//! A learner saved as its configuration and the episodes that it learned from. Loading it replays them and gives the
//! same learner, bit by bit.
//!
//! One JSON object per line. The first is the header: learner and problem. The others are episodes as the decision
//! service imports them (`{"id", "actions", "feedbacks", "costs", "rewards"}`, `null` for an unknown value) and, for
//! learners whose choices depend on how often they are asked, the queries in between (`{"ask": [step, state]}`).

mod entry;
mod header;

use std::collections::HashSet;
use std::io::{BufRead, Write};

use emab::learners::{LearnerConfig, LearnerError};
use emab::{Episode, Learner, Role, Stream};
use serde::Serialize;
use thiserror::Error;

use self::entry::QueryLine;
use crate::line_reader::LineReader;
use crate::past_episode::{NameIndex, write_past_episode};
use crate::validate::{first_state, states_of};
use emab_problem::{ProblemFile, ReadError};

pub use entry::is_query;
pub use header::SavedLearnerHeader;

/// A call of the learner.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedEntry {
    /// It was asked for an action at this step, in this state.
    Query(usize, usize),
    /// It learned from an episode.
    Episode(Episode),
}

/// A learner and the calls that led to its state.
#[derive(Clone, Debug)]
pub struct SavedLearner {
    /// The problem as the learner sees it: without the model, unless the learner needs it.
    pub file: ProblemFile,
    /// The learner, as on the command line.
    pub learner: String,
    /// Seed of the learner's random stream.
    pub seed: u64,
    /// Calls, in order.
    pub entries: Vec<SavedEntry>,
}

/// Why a learner cannot be read, written or rebuilt.
#[derive(Debug, Error)]
pub enum SavedLearnerError {
    /// Input or output failed.
    #[error("cannot read or write the learner: {0}")]
    System(#[from] std::io::Error),
    /// A line is invalid.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The problem in the header is invalid.
    #[error("in the problem of the learner: {0}")]
    Problem(#[from] Box<ReadError>),
    /// The learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl SavedLearner {
    /// Whether queries must be recorded: whether choices depend on anything but the learned episodes.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// use emab_episodes::SavedLearner;
    /// let records = |text| SavedLearner::records_queries(&LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap());
    /// assert!(!records("feedbal") && records("thompson") && records("feedbal:ties=random"));
    /// ```
    pub fn records_queries(config: &LearnerConfig) -> bool {
        config.chooses_from_tables().is_err()
    }

    /// Number of episodes learned from.
    pub fn episodes(&self) -> u64 {
        self.learned().count() as u64
    }

    /// Episodes learned from, in order.
    pub fn learned(&self) -> impl Iterator<Item = &Episode> {
        self.entries.iter().filter_map(|entry| match entry {
            SavedEntry::Episode(episode) => Some(episode),
            SavedEntry::Query(..) => None,
        })
    }

    /// Builds the learner and replays all entries.
    ///
    /// ```
    /// use emab::Episode;
    /// use emab_episodes::{SavedEntry, SavedLearner};
    /// use emab_problem::ProblemFile;
    /// let problem = ProblemFile::find("resource").unwrap();
    /// let episode = Episode {
    ///     states: vec![0, 1], actions: vec![0], feedbacks: vec![1], costs: vec![0.1], rewards: vec![0.0, 1.2],
    /// };
    /// let saved = SavedLearner {
    ///     file: problem.without_model().unwrap(), learner: "feedbal".into(), seed: 1,
    ///     entries: vec![SavedEntry::Episode(episode)],
    /// };
    /// let mut file = Vec::new();
    /// saved.write(&mut file).unwrap();
    /// let again = SavedLearner::read(&file[..]).unwrap();
    /// assert_eq!(again.entries, saved.entries);
    /// let (_, mut learner) = again.rebuild().unwrap();
    /// assert_eq!(learner.estimate(1, 0, emab::Action::Continue(0)).unwrap().count, 1);
    /// ```
    pub fn rebuild(&self) -> Result<(LearnerConfig, Box<dyn Learner + Send>), SavedLearnerError> {
        let config = LearnerConfig::parse(&self.learner, self.file.learning())?;
        let truth = self.file.problem().ok();
        let mut learner = config.build(self.file.spec(), truth.as_ref())?;
        learner.reset(Stream::new(self.seed, 0, Role::Learner));
        for entry in &self.entries {
            match entry {
                SavedEntry::Query(t, x) => {
                    learner.choose(*t, *x);
                }
                SavedEntry::Episode(episode) => learner.learn(episode),
            }
        }
        Ok((config, learner))
    }

    /// Writes the file. Fails on an entry that could not be read again.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), SavedLearnerError> {
        let spec = self.file.spec();
        header::write(self, out)?;
        let mut id = 0;
        for (i, entry) in self.entries.iter().enumerate() {
            let invalid = |what| SavedLearnerError::Line { line: i + 2, what };
            match entry {
                SavedEntry::Query(t, x) => {
                    let query = QueryLine::new(spec, *t, *x).map_err(invalid)?;
                    write_line(out, &query)?;
                }
                SavedEntry::Episode(episode) => {
                    states_of(spec, first_state(spec, episode), episode).map_err(invalid)?;
                    id += 1;
                    write_past_episode(out, spec, ("learned", id), episode)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a file and validates every episode against the problem.
    pub fn read(from: impl BufRead) -> Result<SavedLearner, SavedLearnerError> {
        let mut lines = LineReader::new(from);
        let Some((number, first)) = lines.next()? else {
            return Err(SavedLearnerError::Line {
                line: 1,
                what: format!("the file is empty; {}", header::EXPECTED),
            });
        };
        let header = SavedLearnerHeader::read(number, first)?;
        let (spec, mut entries) = (header.file.spec().clone(), Vec::new());
        let (names, mut ids) = (NameIndex::new(&spec), HashSet::new());
        while let Some((line, text)) = lines.next()? {
            let entry = entry::read(&spec, &names, text, &mut ids);
            entries.push(entry.map_err(|what| SavedLearnerError::Line { line, what })?);
        }
        Ok(SavedLearner {
            file: header.file,
            learner: header.learner,
            seed: header.seed,
            entries,
        })
    }
}

/// Writes a value as one line of JSON.
fn write_line(out: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
