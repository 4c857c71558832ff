//! Random choices: at every step an allowed action or `stop`, uniformly at random. It does not learn and serves as a baseline.

use super::prelude::*;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "random",
    title: "random",
    about: "an allowed action or `stop`, uniformly at random",
    reference: "none",
    choice_basis: ChoiceBasis::Draws,
    build: |with| Ok(BuiltLearner::Random(Random::new(with.spec.clone()))),
    ..LearnerEntry::DEFAULT
};

/// The learner.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Action, Learner, Spec, learners::Random};
/// let spec = Spec::numbered(2, 1, 3, 1).unwrap();
/// let mut learner = Random::new(Arc::new(spec));
/// assert_eq!(learner.choose(2, 0), Action::Stop);
/// ```
#[derive(Clone, Debug)]
pub struct Random {
    spec: Arc<Spec>,
    stream: Stream,
}

impl Random {
    /// A learner for this specification.
    pub fn new(spec: Arc<Spec>) -> Random {
        Random {
            spec,
            stream: Stream::new(0, 0, Role::Learner),
        }
    }
}

impl Learner for Random {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let actions = self.spec.actions().len();
        if t >= self.spec.horizon() {
            return Action::Stop;
        }
        if !self.spec.has_mask() {
            let a = self.stream.below(actions + 1);
            return match a < actions {
                true => Action::Continue(a),
                false => Action::Stop,
            };
        }
        let mut allowed = (0..actions).filter(|&a| self.spec.is_allowed(t, x, a));
        let choice = self.stream.below(allowed.clone().count() + 1);
        allowed.nth(choice).map_or(Action::Stop, Action::Continue)
    }

    fn learn(&mut self, _episode: &Episode) {}

    fn reset(&mut self, stream: Stream) {
        self.stream = stream;
    }
}
