//! A learner with what it learned from, in a file: whoever reads it learns the same again, to the bit.
//!
//! One JSON object a line. The first says which learner it is and for which problem; the others are episodes as the
//! decision service imports them (`{"id", "actions", "feedbacks", "costs", "rewards"}`, `null` where a value is not known)
//! and, for learners whose choices depend on being asked, the questions in between (`{"ask": [step, state]}`).

use std::io::{BufRead, Write};

use emab::learners::{Chooses, LearnerConfig, LearnerError};
use emab::{Episode, Learner, Role, Stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::error::ReadError;
use crate::file::{Format, ProblemFile};

/// The version of the format.
const FORMAT: u32 = 1;
/// Longer lines are none of ours.
const LONGEST: usize = 256 << 20;

/// Something that happened to a learner.
#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// It was asked at this step, in this state.
    Asked(usize, usize),
    /// It learned from an episode.
    Learned(Episode),
}

/// A learner and its past.
#[derive(Clone, Debug)]
pub struct Trained {
    /// What it knows of the problem: without the truth, unless it is a learner that is told it.
    pub file: ProblemFile,
    /// The learner, as on the command line.
    pub learner: String,
    /// The seed of its own randomness.
    pub seed: u64,
    /// What happened to it, in order.
    pub past: Vec<Happened>,
}

/// Why a learner cannot be had from a file.
#[derive(Debug, Error)]
pub enum TrainedError {
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
    #[error("line 1: {0}")]
    Problem(#[from] Box<ReadError>),
    /// The learner cannot be.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

#[derive(Serialize, Deserialize)]
struct Head {
    emab_learner: u32,
    version: String,
    learner: String,
    seed: u64,
    problem: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Ask {
        ask: (usize, usize),
    },
    Past {
        id: String,
        actions: Vec<Value>,
        feedbacks: Vec<Value>,
        #[serde(default)]
        costs: Vec<Option<f64>>,
        #[serde(default)]
        rewards: Vec<Option<f64>>,
    },
}

impl Trained {
    /// What is kept of a problem: all that its file says but the truth and its conditions.
    pub fn spec_of(file: &ProblemFile) -> Result<ProblemFile, TrainedError> {
        let tree: Result<Value, _> = serde_json::from_str(file.canonical());
        let mut tree = tree.map_err(std::io::Error::from)?;
        if let Some(fields) = tree.as_object_mut() {
            fields.remove("model");
            fields.remove("conditions");
        }
        let text = tree.to_string();
        Ok(ProblemFile::parse_as(Format::Json, "problem", &text).map_err(Box::new)?)
    }

    /// Whether the questions to a learner are part of its past.
    pub fn needs_questions(config: &LearnerConfig) -> bool {
        config.entry().chooses != Chooses::Tables
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
    ///     past: vec![Happened::Learned(episode)],
    /// };
    /// let mut file = Vec::new();
    /// trained.write(&mut file).unwrap();
    /// let again = Trained::read(&file[..]).unwrap();
    /// assert_eq!(again.past, trained.past);
    /// let (_, mut learner) = again.rebuild().unwrap();
    /// assert_eq!(learner.estimate(1, 0, emab::Action::Continue(0)).unwrap().count, 1);
    /// ```
    pub fn rebuild(&self) -> Result<(LearnerConfig, Box<dyn Learner + Send>), TrainedError> {
        let config = LearnerConfig::parse(&self.learner, self.file.learning())?;
        let truth = self.file.problem().ok();
        let mut learner = config.build(self.file.spec(), truth.as_ref())?;
        learner.reset(Stream::new(self.seed, 0, Role::Learner));
        for happened in &self.past {
            match happened {
                Happened::Asked(t, x) => {
                    learner.choose(*t, *x);
                }
                Happened::Learned(episode) => learner.learn(episode),
            }
        }
        Ok((config, learner))
    }

    /// Writes it down.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), TrainedError> {
        let spec = self.file.spec();
        let head = Head {
            emab_learner: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            learner: self.learner.clone(),
            seed: self.seed,
            problem: serde_json::from_str(self.file.canonical()).map_err(std::io::Error::from)?,
        };
        line(out, &head)?;
        let mut number = 0;
        for happened in &self.past {
            match happened {
                Happened::Asked(t, x) => line(out, &Line::Ask { ask: (*t, *x) })?,
                Happened::Learned(episode) => {
                    number += 1;
                    let known = |values: &[f64]| {
                        values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect()
                    };
                    let names = |names: &emab::Names, of: &[usize]| {
                        of.iter().map(|&i| names.name(i).into()).collect()
                    };
                    let past = Line::Past {
                        id: format!("learned-{number}"),
                        actions: names(spec.actions(), &episode.actions),
                        feedbacks: names(spec.feedbacks(), &episode.feedbacks),
                        costs: known(&episode.costs),
                        rewards: known(&episode.rewards),
                    };
                    line(out, &past)?;
                }
            }
        }
        Ok(())
    }

    /// Reads what was written down, every episode checked against the problem.
    pub fn read(from: impl BufRead) -> Result<Trained, TrainedError> {
        let wrong = |line, what: &dyn std::fmt::Display| TrainedError::Line {
            line,
            what: what.to_string(),
        };
        let mut lines = from.lines().enumerate();
        let Some((_, first)) = lines.next() else {
            return Err(wrong(
                1,
                &"the file is empty; it should begin with `{\"emab_learner\": 1, …}`",
            ));
        };
        let head: Head = serde_json::from_str(&first?)
            .map_err(|error| wrong(1, &format!("this is not the file of a learner: {error}")))?;
        if head.emab_learner != FORMAT {
            let what = format!(
                "the format is {}, written by emab {}; this is {} and reads {FORMAT}",
                head.emab_learner,
                head.version,
                env!("CARGO_PKG_VERSION")
            );
            return Err(wrong(1, &what));
        }
        let problem = head.problem.to_string();
        let mut trained = Trained {
            file: ProblemFile::parse_as(Format::Json, "problem", &problem).map_err(Box::new)?,
            learner: head.learner,
            seed: head.seed,
            past: Vec::new(),
        };
        for (i, line) in lines {
            let (number, line) = (i + 1, line?);
            if line.len() > LONGEST {
                return Err(wrong(number, &"it is too long"));
            }
            if line.trim().is_empty() {
                continue;
            }
            let read: Line = serde_json::from_str(&line).map_err(|error| {
                let what = format!("neither an episode nor a question: {error}");
                wrong(number, &what)
            })?;
            let happened = trained.happened(read);
            trained
                .past
                .push(happened.map_err(|what| wrong(number, &what))?);
        }
        Ok(trained)
    }

    fn happened(&self, line: Line) -> Result<Happened, String> {
        let spec = self.file.spec();
        match line {
            Line::Ask { ask: (t, x) } => {
                if !(1..=spec.horizon()).contains(&t) || x >= spec.states().len() {
                    return Err(format!("there is no step {t} with a state {x}"));
                }
                Ok(Happened::Asked(t, x))
            }
            Line::Past {
                actions,
                feedbacks,
                costs,
                rewards,
                ..
            } => {
                let episode = Episode {
                    states: Vec::new(),
                    actions: numbers("action", spec.actions(), &actions)?,
                    feedbacks: numbers("feedback", spec.feedbacks(), &feedbacks)?,
                    costs: costs.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
                    rewards: rewards.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
                };
                Ok(Happened::Learned(checked(spec, episode)?))
            }
        }
    }
}

/// The episode with the states that its actions and feedbacks lead to, if it is one that the specification allows: what
/// learners rely on. States that it states itself must be those.
pub fn checked(spec: &emab::Spec, mut episode: Episode) -> Result<Episode, String> {
    let steps = episode.actions.len() + 1;
    if episode.feedbacks.len() + 1 != steps {
        return Err(format!(
            "{} actions and {} feedbacks: there is one feedback for each action",
            steps - 1,
            episode.feedbacks.len()
        ));
    }
    if steps > spec.horizon() {
        return Err(format!(
            "{} actions: at most {} fit before the horizon",
            steps - 1,
            spec.horizon() - 1
        ));
    }
    for (what, values, most) in [
        ("costs", &episode.costs, steps - 1),
        ("rewards", &episode.rewards, steps),
    ] {
        if values.len() > most {
            return Err(format!(
                "{} {what}: an episode of {steps} steps has {most}",
                values.len()
            ));
        }
        if let Some(value) = values
            .iter()
            .find(|value| value.is_infinite() || value.abs() > 1e100)
        {
            return Err(format!(
                "`{what}` has {value}: a finite number of at most 1e100 in size is expected"
            ));
        }
    }
    let mut states = vec![spec.start()];
    let mut x = spec.start();
    for (i, (&a, &f)) in episode.actions.iter().zip(&episode.feedbacks).enumerate() {
        let t = i + 1;
        if a >= spec.actions().len() {
            return Err(format!(
                "action {a} at step {t}: they are 0 to {}",
                spec.actions().len() - 1
            ));
        }
        if f >= spec.feedbacks().len() {
            return Err(format!(
                "feedback {f} at step {t}: they are 0 to {}",
                spec.feedbacks().len() - 1
            ));
        }
        match spec.check_allowed(t, x, a) {
            Ok(true) => {}
            Ok(false) => return Err(format!("action {a} is not allowed at t = {t}, x = {x}")),
            Err(error) => return Err(error.to_string()),
        }
        x = spec.next(t, x, a, f).map_err(|error| error.to_string())?;
        states.push(x);
    }
    if !episode.states.is_empty() && episode.states != states {
        return Err(format!(
            "its states are {:?}, and its actions and feedbacks lead to {states:?}",
            episode.states
        ));
    }
    episode.states = states;
    // What is not known at the end of a list may be left out of it, or be there as NaN.
    if !episode.rewards.is_empty() {
        episode.rewards.resize(steps, f64::NAN);
    }
    episode.costs.resize(steps - 1, f64::NAN);
    Ok(episode)
}

/// Names or numbers as numbers.
fn numbers(what: &str, names: &emab::Names, values: &[Value]) -> Result<Vec<usize>, String> {
    let number = |value: &Value| {
        let found = match value {
            Value::String(name) => (0..names.len()).find(|&i| names.name(i) == name.as_str()),
            Value::Number(number) => number
                .as_u64()
                .and_then(|i| usize::try_from(i).ok())
                .filter(|i| *i < names.len()),
            _ => None,
        };
        found.ok_or_else(|| format!("there is no {what} {value}"))
    };
    values.iter().map(number).collect()
}

/// One line of JSON.
fn line(out: &mut dyn Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
