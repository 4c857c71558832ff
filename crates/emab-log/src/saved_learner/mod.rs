//! A learner with what it learned from, in a file: whoever reads it learns the same again, to the bit.
//!
//! One JSON object a line. The first says which learner it is and for which problem; the others are episodes as the
//! decision service imports them (`{"id", "actions", "feedbacks", "costs", "rewards"}`, `null` where a value is not known)
//! and, for learners whose choices depend on being asked, the questions in between (`{"ask": [step, state]}`).

mod head;
mod line;
mod lines;
mod number;

use std::collections::HashSet;
use std::io::{BufRead, Write};

use emab::learners::{LearnerConfig, LearnerError};
use emab::{Episode, Learner, Role, Stream};
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use self::line::{Indices, Past, Question};
use self::lines::Lines;
use crate::validate::states_of;
use emab_problem::ReadError;
use emab_problem::{Format, ProblemFile};

pub use head::SavedLearnerHeader;
pub use line::is_query;

/// Something that happened to a learner.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedEntry {
    /// It was asked at this step, in this state.
    Asked(usize, usize),
    /// It learned from an episode.
    Learned(Episode),
}

/// A learner and its past.
#[derive(Clone, Debug)]
pub struct SavedLearner {
    /// What it knows of the problem: without the truth, unless it is a learner that is told it.
    pub file: ProblemFile,
    /// The learner, as on the command line.
    pub learner: String,
    /// The seed of its own randomness.
    pub seed: u64,
    /// What happened to it, in order.
    pub past: Vec<SavedEntry>,
}

/// Why a learner cannot be had from a file.
#[derive(Debug, Error)]
pub enum SavedLearnerError {
    /// The system's doing.
    #[error("cannot read or write the learner: {0}")]
    System(#[from] std::io::Error),
    /// A line that cannot be.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The problem in it cannot be.
    #[error("in the problem of the learner: {0}")]
    Problem(#[from] Box<ReadError>),
    /// The learner cannot be.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

impl SavedLearner {
    /// What is kept of a problem: all that its file says but the truth and its conditions.
    pub fn spec_of(file: &ProblemFile) -> Result<ProblemFile, SavedLearnerError> {
        let tree: Result<Value, _> = serde_json::from_str(file.canonical());
        let mut tree = tree.map_err(std::io::Error::from)?;
        if let Some(fields) = tree.as_object_mut() {
            fields.remove("model");
            fields.remove("conditions");
        }
        let text = tree.to_string();
        Ok(ProblemFile::parse_as(Format::Json, "problem", &text).map_err(Box::new)?)
    }

    /// Whether the questions to a learner are part of its past: whether it chooses by anything but what it learned.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, Learning};
    /// use emab_problem::Trained;
    /// let needs = |text| Trained::needs_questions(&LearnerConfig::parse(text, &Learning::default()).unwrap());
    /// assert!(!needs("feedbal") && needs("thompson") && needs("feedbal:ties=random"));
    /// ```
    pub fn needs_questions(config: &LearnerConfig) -> bool {
        config.chooses_from_tables().is_err()
    }

    /// How many episodes it learned from.
    pub fn episodes(&self) -> u64 {
        self.learned().count() as u64
    }

    /// The episodes it learned from, in order.
    pub fn learned(&self) -> impl Iterator<Item = &Episode> {
        self.past.iter().filter_map(|happened| match happened {
            SavedEntry::Learned(episode) => Some(episode),
            SavedEntry::Asked(..) => None,
        })
    }

    /// The learner as it was.
    ///
    /// ```
    /// use emab::Episode;
    /// use emab_problem::{Happened, ProblemFile, Trained};
    /// let problem = ProblemFile::find("resource").unwrap();
    /// let episode = Episode {
    ///     states: vec![0, 1], actions: vec![0], feedbacks: vec![1], costs: vec![0.1], rewards: vec![0.0, 1.2],
    /// };
    /// let trained = Trained {
    ///     file: Trained::spec_of(&problem).unwrap(), learner: "feedbal".into(), seed: 1,
    ///     past: vec![SavedEntry::Learned(episode)],
    /// };
    /// let mut file = Vec::new();
    /// trained.write(&mut file).unwrap();
    /// let again = Trained::read(&file[..]).unwrap();
    /// assert_eq!(again.past, trained.past);
    /// let (_, mut learner) = again.rebuild().unwrap();
    /// assert_eq!(learner.estimate(1, 0, emab::Action::Continue(0)).unwrap().count, 1);
    /// ```
    pub fn rebuild(&self) -> Result<(LearnerConfig, Box<dyn Learner + Send>), SavedLearnerError> {
        let config = LearnerConfig::parse(&self.learner, self.file.learning())?;
        let truth = self.file.problem().ok();
        let mut learner = config.build(self.file.spec(), truth.as_ref())?;
        learner.reset(Stream::new(self.seed, 0, Role::Learner));
        for happened in &self.past {
            match happened {
                SavedEntry::Asked(t, x) => {
                    learner.choose(*t, *x);
                }
                SavedEntry::Learned(episode) => learner.learn(episode),
            }
        }
        Ok((config, learner))
    }

    /// Writes it down. What could not be read again is refused.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), SavedLearnerError> {
        let spec = self.file.spec();
        head::write(self, out)?;
        let mut number = 0;
        for (i, happened) in self.past.iter().enumerate() {
            let wrong = |what| SavedLearnerError::Line { line: i + 2, what };
            match happened {
                SavedEntry::Asked(t, x) => {
                    let question = Question::of(spec, *t, *x).map_err(wrong)?;
                    write_line(out, &question)?;
                }
                SavedEntry::Learned(episode) => {
                    states_of(spec, episode).map_err(wrong)?;
                    number += 1;
                    write_line(out, &Past::of(spec, number, episode))?;
                }
            }
        }
        Ok(())
    }

    /// Reads what was written down, every episode checked against the problem.
    pub fn read(from: impl BufRead) -> Result<SavedLearner, SavedLearnerError> {
        let mut lines = Lines::new(from);
        let Some((number, first)) = lines.next()? else {
            return Err(SavedLearnerError::Line {
                line: 1,
                what: format!("the file is empty; {}", head::EXPECTED),
            });
        };
        let head = SavedLearnerHeader::read(number, first)?;
        let (spec, mut past) = (head.file.spec().clone(), Vec::new());
        let (indices, mut ids) = (Indices::of(&spec), HashSet::new());
        while let Some((line, text)) = lines.next()? {
            let happened = line::read(&spec, &indices, text, &mut ids);
            past.push(happened.map_err(|what| SavedLearnerError::Line { line, what })?);
        }
        Ok(SavedLearner {
            file: head.file,
            learner: head.learner,
            seed: head.seed,
            past,
        })
    }
}

/// One line of JSON.
fn write_line(out: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
