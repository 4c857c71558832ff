//! The one list of learners, and a learner of it by name with its parameters.

use std::fmt;
use std::sync::Arc;

use super::entry::{Access, Build, BuiltLearner, ChoiceBasis, LearnerEntry};
use super::parameter::{LearnerDefaults, ParameterValue, resolve};
use super::settings::Settings;
use crate::learner::Learner;
use crate::learners::algorithms::ALGORITHMS;
use crate::learners::{FeedBalParameters, LearnerError};
use crate::model::Problem;
use crate::parameter::{Delta, ParameterError};
use crate::spec::Spec;

/// All learners.
pub static CATALOGUE: &[&LearnerEntry] = ALGORITHMS;

/// What stands in the catalogue's place for a learner of somebody's own.
static USER_DEFINED: LearnerEntry = LearnerEntry {
    name: "own",
    title: "own",
    about: "a learner of your own",
    reference: "",
    access: Access::Spec,
    has_guarantee: false,
    choice_basis: ChoiceBasis::Asked,
    parameters: &[],
    build: |build| {
        Err(LearnerError::UserDefined {
            learner: build.learner.into(),
            what: "there is nothing to build it with".into(),
        })
    },
};

/// Builds a learner of somebody's own.
type UserBuild = dyn Fn(&Arc<Spec>) -> Result<Box<dyn Learner + Send>, LearnerError> + Send + Sync;

/// Does work within what a learner of somebody's own needs on its thread.
type ThreadContext = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;

#[derive(Clone)]
struct UserDefined {
    build: Arc<UserBuild>,
    with_thread_context: Option<Arc<ThreadContext>>,
}

impl fmt::Debug for UserDefined {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Own")
    }
}

/// A learner by name with all its parameters set, ready to be built as often as needed.
///
/// ```
/// use emab::learners::{LearnerConfig, LearnerDefaults};
/// let config = LearnerConfig::parse("feedbal:sigma2=0.05", &LearnerDefaults::default()).unwrap();
/// assert_eq!(config.label(), "feedbal:sigma2=0.05");
/// let wrong = LearnerConfig::parse("feedball", &LearnerDefaults::default()).unwrap_err();
/// assert_eq!(wrong.to_string(), "unknown learner `feedball`, did you mean `feedbal`?; `emab learners` lists them");
/// ```
#[derive(Clone, Debug)]
pub struct LearnerConfig {
    entry: &'static LearnerEntry,
    text: String,
    values: Vec<(&'static str, ParameterValue)>,
    assumed: Vec<&'static str>,
    learning: LearnerDefaults,
    user_defined: Option<UserDefined>,
}

impl LearnerConfig {
    /// A learner of your own, which the engine plays beside those of the catalogue: it is built once for each thread (or
    /// oftener) and reset before every run.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::learners::LearnerConfig;
    /// use emab::{Action, Episode, Learner, Names, Spec, Stream};
    ///
    /// struct Cautious;
    /// impl Learner for Cautious {
    ///     fn choose(&mut self, _t: usize, _x: usize) -> Action { Action::Stop }
    ///     fn learn(&mut self, _episode: &Episode) {}
    ///     fn reset(&mut self, _stream: Stream) {}
    /// }
    /// let config = LearnerConfig::own("cautious", |_spec| Ok(Box::new(Cautious)));
    /// let spec = Spec::new(3, Names::Count(1, ""), Names::Count(1, "a"), Names::Count(1, "")).unwrap();
    /// assert_eq!(config.build(&Arc::new(spec), None).unwrap().choose(1, 0), Action::Stop);
    /// ```
    pub fn user_defined(
        label: &str,
        build: impl Fn(&Arc<Spec>) -> Result<Box<dyn Learner + Send>, LearnerError>
        + Send
        + Sync
        + 'static,
    ) -> LearnerConfig {
        LearnerConfig {
            entry: &USER_DEFINED,
            text: label.into(),
            values: Vec::new(),
            assumed: Vec::new(),
            learning: LearnerDefaults::default(),
            user_defined: Some(UserDefined {
                build: Arc::new(build),
                with_thread_context: None,
            }),
        }
    }

    /// The same learner of your own, played within a function that does what it is given: for what a thread must hold
    /// while it plays, such as a place in another language's interpreter. One from the catalogue needs nothing.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use emab::learners::LearnerConfig;
    ///
    /// let held = Arc::new(AtomicBool::new(false));
    /// let holds = held.clone();
    /// let config = LearnerConfig::own("cautious", |_spec| unreachable!()).around(move |work| {
    ///     holds.store(true, Ordering::Relaxed);
    ///     work();
    /// });
    /// let mut worked = false;
    /// config.within(&mut || worked = true);
    /// assert!(worked && held.load(Ordering::Relaxed));
    /// ```
    #[must_use]
    pub fn with_thread_context(
        mut self,
        with_thread_context: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static,
    ) -> LearnerConfig {
        if let Some(user_defined) = &mut self.user_defined {
            user_defined.with_thread_context = Some(Arc::new(with_thread_context));
        }
        self
    }

    /// Does work within what the learner needs on this thread.
    pub fn in_thread_context(&self, work: &mut (dyn FnMut() + Send)) {
        match self
            .user_defined
            .as_ref()
            .and_then(|user_defined| user_defined.with_thread_context.as_ref())
        {
            Some(with_thread_context) => with_thread_context(work),
            None => work(),
        }
    }

    /// Reads `name` or `name:key=value,key=value`; what is not given comes from `learning`, then from the catalogue.
    pub fn parse(text: &str, learning: &LearnerDefaults) -> Result<LearnerConfig, LearnerError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let entry = CATALOGUE
            .iter()
            .find(|entry| entry.name == name)
            .copied()
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
            learning: *learning,
            user_defined: None,
        })
    }

    /// Whether it is one's own, and not of the catalogue.
    pub fn is_user_defined(&self) -> bool {
        self.user_defined.is_some()
    }

    /// What results call it: its name in the catalogue, or that of a learner of one's own.
    pub fn name(&self) -> &str {
        match self.user_defined {
            Some(_) => &self.text,
            None => self.entry.name,
        }
    }

    /// The catalogue's entry; for a learner of one's own, one that is not in it.
    pub fn entry(&self) -> &'static LearnerEntry {
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

    /// What neither the call nor the problem file gave, though a file could have: `sigma2`, `delta` and such.
    pub fn assumed(&self) -> &[&'static str] {
        &self.assumed
    }

    /// What the problem file states, used or not.
    pub(crate) fn learning(&self) -> &LearnerDefaults {
        &self.learning
    }

    /// All parameters, to be read with their ranges checked.
    pub(crate) fn settings(&self) -> Settings<'_> {
        Settings {
            learner: self.entry.name,
            values: &self.values,
        }
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

    /// FeedBAL's parameters, if that is what it is, with a width of the paper's form and nothing forgotten: what its theory
    /// is evaluated with.
    pub fn feedbal_parameters(&self) -> Result<FeedBalParameters, LearnerError> {
        let (learner, settings) = (self.entry.name, self.settings());
        if learner != "feedbal" {
            return Err(LearnerError::NoBounds { learner });
        }
        if settings.memory()?.is_some() {
            return Err(LearnerError::Forgets { learner });
        }
        settings.feedbal_parameters()
    }

    /// The chance that all of its confidence bounds hold up to, if it promises that they hold.
    pub fn guaranteed_delta(&self) -> Result<Delta, LearnerError> {
        let (learner, settings) = (self.entry.name, self.settings());
        if !self.entry.has_guarantee {
            return Err(LearnerError::NoGuarantee { learner });
        }
        if settings.memory()?.is_some() {
            return Err(LearnerError::Forgets { learner });
        }
        Delta::new(settings.number("delta")?).map_err(|error| settings.wrong(error))
    }

    /// The learner, for a problem whose truth is at hand if the learner needs it.
    pub fn build(
        &self,
        spec: &Arc<Spec>,
        problem: Option<&Arc<Problem>>,
    ) -> Result<Box<dyn Learner + Send>, LearnerError> {
        self.build_typed(spec, problem).map(BuiltLearner::boxed)
    }

    /// The same learner by its type, for an engine that has a faster implementation of some of them.
    pub fn build_typed(
        &self,
        spec: &Arc<Spec>,
        problem: Option<&Arc<Problem>>,
    ) -> Result<BuiltLearner, LearnerError> {
        match &self.user_defined {
            Some(user_defined) => (user_defined.build)(spec).map(BuiltLearner::Other),
            None => self.build_with(spec, problem, self.entry.build),
        }
    }

    /// The same by a function of one's own, for tests that look into a learner.
    pub(crate) fn build_with<L>(
        &self,
        spec: &Arc<Spec>,
        problem: Option<&Arc<Problem>>,
        build: impl Fn(&Build<'_>) -> Result<L, LearnerError>,
    ) -> Result<L, LearnerError> {
        build(&Build {
            settings: self.settings(),
            spec,
            problem: problem.filter(|_| self.entry.access != Access::Spec),
        })
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
