//! The trait of learners.

use crate::episode::Episode;
use crate::rng::Stream;
use crate::spec::Action;

/// A learner's estimate of the gain of one action in one pair, or of its value
/// ([`LearnerConfig::estimates_values`](crate::learners::LearnerConfig::estimates_values)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of observations.
    pub count: u64,
    /// The estimate; 0 before the first observation.
    pub mean: f64,
    /// The confidence width of the estimate.
    pub width: f64,
    /// The upper confidence bound: at most `mean + width`.
    pub upper: f64,
    /// The index by which actions are compared.
    pub index: f64,
}

/// Chooses an action at each step, and learns from an episode once it is over.
///
/// [`crate::conformance::check_learner`] tests the properties that every learner must have. A user-defined learner:
///
/// ```
/// use emab::{Action, Episode, Learner, Stream};
///
/// struct StopAt(usize);
///
/// impl Learner for StopAt {
///     fn choose(&mut self, t: usize, _x: usize) -> Action {
///         if t < self.0 { Action::Continue(0) } else { Action::Stop }
///     }
///     fn learn(&mut self, _episode: &Episode) {}
///     fn reset(&mut self, _stream: Stream) {}
/// }
/// assert_eq!(StopAt(3).choose(3, 0), Action::Stop);
/// ```
pub trait Learner {
    /// The action to take at step `t` in state `x`: an allowed one, and `stop` at the horizon.
    ///
    /// `t` must be from 1 to the horizon and `x` a state; learners may panic otherwise.
    fn choose(&mut self, t: usize, x: usize) -> Action;

    /// Learns from an episode. Its actions can differ from those that the learner chose.
    ///
    /// Episodes can arrive late, after others have begun, or never. Costs and rewards that are NaN are unknown, and
    /// `rewards` is empty after a dropout. The learner uses what is known, and no NaN enters its tables.
    ///
    /// Estimates are unbiased where missing values are independent of the value and, for a gain, of the feedback before it.
    ///
    /// The episode must be one that the specification allows; learners may panic otherwise.
    fn learn(&mut self, episode: &Episode);

    /// The estimate of the gain of an action in a pair; none for learners without confidence widths.
    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let _ = (t, x, action);
        None
    }

    /// Announces a choice of an episode whose outcome is not known yet, recommended or taken. Later choices may allow for it.
    ///
    /// Episodes are numbered in the order in which they begin. A second announcement for the same step replaces the first.
    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        let _ = (episode, t, x, action);
    }

    /// The choices of an episode are no longer pending: its outcome is about to be learned, is lost, or the episode was
    /// abandoned. Nothing happens for an episode that was not announced.
    fn settle(&mut self, episode: u64) {
        let _ = episode;
    }

    /// Whether announced choices affect later ones; where they do not, callers may leave them out.
    fn counts_pending(&self) -> bool {
        false
    }

    /// Returns to the initial state, with a new random stream.
    fn reset(&mut self, stream: Stream);
}

impl<L: Learner + ?Sized> Learner for Box<L> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        (**self).choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        (**self).learn(episode);
    }
    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        (**self).estimate(t, x, action)
    }
    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        (**self).announce(episode, t, x, action);
    }
    fn settle(&mut self, episode: u64) {
        (**self).settle(episode);
    }
    fn counts_pending(&self) -> bool {
        (**self).counts_pending()
    }
    fn reset(&mut self, stream: Stream) {
        (**self).reset(stream);
    }
}
