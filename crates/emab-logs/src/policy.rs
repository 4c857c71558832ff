//! Policies: an action for each step and state.

use std::collections::HashMap;
use std::sync::Arc;

use emab::input::did_you_mean;
use emab::learners::MAX_FIXED_OUTCOMES;
use emab::oracle::{OracleError, Solution};
use emab::reach::{SpecComparison, SpecDifference};
use emab::{Action, Learner, Names, Problem, Spec};
use emab_episodes::{SavedLearner, SavedLearnerError, SavedLearnerHeader};
use emab_problem::json_error;
use serde_json::Value;
use thiserror::Error;

use crate::assumptions::Stated;
use crate::fit::{FitError, FittedModel};
use crate::log::DecisionLog;

/// Why a policy cannot be read or followed.
#[derive(Debug, Error)]
pub enum PolicyError {
    /// The document is not a policy.
    #[error("{0}")]
    Document(String),
    /// The policy has no action where it leads.
    #[error(
        "the policy has no action at step {t} in state `{state}`, which it leads to: name one, or `stop`"
    )]
    Missing {
        /// The step.
        t: usize,
        /// The state.
        state: String,
    },
    /// The action may not be taken there.
    #[error("the policy takes `{action}` at step {t} in state `{state}`, where it is not allowed")]
    NotAllowed {
        /// The step.
        t: usize,
        /// The state.
        state: String,
        /// The action.
        action: String,
    },
    /// The fitted model cannot be solved.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The search for the best fixed sequence gave up.
    #[error("there are too many sequences to find the best fixed one")]
    TooManySequences,
    /// No model can be fitted to the log.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// There is no policy of this name, and no such file.
    #[error(
        "cannot read {file}: {error}{near}; a policy is benchmark, optimal, best-fixed, logged, or the file of a policy or of a \
         saved learner"
    )]
    Unreadable {
        /// The file.
        file: String,
        /// Why it cannot be read.
        error: std::io::Error,
        /// A policy of a similar name.
        near: String,
    },
    /// The file of a saved learner is invalid.
    #[error(transparent)]
    SavedLearner(#[from] SavedLearnerError),
    /// The learner is of another problem.
    #[error(
        "the learner is of another problem: {} is {} there and {} in the log",
        .0.what, .0.one, .0.other
    )]
    OtherProblem(SpecDifference),
}

/// The policies that are computed from the fitted model.
pub const OF_MODEL: [&str; 3] = ["benchmark", "optimal", "best-fixed"];

/// What was done in the log, which is evaluated without a policy.
pub const LOGGED: &str = "logged";

/// The number of step-state pairs that are compared.
const COMPARED: usize = 100_000;

/// Fails if a learner is of another problem than a log.
pub fn check_problem(learner: &Spec, log: &Spec) -> Result<(), PolicyError> {
    match learner.compare(log, COMPARED) {
        Ok(SpecComparison::Differ(found)) => Err(PolicyError::OtherProblem(found)),
        _ => Ok(()),
    }
}

/// Actions by step and state.
pub type Choices = HashMap<(usize, usize), Action>;

type Choose = Box<dyn FnMut(usize, usize) -> Option<Action> + Send>;

/// An action for each step and state.
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Whether it was chosen from the log that it is evaluated on.
    pub from_log: bool,
    choose: Choose,
    /// Choices that were made: a policy that draws them keeps them.
    made: HashMap<(usize, usize), Option<Action>>,
}

impl Policy {
    /// The choices of a function; it returns none where it has none.
    pub fn new(
        name: impl Into<String>,
        from_log: bool,
        choose: impl FnMut(usize, usize) -> Option<Action> + Send + 'static,
    ) -> Policy {
        Policy {
            name: name.into(),
            from_log,
            choose: Box::new(choose),
            made: HashMap::new(),
        }
    }

    /// The policy that a call names: one of [`OF_MODEL`] on the model that is fitted to the log, the file of a policy, of which
    /// `FILE#PART` names a part, or that of a saved learner.
    pub fn named(name: &str, log: &DecisionLog, stated: &Stated) -> Result<Policy, PolicyError> {
        if OF_MODEL.contains(&name) {
            return Policy::of_model(name, FittedModel::of(log, stated)?.problem());
        }
        let (file, part) = match name.split_once('#') {
            Some((file, part)) => (file, Some(part)),
            None => (name, None),
        };
        let unreadable = |error: std::io::Error| PolicyError::Unreadable {
            file: file.into(),
            error,
            near: did_you_mean(name, OF_MODEL.into_iter().chain([LOGGED])),
        };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        if SavedLearnerHeader::matches(text.lines().next().unwrap_or_default()) {
            let saved = SavedLearner::read(text.as_bytes())?;
            check_problem(saved.file.spec(), log.spec())?;
            let (config, learner) = saved.rebuild()?;
            return Ok(Policy::of_learner(config.label(), learner));
        }
        Policy::read(name, &text, part, log.spec())
    }

    /// The current choices of a learner.
    pub fn of_learner(name: impl Into<String>, mut learner: Box<dyn Learner + Send>) -> Policy {
        Policy::new(name, true, move |t, x| Some(learner.choose(t, x)))
    }

    /// A policy of [`OF_MODEL`] on a model that was fitted to the log.
    pub fn of_model(name: &str, problem: Arc<Problem>) -> Result<Policy, PolicyError> {
        let spec = problem.spec().clone();
        let work = match name {
            "best-fixed" => MAX_FIXED_OUTCOMES,
            "benchmark" | "optimal" => 0,
            _ => {
                let near = did_you_mean(name, OF_MODEL);
                let what = format!("there is no policy `{name}` of the fitted model{near}");
                return Err(PolicyError::Document(what));
            }
        };
        let solution = Solution::of(problem, work)?;
        if name == "best-fixed" {
            let fixed = solution.best_fixed.ok_or(PolicyError::TooManySequences)?;
            let actions = fixed.actions;
            return Ok(Policy::new(name, true, move |t, x| {
                let a = actions
                    .get(t - 1)
                    .copied()
                    .filter(|&a| spec.is_allowed(t, x, a));
                Some(a.map_or(Action::Stop, Action::Continue))
            }));
        }
        let choice = |row: &emab::oracle::PolicyRow| match name {
            "optimal" => row.optimal,
            _ => row.benchmark,
        };
        let rows = solution.rows.iter();
        let table: Choices = rows.map(|row| ((row.t, row.x), choice(row))).collect();
        // It stops where the model cannot lead: nothing was observed there.
        let choose = move |t, x| Some(table.get(&(t, x)).copied().unwrap_or(Action::Stop));
        Ok(Policy::new(name, true, choose))
    }

    /// A table by step and state.
    pub fn of_table(name: impl Into<String>, from_log: bool, table: Choices) -> Policy {
        Policy::new(name, from_log, move |t, x| table.get(&(t, x)).copied())
    }

    /// Reads a policy file: `{"policy": [[…], …]}` with `policy[t-1][x]` an action's name, `"stop"` or `null`; the document of
    /// `emab solve --json`, of which `part` names a policy (`benchmark` by default); or a list of objects with `step`, `state`
    /// and `action` in `policy` or `choices`, as the decision service and `emab policy --json` write it: those are the choices of a
    /// learner, and count as chosen from the log.
    ///
    /// ```
    /// let file = emab_problem::ProblemFile::find("resource").unwrap();
    /// let text = r#"{"policy": [["cont"], ["cont", "stop"], ["stop", "stop", "stop"]]}"#;
    /// let mut policy = emab_logs::Policy::read("mine", text, None, file.spec()).unwrap();
    /// assert_eq!(policy.choose(file.spec(), 2, 0).unwrap(), emab::Action::Continue(0));
    /// let error = policy.choose(file.spec(), 4, 0).unwrap_err();
    /// assert!(error.to_string().starts_with("the policy has no action at step 4"));
    /// ```
    pub fn read(
        name: &str,
        text: &str,
        part: Option<&str>,
        spec: &Spec,
    ) -> Result<Policy, PolicyError> {
        let wrong = |what: String| PolicyError::Document(what);
        let document: Value = serde_json::from_str(text)
            .map_err(|error| wrong(json_error(&error, "the policy file")))?;
        let within = match part {
            Some(part) => document.get(part),
            None => Some(&document)
                .filter(|it| it.get("policy").is_some() || it.get("choices").is_some())
                .or_else(|| document.get("benchmark")),
        };
        let list = within.and_then(|it| it.get("policy").or_else(|| it.get("choices")));
        let Some(Value::Array(list)) = list else {
            return Err(wrong(match part {
                Some(part) => format!("the policy file has no `{part}` with a `policy`"),
                None => "a policy file is {\"policy\": [[…], …]}, with an action's name, \"stop\" or null for every step and state"
                    .into(),
            }));
        };
        let mut table = Choices::new();
        for (i, entry) in list.iter().enumerate() {
            match entry {
                Value::Array(row) => {
                    for (x, action) in row.iter().enumerate().filter(|(_, it)| !it.is_null()) {
                        table.insert((i + 1, x), named_action(spec, i + 1, action)?);
                    }
                }
                Value::Object(fields) => {
                    let step = fields.get("step").and_then(Value::as_u64);
                    let state = fields.get("state").unwrap_or(&Value::Null);
                    let (Some(t), Some(action)) = (step, fields.get("action")) else {
                        return Err(wrong(format!(
                            "entry {} of the policy has no `step` or no `action`",
                            i + 1
                        )));
                    };
                    let x = named_state(spec, state)?;
                    let action = named_action(spec, t as usize, action)?;
                    if table.insert((t as usize, x), action).is_some() {
                        return Err(wrong(format!(
                            "entry {} of the policy repeats step {t} in state {state}: there is one action for each",
                            i + 1
                        )));
                    }
                }
                other => {
                    return Err(wrong(format!(
                        "step {} of the policy is {other}, expected a list",
                        i + 1
                    )));
                }
            }
        }
        let outside = |(t, x): &&(usize, usize)| {
            !(1..=spec.horizon()).contains(t) || *x >= spec.states().len()
        };
        if let Some((t, x)) = table.keys().find(outside) {
            return Err(wrong(format!(
                "the policy has an action at step {t} in state {x}, and the problem has {} steps and {} states",
                spec.horizon(),
                spec.states().len()
            )));
        }
        // The policies of the service and of `emab policy` are those of a learner.
        let of_learner = ["choices", "learner"]
            .iter()
            .any(|it| document.get(it).is_some());
        Ok(Policy::of_table(name, of_learner, table))
    }

    /// Its action at a step in a state: an allowed one.
    pub fn choose(&mut self, spec: &Spec, t: usize, x: usize) -> Result<Action, PolicyError> {
        if t >= spec.horizon() {
            return Ok(Action::Stop);
        }
        let state = || spec.states().name(x).into_owned();
        let choose = &mut self.choose;
        let chosen = *self.made.entry((t, x)).or_insert_with(|| choose(t, x));
        match chosen {
            None => Err(PolicyError::Missing { t, state: state() }),
            Some(Action::Continue(a)) if !spec.is_allowed(t, x, a) => {
                Err(PolicyError::NotAllowed {
                    t,
                    state: state(),
                    action: spec.actions().name(a).into_owned(),
                })
            }
            Some(action) => Ok(action),
        }
    }
}

/// The index of a name.
pub(crate) fn position(names: &Names, name: &str) -> Option<usize> {
    match names {
        Names::List(list) => list.iter().position(|it| it == name),
        Names::Count(count, prefix) => {
            let i = name
                .strip_prefix(prefix)?
                .parse()
                .ok()
                .filter(|i| i < count)?;
            (names.name(i) == name).then_some(i)
        }
    }
}

fn named_action(spec: &Spec, t: usize, value: &Value) -> Result<Action, PolicyError> {
    match value.as_str() {
        Some("stop") => Ok(Action::Stop),
        Some(name) => position(spec.actions(), name)
            .map(Action::Continue)
            .ok_or_else(|| {
                PolicyError::Document(format!(
                    "step {t} of the policy: there is no action `{name}`{}",
                    spec.actions().instead_of(name)
                ))
            }),
        None => Err(PolicyError::Document(format!(
            "step {t} of the policy has {value}, expected an action's name, \"stop\" or null"
        ))),
    }
}

fn named_state(spec: &Spec, value: &Value) -> Result<usize, PolicyError> {
    let index = value
        .as_u64()
        .filter(|&x| x < spec.states().len() as u64)
        .map(|x| x as usize);
    let named = value
        .as_str()
        .and_then(|name| position(spec.states(), name));
    index.or(named).ok_or_else(|| {
        PolicyError::Document(format!(
            "the policy has the state {value}, which is none of the problem's"
        ))
    })
}
