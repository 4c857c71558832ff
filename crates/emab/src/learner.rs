//! The trait of everything that learns from episodes.

use crate::episode::Episode;
use crate::rng::Stream;
use crate::spec::Action;

/// What a learner knows of the gain of one action in one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How often it was observed.
    pub count: u64,
    /// The estimate, a sample mean; 0 before the first observation.
    pub mean: f64,
    /// How far the estimate may be from the truth, by what the learner was told.
    pub width: f64,
    /// The index that is compared with those of the other actions.
    pub index: f64,
}

/// Chooses an action at each step, and learns from an episode once it is over.
///
/// The laws that every learner keeps are tested by [`crate::conformance::check_learner`]. A learner of your own:
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

    /// Takes in what an episode revealed. The actions in it count, whoever chose them.
    ///
    /// It may come late, after others were begun that chose without it, and it may never come. Of its `costs` and
    /// `rewards` those that are NaN are not known, and `rewards` are empty where the whole outcome is unknown, because the
    /// person left: what is known of the episode may be learned from, nothing may be made up, and no NaN may come into
    /// a table.
    ///
    /// A learner cannot tell *why* something is not known. Its estimates are right where that has nothing to do with the
    /// value, nor, for a gain, with the feedback before it.
    ///
    /// The episode must be one that the specification allows; learners may panic otherwise.
    fn learn(&mut self, episode: &Episode);

    /// What it knows of an action in a pair, if it is a learner that keeps estimates of gains and promises how good
    /// they are.
    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let _ = (t, x, action);
        None
    }

    /// Forgets everything and takes up a new source of randomness, as if newly built.
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
    fn reset(&mut self, stream: Stream) {
        (**self).reset(stream);
    }
}
