//! Regret by cause.

use serde::{Deserialize, Serialize};

use crate::spec::Action;

/// Regret by cause; the three parts add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegretBreakdown {
    /// The learner stopped where the benchmark continues.
    pub early_stop: f64,
    /// The learner continued where the benchmark stops.
    pub late_stop: f64,
    /// Both continue, with different actions.
    pub wrong_action: f64,
}

impl RegretBreakdown {
    /// Adds the loss of `action` where the benchmark chooses `best`.
    pub fn add(&mut self, best: Action, action: Action, loss: f64) {
        match (best, action) {
            (_, Action::Stop) => self.early_stop += loss,
            (Action::Stop, Action::Continue(_)) => self.late_stop += loss,
            (Action::Continue(_), Action::Continue(_)) => self.wrong_action += loss,
        }
    }

    /// The total regret.
    pub fn total(&self) -> f64 {
        self.early_stop + self.late_stop + self.wrong_action
    }
}

impl std::ops::AddAssign for RegretBreakdown {
    fn add_assign(&mut self, more: RegretBreakdown) {
        self.early_stop += more.early_stop;
        self.late_stop += more.late_stop;
        self.wrong_action += more.wrong_action;
    }
}
