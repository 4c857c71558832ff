//! The one list of learners: names, parameters, defaults, references, and how to build each.

use std::sync::Arc;

use serde::Serialize;
use thiserror::Error;

use super::parameter::{Learning, Parameter, ParameterValue, resolve};
use super::settings::Settings;
use super::{FeedBal, FeedBalParameters, Policy, Random, TooManyArms, Ucb1};
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::{Optimal, OracleError, Pairs, best_fixed};
use crate::parameter::{Delta, ParameterError, Sigma2, Spread};
use crate::spec::Spec;

/// What a learner gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sees {
    /// The specification and the episodes.
    Spec,
    /// The truth.
    Problem,
}

/// One learner of the catalogue.
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in figures and text.
    pub title: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it was published.
    pub reference: &'static str,
    /// What it gets to see.
    pub sees: Sees,
    /// What can be set.
    pub parameters: &'static [Parameter],
    build: fn(&Build<'_>) -> Result<Box<dyn Learner + Send>, LearnerError>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Entry({})", self.name)
    }
}

/// Why a learner cannot be had.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LearnerError {
    /// No such learner.
    #[error(
        "unknown learner `{name}`{}; `emab learners` lists them",
        did_you_mean(near)
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        near: Option<&'static str>,
    },
    /// Not `name:key=value,key=value`.
    #[error("learner `{text}`: `{part}` is not of the form key=value")]
    Form {
        /// The whole.
        text: String,
        /// The part that is wrong.
        part: String,
    },
    /// No such parameter.
    #[error("learner `{learner}` has no parameter `{name}`; {}", it_has(known))]
    UnknownParameter {
        /// The learner.
        learner: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A parameter set twice.
    #[error("learner `{learner}`: `{name}` is given twice")]
    Twice {
        /// The learner.
        learner: &'static str,
        /// The parameter.
        name: String,
    },
    /// A parameter outside of its range.
    #[error("learner `{learner}`: {error}")]
    Parameter {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: ParameterError,
    },
    /// More sequences than can be arms.
    #[error("learner `{learner}`: {error}")]
    Arms {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: TooManyArms,
    },
    /// The truth cannot be worked out.
    #[error("learner `{learner}`: {error}")]
    Oracle {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: OracleError,
    },
    /// The truth is needed and there is none.
    #[error("learner `{learner}` plays what the truth says, and this problem has no `model`")]
    NeedsModel {
        /// The learner.
        learner: &'static str,
    },
    /// It has no confidence bounds that could be checked.
    #[error("learner `{learner}` promises nothing that could be checked; `feedbal` does")]
    NoPromise {
        /// The learner.
        learner: &'static str,
    },
    /// Too many fixed sequences to find the best of them.
    #[error("learner `{learner}`: there are too many fixed sequences to find the best of them")]
    Sequences {
        /// The learner.
        learner: &'static str,
    },
}

fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

fn it_has(known: &[&'static str]) -> String {
    if known.is_empty() {
        "it has none".into()
    } else {
        format!("it has `{}`", known.join("`, `"))
    }
}

/// The most outcomes that are followed for the best fixed sequence: some seconds.
pub const FIXED_WORK: usize = 20_000_000;

/// All learners.
pub static CATALOGUE: &[Entry] = &[
    Entry {
        name: "feedbal",
        title: "FeedBAL",
        about: "upper confidence bounds on the gain of each action, by step and state",
        reference: "Tekin, van der Schaar, Episodic Multi-armed Bandits, Algorithm 2",
        sees: Sees::Spec,
        parameters: &[
            Parameter::new(
                "sigma2",
                "0.25",
                "variance proxy of the noise on costs and rewards, at least 0",
            )
            .stated(|learning| learning.sigma2.map(Sigma2::get)),
            Parameter::new(
                "delta",
                "0.01",
                "chance that some confidence bound may fail with, in (0, 1); `1/n` for one over the episodes of the run",
            )
            .stated(|learning| learning.delta.map(Delta::get)),
            Parameter::new(
                "width",
                "paper",
                "confidence width: `paper` (Equations 3 and 4 as printed) or `sound` (covers the feedback too)",
            ),
            Parameter::new(
                "sigma2_cost",
                "sigma2",
                "variance proxy of the noise on costs alone",
            )
            .stated(|learning| learning.sigma2_cost.map(Sigma2::get))
            .part_of("sigma2"),
            Parameter::new(
                "sigma2_reward",
                "sigma2",
                "variance proxy of the noise on rewards alone",
            )
            .stated(|learning| learning.sigma2_reward.map(Sigma2::get))
            .part_of("sigma2"),
            Parameter::new(
                "feedback_spread",
                "[learning]",
                "for width=sound: how far one feedback can move the next expected reward",
            )
            .stated(|learning| learning.spread().map(Spread::get))
            .only_with("width", "sound"),
            Parameter::new(
                "stop_bias",
                "0",
                "added to the index of `stop` (the epsilon of Section 4), a finite number",
            ),
            Parameter::new(
                "ties",
                "lowest",
                "who wins a tie among continuation actions: `lowest` or `random`",
            ),
        ],
        build: |with| {
            let parameters = with.feedbal()?;
            Ok(Box::new(FeedBal::new(with.spec.clone(), parameters)))
        },
    },
    Entry {
        name: "ucb1",
        title: "UCB1",
        about: "one arm for each sequence of actions; updates the arm it played",
        reference: "Auer, Cesa-Bianchi, Fischer 2002, over sequences as in Section 5 of the paper",
        sees: Sees::Spec,
        parameters: &[],
        build: |with| with.ucb1(false),
    },
    Entry {
        name: "ucb1v",
        title: "UCB1-V",
        about: "UCB1 that updates every prefix of the sequence it played",
        reference: "Tekin, van der Schaar, Section 5",
        sees: Sees::Spec,
        parameters: &[],
        build: |with| with.ucb1(true),
    },
    Entry {
        name: "benchmark",
        title: "benchmark",
        about: "always takes the best next step",
        reference: "Tekin, van der Schaar, Algorithm 1",
        sees: Sees::Problem,
        parameters: &[],
        build: |with| {
            let policy = Policy::benchmark(with.problem()?).map_err(|e| with.oracle(e))?;
            Ok(Box::new(policy))
        },
    },
    Entry {
        name: "optimal",
        title: "optimal",
        about: "plays the optimal policy",
        reference: "backward induction",
        sees: Sees::Problem,
        parameters: &[],
        build: |with| {
            let policy = Policy::optimal(with.problem()?).map_err(|e| with.oracle(e))?;
            Ok(Box::new(policy))
        },
    },
    Entry {
        name: "best-fixed",
        title: "best fixed",
        about: "plays the best sequence that looks at no feedback",
        reference: "Tekin, van der Schaar, Section 2",
        sees: Sees::Problem,
        parameters: &[],
        build: |with| {
            let mut pairs = Pairs::new(with.problem()?).map_err(|e| with.oracle(e))?;
            let optimal = Optimal::new(&mut pairs).map_err(|e| with.oracle(e))?;
            let best = best_fixed(&pairs, &optimal, FIXED_WORK).ok_or(LearnerError::Sequences {
                learner: with.learner,
            })?;
            Ok(Box::new(Policy::fixed(with.spec.clone(), &best)))
        },
    },
    Entry {
        name: "random",
        title: "random",
        about: "any allowed action or stop, each with the same chance",
        reference: "none",
        sees: Sees::Spec,
        parameters: &[],
        build: |with| Ok(Box::new(Random::new(with.spec.clone()))),
    },
];

/// A learner by name with all its parameters set, ready to be built as often as needed.
///
/// ```
/// use emab::learners::{LearnerConfig, Learning};
/// let config = LearnerConfig::parse("feedbal:sigma2=0.05", &Learning::default()).unwrap();
/// assert_eq!(config.label(), "feedbal:sigma2=0.05");
/// let wrong = LearnerConfig::parse("feedball", &Learning::default()).unwrap_err();
/// assert_eq!(wrong.to_string(), "unknown learner `feedball`, did you mean `feedbal`?; `emab learners` lists them");
/// ```
#[derive(Clone, Debug)]
pub struct LearnerConfig {
    entry: &'static Entry,
    text: String,
    values: Vec<(&'static str, ParameterValue)>,
    assumed: Vec<&'static str>,
}

impl LearnerConfig {
    /// Reads `name` or `name:key=value,key=value`; what is not given comes from `learning`, then from the catalogue.
    pub fn parse(text: &str, learning: &Learning) -> Result<LearnerConfig, LearnerError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let entry = CATALOGUE
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| LearnerError::Unknown {
                name: name.into(),
                near: nearest(name, CATALOGUE.iter().map(|entry| entry.name)),
            })?;
        let mut given: Vec<(&str, &str)> = Vec::new();
        for part in settings.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| LearnerError::Form {
                text: text.into(),
                part: part.into(),
            })?;
            let (key, value) = (key.trim(), value.trim());
            if !entry.parameters.iter().any(|p| p.name == key) {
                return Err(LearnerError::UnknownParameter {
                    learner: entry.name,
                    name: key.into(),
                    known: entry.parameters.iter().map(|p| p.name).collect(),
                });
            }
            if given.iter().any(|(k, _)| *k == key) {
                return Err(LearnerError::Twice {
                    learner: entry.name,
                    name: key.into(),
                });
            }
            given.push((key, value));
        }
        let given = |name: &str| {
            let set = given.iter().find(|(key, _)| *key == name);
            set.map(|(_, value)| ParameterValue::read(value))
        };
        let (values, assumed) = resolve(entry.parameters, &given, learning);
        Ok(LearnerConfig {
            entry,
            text: text.trim().into(),
            values,
            assumed,
        })
    }

    /// The catalogue's entry.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// What it was asked for as: tells two settings of one learner apart.
    pub fn label(&self) -> &str {
        &self.text
    }

    /// All parameters as they are set.
    pub fn parameters(&self) -> &[(&'static str, ParameterValue)] {
        &self.values
    }

    /// `sigma2` and `delta`, where neither the call nor the problem file gave them.
    pub fn assumed(&self) -> &[&'static str] {
        &self.assumed
    }

    /// The same for a run of so many episodes: `delta=1/n` becomes a number.
    pub fn for_episodes(mut self, episodes: u64) -> Result<LearnerConfig, LearnerError> {
        let delta = self.values.iter_mut().find(|(name, _)| *name == "delta");
        if let Some((_, value)) = delta
            && *value == ParameterValue::Word("1/n".into())
        {
            if episodes < 2 {
                let rule =
                    "lie in (0, 1), and at n = 1 it promises nothing (ask for at least 2 episodes)";
                return Err(LearnerError::Parameter {
                    learner: self.entry.name,
                    error: ParameterError::new("delta", rule, "1/n = 1"),
                });
            }
            *value = ParameterValue::Number(1.0 / episodes as f64);
        }
        Ok(self)
    }

    /// FeedBAL's parameters, if that is what it is: what its theory is evaluated with.
    pub fn feedbal(&self) -> Result<FeedBalParameters, LearnerError> {
        let learner = self.entry.name;
        if learner != "feedbal" {
            return Err(LearnerError::NoPromise { learner });
        }
        let values = &self.values;
        Settings { learner, values }.feedbal()
    }

    /// The learner, for a problem whose truth is at hand if the learner needs it.
    pub fn build(
        &self,
        spec: &Arc<Spec>,
        problem: Option<&Arc<Problem>>,
    ) -> Result<Box<dyn Learner + Send>, LearnerError> {
        (self.entry.build)(&Build {
            settings: Settings {
                learner: self.entry.name,
                values: &self.values,
            },
            spec,
            problem: problem.filter(|_| self.entry.sees == Sees::Problem),
        })
    }
}

/// What a learner is built from.
struct Build<'a> {
    settings: Settings<'a>,
    spec: &'a Arc<Spec>,
    problem: Option<&'a Arc<Problem>>,
}

impl<'a> std::ops::Deref for Build<'a> {
    type Target = Settings<'a>;

    fn deref(&self) -> &Settings<'a> {
        &self.settings
    }
}

impl Build<'_> {
    fn oracle(&self, error: OracleError) -> LearnerError {
        LearnerError::Oracle {
            learner: self.learner,
            error,
        }
    }

    fn problem(&self) -> Result<Arc<Problem>, LearnerError> {
        self.problem.cloned().ok_or(LearnerError::NeedsModel {
            learner: self.learner,
        })
    }

    fn ucb1(&self, virtual_updates: bool) -> Result<Box<dyn Learner + Send>, LearnerError> {
        let learner =
            Ucb1::new(self.spec.clone(), virtual_updates).map_err(|error| LearnerError::Arms {
                learner: self.learner,
                error,
            })?;
        Ok(Box::new(learner))
    }
}

/// The name nearest to `word`, if it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, d) in b.iter().enumerate() {
            let replace = diagonal + usize::from(c != *d);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
