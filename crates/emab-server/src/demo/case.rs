//! One simulated case: what is reported of it next, and what follows from the reply.

use emab::spec::PointError;
use emab::{Action, Spec, Stream};

use super::studies::StudyPlan;
use super::truth::{CaseDraws, Truth, rounded};
use crate::domain::json::{LenientU64, Name};
use crate::domain::{
    Abandon, Amend, AmendStep, Command, Decision, GiveOutcome, Open, ReplyBody, Stop, Tell,
    VoidEpisode,
};

/// The probability that a choice is not the recommended one.
const OVERRIDE: f64 = 0.05;
/// The probability that another feedback is reported than the observed one.
const WRONG_FEEDBACK: f64 = 0.02;
/// The probabilities that an open case is abandoned or voided instead of its next step.
const ABANDON: f64 = 0.012;
const VOID: f64 = 0.008;
/// The probabilities that the last reward of an outcome is reported later, never, or wrongly.
const PARTIAL: f64 = 0.2;
const MISSING: f64 = 0.01;
const WRONG_REWARD: f64 = 0.03;

/// How far a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Not reported yet.
    New,
    Open,
    /// The feedback of its last step was reported wrongly.
    WrongStep,
    /// Its outcome is awaited.
    Stopped,
    /// The last reward of its outcome is awaited.
    Partial,
    /// The last reward of its outcome was reported wrongly.
    WrongOutcome,
    /// Nothing more is reported.
    Ended,
}

/// A report, and the stage of the case after it.
pub struct Report {
    pub command: Command,
    after: Stage,
    /// The action and the feedback of a new step, as reported.
    step: Option<(usize, usize)>,
}

impl Report {
    fn new(command: Command, after: Stage) -> Report {
        Report {
            command,
            after,
            step: None,
        }
    }
}

pub struct Case {
    pub id: String,
    pub stage: Stage,
    states: Vec<usize>,
    /// The actions and feedbacks, as reported.
    steps: Vec<(usize, usize)>,
    recommended: Action,
    draws: CaseDraws,
}

impl Case {
    pub fn new(plan: &StudyPlan, truth: &Truth, number: u64) -> Result<Case, PointError> {
        let (draws, start) = truth.case(number)?;
        Ok(Case {
            id: format!("{}{number:04}", plan.prefix),
            stage: Stage::New,
            states: vec![start],
            steps: Vec::new(),
            recommended: Action::Stop,
            draws,
        })
    }

    /// What is reported next; the stream decides how people behave.
    pub fn next(
        &self,
        plan: &StudyPlan,
        truth: &Truth,
        people: &mut Stream,
    ) -> Result<Report, PointError> {
        let id = self.id.clone();
        match self.stage {
            Stage::New => Ok(Report::new(self.open(truth.problem().spec()), Stage::Open)),
            Stage::Open => self.act(plan, truth, people),
            Stage::WrongStep => {
                let correction = self.corrected_step(truth)?;
                let step = self.steps.len() as u64;
                let command = Command::AmendStep(id, step, correction);
                Ok(Report::new(command, Stage::Open))
            }
            Stage::Stopped => self.outcome(truth, people),
            Stage::Partial => {
                let given = GiveOutcome {
                    rewards: Some(self.last_reward(truth)?),
                    ..GiveOutcome::default()
                };
                Ok(Report::new(Command::GiveOutcome(id, given), Stage::Ended))
            }
            Stage::WrongOutcome | Stage::Ended => {
                let correction = Amend {
                    costs: None,
                    rewards: Some(self.last_reward(truth)?),
                    reason: "copied from the wrong line".into(),
                    outlier: false,
                    request: None,
                };
                Ok(Report::new(Command::Amend(id, correction), Stage::Ended))
            }
        }
    }

    fn open(&self, spec: &Spec) -> Command {
        let start = (spec.starts().len() > 1).then(|| spec.states().name(self.states[0]));
        Command::Open(Open {
            id: Some(self.id.clone()),
            start: start.map(|name| Name::Text(name.into_owned())),
            request: None,
        })
    }

    /// The next step of an open case, or its end.
    fn act(
        &self,
        plan: &StudyPlan,
        truth: &Truth,
        people: &mut Stream,
    ) -> Result<Report, PointError> {
        let id = self.id.clone();
        let draw = people.uniform();
        if draw < VOID {
            let void = VoidEpisode {
                reason: "entered twice".into(),
                request: None,
            };
            return Ok(Report::new(Command::Void(id, void), Stage::Ended));
        }
        if draw < VOID + ABANDON {
            let abandon = Abandon {
                reason: "did not come to the appointment".into(),
                request: None,
            };
            return Ok(Report::new(Command::Abandon(id, abandon), Stage::Ended));
        }
        let (t, x, spec) = (self.states.len(), self.state(), truth.problem().spec());
        let mut action = self.recommended;
        if people.uniform() < OVERRIDE {
            action = other_choice(spec, (t, x), action, people);
        }
        let reasons = plan.override_reasons;
        let reason =
            (action != self.recommended).then(|| reasons[people.below(reasons.len())].to_owned());
        let step = LenientU64(t as u64);
        let Action::Continue(a) = action else {
            let stop = Stop {
                step,
                reason,
                decided_by: None,
                policy: None,
                request: None,
            };
            return Ok(Report::new(Command::Stop(id, stop), Stage::Stopped));
        };
        let observed = truth.feedback(&self.draws, (t, x), a)?;
        let mut reported = observed;
        if people.uniform() < WRONG_FEEDBACK {
            reported = (observed + 1) % spec.feedbacks().len();
        }
        let tell = Tell {
            step,
            action: Name::Text(spec.actions().name(a).into_owned()),
            feedback: Name::Text(spec.feedbacks().name(reported).into_owned()),
            reason,
            decided_by: None,
            policy: None,
            request: None,
        };
        let after = match reported == observed {
            true => Stage::Open,
            false => Stage::WrongStep,
        };
        Ok(Report {
            command: Command::Tell(id, tell),
            after,
            step: Some((a, reported)),
        })
    }

    /// The correction of the last step.
    fn corrected_step(&self, truth: &Truth) -> Result<AmendStep, PointError> {
        let feedback = self.observed_last(truth)?;
        let name = truth.problem().spec().feedbacks().name(feedback);
        Ok(AmendStep {
            action: None,
            feedback: Some(Name::Text(name.into_owned())),
            reason: "the result was read from the wrong line".into(),
            request: None,
        })
    }

    /// The feedback that was observed at the last step.
    fn observed_last(&self, truth: &Truth) -> Result<usize, PointError> {
        let t = self.steps.len();
        truth.feedback(&self.draws, (t, self.states[t - 1]), self.steps[t - 1].0)
    }

    /// The outcome, or a part of it.
    fn outcome(&self, truth: &Truth, people: &mut Stream) -> Result<Report, PointError> {
        let pairs = || (1..).zip(self.states.iter().copied());
        let steps = pairs().zip(&self.steps);
        let costs = steps.map(|(pair, &(a, _))| truth.cost(&self.draws, pair, a).map(Some));
        let rewards = pairs().map(|pair| truth.reward(&self.draws, pair).map(Some));
        let costs = costs.collect::<Result<_, PointError>>()?;
        let mut rewards: Vec<Option<f64>> = rewards.collect::<Result<_, _>>()?;
        let (draw, single) = (people.uniform(), rewards.len() == 1);
        let mut after = Stage::Ended;
        // A part of an outcome has one value at least.
        if let Some(last) = rewards.last_mut().filter(|_| !single) {
            if draw < PARTIAL {
                (*last, after) = (None, Stage::Partial);
            } else if draw < PARTIAL + MISSING {
                *last = None;
            } else if draw < PARTIAL + MISSING + WRONG_REWARD {
                // Within the range of outcomes.
                *last = last.map(|reward| rounded(reward / 2.0));
                after = Stage::WrongOutcome;
            }
        }
        let given = GiveOutcome {
            last: after == Stage::Ended && rewards.last() == Some(&None),
            costs: Some(costs),
            rewards: Some(rewards),
            ..GiveOutcome::default()
        };
        let command = Command::GiveOutcome(self.id.clone(), given);
        Ok(Report::new(command, after))
    }

    /// The rewards of an outcome of which only the last is stated.
    fn last_reward(&self, truth: &Truth) -> Result<Vec<Option<f64>>, PointError> {
        let t = self.states.len();
        let mut rewards = vec![None; t];
        rewards[t - 1] = Some(truth.reward(&self.draws, (t, self.state()))?);
        Ok(rewards)
    }

    fn state(&self) -> usize {
        self.states.last().copied().unwrap_or(0)
    }

    /// Applies an acknowledged report.
    pub fn apply(
        &mut self,
        report: &Report,
        reply: &ReplyBody,
        truth: &Truth,
    ) -> Result<(), PointError> {
        let spec = truth.problem().spec();
        if self.stage == Stage::WrongStep {
            let observed = self.observed_last(truth)?;
            self.states.pop();
            if let Some((a, _)) = self.steps.pop() {
                self.push(spec, (a, observed))?;
            }
        }
        if let Some(step) = report.step {
            self.push(spec, step)?;
        }
        self.stage = report.after;
        self.recommended = match reply {
            ReplyBody::Decision(text) => {
                let decision = serde_json::from_str::<Decision>(text).ok();
                decision.map_or(Action::Stop, |it| action(spec, &it.advice.action))
            }
            ReplyBody::Episode(episode, _) => {
                let recommended = episode.recommended;
                recommended.map_or(Action::Stop, Action::Continue)
            }
            ReplyBody::Study(_) | ReplyBody::Imported { .. } => Action::Stop,
        };
        Ok(())
    }

    fn push(&mut self, spec: &Spec, (a, f): (usize, usize)) -> Result<(), PointError> {
        let next = spec.next(self.states.len(), self.state(), a, f)?;
        self.states.push(next);
        self.steps.push((a, f));
        Ok(())
    }
}

/// An action by its name, or `stop`.
fn action(spec: &Spec, name: &str) -> Action {
    let actions = spec.actions();
    let found = (0..actions.len()).find(|&a| actions.name(a) == name);
    found.map_or(Action::Stop, Action::Continue)
}

/// A possible choice other than the recommended one; that one if there is no other.
fn other_choice(
    spec: &Spec,
    (t, x): (usize, usize),
    recommended: Action,
    people: &mut Stream,
) -> Action {
    let actions = (0..spec.actions().len()).filter(|&a| spec.is_allowed(t, x, a));
    let actions = actions.map(Action::Continue).filter(|_| t < spec.horizon());
    let mut others: Vec<Action> = actions.chain([Action::Stop]).collect();
    others.retain(|action| *action != recommended);
    match others.len() {
        0 => recommended,
        n => others[people.below(n)],
    }
}
