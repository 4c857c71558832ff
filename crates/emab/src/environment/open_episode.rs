//! The state of one episode while it is played.

use super::missing_values::Hidden;
use crate::environment::RegretBreakdown;
use crate::episode::Episode;
use crate::learner::Learner;
use crate::oracle::Pair;
use crate::spec::Action;

/// An episode that is open, or has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenEpisode {
    /// Its number in the run, counted from 1; 0 where episodes are played one after another.
    pub(super) number: u64,
    pub(super) episode: Episode,
    /// The current pair.
    pub(super) pair: Pair,
    /// The pairs of the episode, the current one included.
    pub(super) path: Vec<Pair>,
    /// The recommended actions in these pairs; none for the last pair after a dropout.
    pub(super) recommendations: Vec<Action>,
    pub(super) dropped_out: bool,
    /// By step: what stays unknown to the learner. Empty where every value is known.
    pub(super) hidden: Vec<Hidden>,
    /// The episode as the learner sees it, where something is unknown.
    revealed: Episode,
    /// The uniform feedback draw of each step, and the draw of its dropout: the benchmark is played on the same.
    pub(super) draws: Vec<(f64, f64)>,
    pub(super) regret: RegretBreakdown,
    pub(super) deviation: Option<Deviation>,
    /// The sum of expected costs.
    pub(super) paid: f64,
}

/// Where a learner first left the benchmark's path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deviation {
    pub(super) pair: Pair,
    pub(super) best: Action,
    pub(super) action: Action,
    /// The sum of expected costs before it.
    pub(super) paid: f64,
}

impl OpenEpisode {
    /// Begins a new episode in a pair with this state.
    #[inline]
    pub(super) fn begin(&mut self, pair: Pair, state: usize) {
        self.episode.begin(state);
        self.pair = pair;
        self.path.clear();
        self.path.push(pair);
        self.recommendations.clear();
        self.dropped_out = false;
        self.hidden.clear();
        self.draws.clear();
        self.regret = RegretBreakdown::default();
        self.deviation = None;
        self.paid = 0.0;
    }

    /// Announces every choice to a learner: the actions taken, and `stop` unless the episode ended by dropout.
    pub(super) fn announce_all<L: Learner + ?Sized>(&self, learner: &mut L) {
        for t in 1..=self.recommendations.len() {
            self.announce(t, learner);
        }
    }

    /// Announces the choice of the last step.
    pub(super) fn announce_last<L: Learner + ?Sized>(&self, learner: &mut L) {
        self.announce(self.recommendations.len(), learner);
    }

    fn announce<L: Learner + ?Sized>(&self, t: usize, learner: &mut L) {
        let action = match self.episode.actions.get(t - 1) {
            Some(&a) => Action::Continue(a),
            None => Action::Stop,
        };
        learner.announce(self.number, t, self.episode.states[t - 1], action);
    }

    /// Passes the episode to a learner.
    #[inline]
    pub(super) fn teach<L: Learner + ?Sized>(&mut self, learner: &mut L) {
        if !self.dropped_out && self.hidden.is_empty() {
            return learner.learn(&self.episode);
        }
        let mut revealed = std::mem::take(&mut self.revealed);
        self.reveal(&mut revealed);
        learner.learn(&revealed);
        self.revealed = revealed;
    }

    /// Writes the episode as the learner sees it: after a dropout without rewards, and without missing values.
    pub(super) fn reveal(&self, revealed: &mut Episode) {
        revealed.clone_from(&self.episode);
        for (i, hidden) in self.hidden.iter().enumerate() {
            if hidden.cost {
                revealed.costs[i] = f64::NAN;
            }
            if hidden.reward {
                revealed.rewards[i + 1] = f64::NAN;
            }
        }
        if self.dropped_out {
            revealed.rewards.clear();
        }
    }
}
