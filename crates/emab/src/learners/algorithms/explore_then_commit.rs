//! Explore, then commit, on FeedBAL's tables: Lattimore, Szepesvári, *Bandit Algorithms* (2020), Chapter 6, Algorithm 1;
//! Perchet, Rigollet, Chassang, Snowberg, *Batched bandit problems* (2016).
//!
//! Each of `k` arms is played `m` times in turn. Then the arm of the largest sample mean is played, and never another.
//! For two arms, a gap `Delta`, noise that is 1-sub-Gaussian and `n` plays, published is
//! `m = max(1, ceil(4 / Delta^2 ln(n Delta^2 / 4)))` (Theorem 6.1 and what follows it); its regret is at most
//! `Delta + (4 / Delta) (1 + max(0, ln(n Delta^2 / 4)))`. With `sigma^2`-sub-Gaussian noise, `Delta / sigma` takes the place of
//! `Delta` in `m`. Neither the gap nor the number of plays of a pair is known here, so `m` is a parameter.
//!
//! Adaptations:
//! - Every step-state pair is a separate bandit whose arms are the allowed actions and `stop`. The reward of `stop` is revealed
//!   whenever the pair is passed, so it needs no plays: in a pair, every action is observed `m` times, lowest first in turn.
//! - A play counts once its outcome is known. The commitment is made at the first visit after the last of them and holds
//!   whatever is observed later.

use super::prelude::*;
use crate::learners::support::gains::Gains;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "explore-then-commit",
    title: "explore-then-commit",
    about: "tries every action m times by step and state, then keeps the one with the largest mean gain",
    reference: "Lattimore, Szepesvári 2020, Bandit Algorithms, Chapter 6",
    choice_basis: ChoiceBasis::Asked,
    parameters: &[Parameter::new("m", "10")
        .about("number of trials of each action in each pair, a whole number of at least 1")],
    build: |with| {
        let m = with.count("m", 1)?;
        BuiltLearner::other(ExploreThenCommit::new(with.spec.clone(), m))
    },
    ..LearnerEntry::DEFAULT
};

#[derive(Clone, Debug)]
struct ExploreThenCommit {
    gains: Gains,
    m: u64,
    /// By row: the committed action.
    committed: Vec<Option<Action>>,
}

impl ExploreThenCommit {
    fn new(spec: Arc<Spec>, m: u64) -> ExploreThenCommit {
        ExploreThenCommit {
            gains: Gains::empty(spec),
            m,
            committed: Vec::new(),
        }
    }
}

impl Learner for ExploreThenCommit {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t >= self.gains.spec().horizon() {
            return Action::Stop;
        }
        let row = self.gains.of(t, x);
        let number = self.gains.number(row);
        if let Some(&Some(action)) = self.committed.get(number) {
            return action;
        }
        let actions = self.gains.choices(row);
        let actions = actions.filter(|&cell| cell != self.gains.stop(row));
        let least = actions
            .map(|cell| (self.gains.cells[cell].count, cell))
            .min();
        if let Some((count, cell)) = least
            && count < self.m
        {
            return self.gains.action(row, cell);
        }
        let action = self.gains.action(row, self.gains.greedy(row));
        if self.committed.len() <= number {
            self.committed.resize(number + 1, None);
        }
        self.committed[number] = Some(action);
        action
    }

    fn learn(&mut self, episode: &Episode) {
        self.gains.learn(episode);
    }

    fn reset(&mut self, _stream: Stream) {
        self.gains.clear();
        self.committed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::gains::testing::crossing;
    use crate::learners::support::tabular::testing::{after, play};

    #[test]
    fn tries_each_action_then_commits_to_the_best() {
        let mut learner = ExploreThenCommit::new(crossing().spec().clone(), 2);
        // `stop` pays 1, action 0 gains 1.5 and then 0.5, action 1 twice 1.25.
        for (a, gain) in [(0, 1.5), (1, 1.25), (0, 0.5), (1, 1.25)] {
            assert_eq!(learner.choose(1, 0), Action::Continue(a));
            // The outcome is unknown: the action is tried again.
            learner.learn(&after(&[(a, 1)], &[0.0], &[]));
            assert_eq!(learner.choose(1, 0), Action::Continue(a));
            learner.learn(&after(&[(a, 1)], &[0.0], &[1.0, gain]));
        }
        assert_eq!(learner.choose(1, 0), Action::Continue(1));
        for _ in 0..10 {
            learner.learn(&after(&[(1, 1)], &[0.0], &[1.0, -9.0]));
        }
        assert_eq!(learner.choose(1, 0), Action::Continue(1));
        assert_eq!(learner.choose(3, 0), Action::Stop);
    }

    #[test]
    fn can_commit_to_stopping() {
        let mut learner = ExploreThenCommit::new(crossing().spec().clone(), 1);
        for a in [0, 1] {
            learner.learn(&after(&[(a, 1)], &[0.25], &[1.0, 1.0]));
        }
        assert_eq!(learner.choose(1, 0), Action::Stop);
    }

    #[test]
    fn finds_the_benchmark() {
        let mut learner = ExploreThenCommit::new(crossing().spec().clone(), 50);
        let played = play(&crossing(), &mut learner, 4000, |_| 0.0);
        assert!(
            (played.late_gain - played.benchmark).abs() < 1e-9,
            "{}",
            played.late_gain
        );
    }
}
