//! The catalogue of learners, and [`LearnerConfig`]: a learner by name with its parameters.

use std::fmt;
use std::sync::Arc;

use super::entry::{Access, Build, BuiltLearner, LearnerEntry, ProvedBounds};
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

/// The entry of user-defined learners, which is not in the catalogue.
static USER_DEFINED: LearnerEntry = LearnerEntry {
    name: "own",
    title: "own",
    about: "a user-defined learner",
    ..LearnerEntry::DEFAULT
};

/// Builds a user-defined learner.
type UserBuild = dyn Fn(&Arc<Spec>) -> Result<Box<dyn Learner + Send>, LearnerError> + Send + Sync;

/// Runs work in the context that a user-defined learner needs on its thread.
type ThreadContext = dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync;

#[derive(Clone)]
struct UserDefined {
    build: Arc<UserBuild>,
    thread_context: Option<Arc<ThreadContext>>,
}

impl fmt::Debug for UserDefined {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("UserDefined")
    }
}

/// A learner by name with all its parameters, from which instances are built.
///
/// ```
/// use emab::learners::{LearnerConfig, LearnerDefaults};
/// let config = LearnerConfig::parse("feedbal:sigma2=0.05", &LearnerDefaults::default()).unwrap();
/// assert_eq!(config.label(), "feedbal:sigma2=0.05");
/// assert_eq!(LearnerConfig::parse("feedbal:", &LearnerDefaults::default()).unwrap().label(), "feedbal");
/// let wrong = LearnerConfig::parse("feedball", &LearnerDefaults::default()).unwrap_err();
/// assert_eq!(wrong.to_string(), "unknown learner `feedball` (did you mean `feedbal`?); `emab learners` lists them");
/// ```
#[derive(Clone, Debug)]
pub struct LearnerConfig {
    entry: &'static LearnerEntry,
    text: String,
    values: Vec<(&'static str, ParameterValue)>,
    assumed: Vec<&'static str>,
    defaults: LearnerDefaults,
    user_defined: Option<UserDefined>,
}

impl LearnerConfig {
    /// A user-defined learner, which experiments play like those of the catalogue: built at least once per thread and
    /// reset before every run.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::learners::LearnerConfig;
    /// use emab::{Action, Episode, Learner, Spec, Stream};
    ///
    /// struct Cautious;
    /// impl Learner for Cautious {
    ///     fn choose(&mut self, _t: usize, _x: usize) -> Action { Action::Stop }
    ///     fn learn(&mut self, _episode: &Episode) {}
    ///     fn reset(&mut self, _stream: Stream) {}
    /// }
    /// let config = LearnerConfig::user_defined("cautious", |_spec| Ok(Box::new(Cautious)));
    /// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    /// assert_eq!(config.build(&Arc::new(spec), None).unwrap().choose(1, 0), Action::Stop);
    /// ```
    pub fn user_defined(
        label: &str,
        build: impl Fn(&Arc<Spec>) -> Result<Box<dyn Learner + Send>, LearnerError>
        + Send
        + Sync
        + 'static,
    ) -> LearnerConfig {
        let user_defined = UserDefined {
            build: Arc::new(build),
            thread_context: None,
        };
        LearnerConfig {
            entry: &USER_DEFINED,
            text: label.into(),
            values: Vec::new(),
            assumed: Vec::new(),
            defaults: LearnerDefaults::default(),
            user_defined: Some(user_defined),
        }
    }

    /// The same user-defined learner with a function that runs given work in the context that the learner needs on its
    /// thread, such as an attached interpreter. Learners of the catalogue need none.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use emab::learners::LearnerConfig;
    ///
    /// let entered = Arc::new(AtomicBool::new(false));
    /// let flag = entered.clone();
    /// let config = LearnerConfig::user_defined("cautious", |_spec| unreachable!()).with_thread_context(move |work| {
    ///     flag.store(true, Ordering::Relaxed);
    ///     work();
    /// });
    /// let mut worked = false;
    /// config.in_thread_context(&mut || worked = true);
    /// assert!(worked && entered.load(Ordering::Relaxed));
    /// ```
    #[must_use]
    pub fn with_thread_context(
        mut self,
        context: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static,
    ) -> LearnerConfig {
        if let Some(user_defined) = &mut self.user_defined {
            user_defined.thread_context = Some(Arc::new(context));
        }
        self
    }

    /// Runs work in the context that the learner needs on this thread.
    pub fn in_thread_context(&self, work: &mut (dyn FnMut() + Send)) {
        let user_defined = self.user_defined.as_ref();
        match user_defined.and_then(|user_defined| user_defined.thread_context.as_ref()) {
            Some(context) => context(work),
            None => work(),
        }
    }

    /// Parses `name` or `name:key=value,key=value`. Missing values come from `defaults`, then from the catalogue.
    pub fn parse(text: &str, defaults: &LearnerDefaults) -> Result<LearnerConfig, LearnerError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim();
        let text = match settings.trim() {
            "" => name, // `feedbal:` is `feedbal`
            _ => text.trim(),
        };
        let entry = CATALOGUE.iter().find(|entry| entry.name == name);
        let entry = entry
            .copied()
            .ok_or_else(|| LearnerError::Unknown { name: name.into() })?;
        let mut given: Vec<(&str, &str)> = Vec::new();
        for part in settings.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| LearnerError::Form(text.into(), part.into()))?;
            let (key, value) = (key.trim(), value.trim());
            if !entry.parameters.iter().any(|p| p.name == key) {
                return Err(LearnerError::UnknownParameter {
                    learner: entry.name,
                    name: key.into(),
                    known: entry.parameters.iter().map(|p| p.name).collect(),
                });
            }
            if given.iter().any(|(k, _)| *k == key) {
                return Err(LearnerError::Twice(entry.name, key.into()));
            }
            given.push((key, value));
        }
        let given = |name: &str| {
            let set = given.iter().find(|(key, _)| *key == name);
            set.map(|(_, value)| ParameterValue::read(value))
        };
        let (values, assumed) = resolve(entry.parameters, &given, defaults);
        Ok(LearnerConfig {
            entry,
            text: text.into(),
            values,
            assumed,
            defaults: *defaults,
            user_defined: None,
        })
    }

    /// Whether it is user-defined.
    pub fn is_user_defined(&self) -> bool {
        self.user_defined.is_some()
    }

    /// Its name in results: that of the catalogue, or the label of a user-defined learner.
    pub fn name(&self) -> &str {
        match self.user_defined {
            Some(_) => &self.text,
            None => self.entry.name,
        }
    }

    /// The entry; that of a user-defined learner is not in the catalogue.
    pub fn entry(&self) -> &'static LearnerEntry {
        self.entry
    }

    /// The text it was parsed from, which distinguishes two settings of one learner.
    pub fn label(&self) -> &str {
        &self.text
    }

    /// All parameters with their values.
    pub fn parameters(&self) -> &[(&'static str, ParameterValue)] {
        &self.values
    }

    /// The parameters at their default that a problem file could set, such as `sigma2` and `delta`.
    pub fn assumed(&self) -> &[&'static str] {
        &self.assumed
    }

    /// The defaults of the problem file.
    pub(crate) fn defaults(&self) -> &LearnerDefaults {
        &self.defaults
    }

    /// All parameters, for reading with range checks.
    pub(crate) fn settings(&self) -> Settings<'_> {
        Settings {
            learner: self.entry.name,
            values: &self.values,
        }
    }

    /// The same for a run of this number of episodes: `delta=1/n` becomes a number.
    pub fn for_episodes(mut self, episodes: u64) -> Result<LearnerConfig, LearnerError> {
        let delta = self.values.iter_mut().find(|(name, _)| *name == "delta");
        if let Some((_, value)) = delta
            && *value == ParameterValue::Word("1/n".into())
        {
            if episodes < 2 {
                let rule =
                    "lie in (0, 1), and 1/n is 1 for a single episode (set at least 2 episodes)";
                let error = ParameterError::new("delta", rule, "1/n = 1");
                return Err(LearnerError::Parameter(self.entry.name, error));
            }
            *value = ParameterValue::Number(1.0 / episodes as f64);
        }
        Ok(self)
    }

    /// The same with this value of a parameter that is not set, also in its text; unchanged where the learner has no such parameter.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults, ParameterValue};
    /// let config = |text| LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    /// let dropping = config("feedbal-model").with_default("unknown_costs", "drop");
    /// assert!(dropping.parameters().contains(&("unknown_costs", ParameterValue::Word("drop".into()))));
    /// assert_eq!(dropping.label(), "feedbal-model:unknown_costs=drop");
    /// assert_eq!(config("feedbal-model:delta=0.05").with_default("unknown_costs", "drop").label(), "feedbal-model:delta=0.05,unknown_costs=drop");
    /// assert_eq!(config("feedbal").with_default("unknown_costs", "drop").parameters(), config("feedbal").parameters());
    /// ```
    #[must_use]
    pub fn with_default(mut self, name: &str, value: &str) -> LearnerConfig {
        let parameter = self.entry.parameters.iter().find(|it| it.name == name);
        if let Some(parameter) = parameter
            && self.settings().value(name).is_none()
        {
            let separator = if self.text.contains(':') { ',' } else { ':' };
            self.text = format!("{}{separator}{name}={value}", self.text);
            let value = ParameterValue::read(value);
            self.values.push((parameter.name, value));
        }
        self
    }

    /// The parameters of FeedBAL, for its bounds. Fails for other learners, other forms of width, and forgetting.
    pub fn feedbal_parameters(&self) -> Result<FeedBalParameters, LearnerError> {
        match self.entry.name {
            "feedbal" => self.without_forgetting()?.feedbal_parameters(),
            learner => Err(LearnerError::NoBounds(learner)),
        }
    }

    /// The probability with which some of its confidence bounds may fail. Fails where `emab verify` checks none.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// let config = |text| LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    /// assert_eq!(config("feedbal-model:delta=0.05").guaranteed_delta().unwrap().get(), 0.05);
    /// let error = |text| config(text).guaranteed_delta().unwrap_err().to_string();
    /// assert_eq!(
    ///     error("ucb1"),
    ///     "no confidence bounds are proved for learner `ucb1`; those of `feedbal`, `feedbal-pooled`, `feedbal-kl` and `feedbal-model` \
    ///      can be verified"
    /// );
    /// assert_eq!(
    ///     error("feedbal-lookahead"),
    ///     "the confidence bounds of learner `feedbal-lookahead` are proved, and a verification does not check them; those of \
    ///      `feedbal`, `feedbal-pooled`, `feedbal-kl` and `feedbal-model` can be verified"
    /// );
    /// ```
    pub fn guaranteed_delta(&self) -> Result<Delta, LearnerError> {
        match self.entry.proved_bounds {
            ProvedBounds::Verified => self.without_forgetting()?.delta(),
            other => Err(LearnerError::NotVerified(self.entry.name, other)),
        }
    }

    /// Whether confidence bounds of its estimates are proved, which is not so once it forgets.
    pub fn has_proved_bounds(&self) -> bool {
        self.entry.proved_bounds != ProvedBounds::None && self.without_forgetting().is_ok()
    }

    /// Whether [`Learner::estimate`] estimates values under the optimal policy; otherwise it estimates one-step gains.
    pub fn estimates_values(&self) -> bool {
        self.settings().is_word("target", "optimal")
    }

    /// The parameters of a learner that does not forget.
    fn without_forgetting(&self) -> Result<Settings<'_>, LearnerError> {
        let settings = self.settings();
        match settings.memory()? {
            None => Ok(settings),
            Some(_) => Err(LearnerError::Forgets(self.entry.name)),
        }
    }

    /// Builds the learner; `problem` is required by learners that read the model.
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
            None => (self.entry.build)(&self.build_from(spec, problem)),
        }
    }

    /// What the learner is built from.
    pub(crate) fn build_from<'a>(
        &'a self,
        spec: &'a Arc<Spec>,
        problem: Option<&'a Arc<Problem>>,
    ) -> Build<'a> {
        Build {
            settings: self.settings(),
            spec,
            problem: problem.filter(|_| self.entry.access != Access::Spec),
        }
    }
}
