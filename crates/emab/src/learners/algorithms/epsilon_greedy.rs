//! Epsilon-greedy on FeedBAL's tables; with a decay, the `epsilon_n`-greedy of Auer, Cesa-Bianchi, Fischer, *Finite-time
//! Analysis of the Multiarmed Bandit Problem* (2002), Figure 3.
//!
//! At the `n`-th play an arm is drawn uniformly with probability `epsilon_n`, and otherwise the arm of the largest sample mean
//! is played. Published is `epsilon_n = min(1, c K / (d^2 n))` for `K` arms, with `c > 0` and `d` at most the least
//! gap; for `c > 5` the probability of a suboptimal arm falls as `O(c / (d^2 n))`. Their experiments have `c` from 0.05 to
//! 0.40 and `d` the true gap.
//!
//! Adaptations:
//! - Every step-state pair is a separate bandit whose arms are the allowed actions and `stop`, which is observed by passing; `n`
//!   counts the visits to the pair, this one included, and `K` its arms.
//! - The gap is unknown: `d` is a parameter. `schedule=constant` uses `epsilon` at all times.
//! - An action that was never observed has no mean and is only taken when exploring; where nothing was observed, the greedy
//!   choice is `stop`. A draw of `stop` ends the episode, so exploration before a pair keeps others from being reached.

use super::prelude::*;
use crate::learners::support::gains::Gains;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "epsilon-greedy",
    title: "epsilon-greedy",
    about: "largest mean gain by step and state, and a random action with probability epsilon",
    reference: "Auer, Cesa-Bianchi, Fischer 2002, Finite-time Analysis of the Multiarmed Bandit Problem, Figure 3",
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        Parameter::new("schedule", "decay")
            .about("probability of exploring: `decay`, min(1, c K / (d^2 n)) at the n-th visit with K choices, or `constant`"),
        Parameter::new("c", "0.1")
            .about("for schedule=decay: more than 0; the proof requires more than 5"),
        Parameter::new("d", "0.2")
            .about("for schedule=decay: more than 0 and at most 1; the proof requires at most the smallest gap"),
        Parameter::new("epsilon", "0.1")
            .about("for schedule=constant: the probability, from 0 to 1"),
    ],
    build: |with| {
        let (c, d) = (with.positive("c")?, with.positive("d")?);
        with.within("d", 0.0, 1.0)?;
        let epsilon = with.within("epsilon", 0.0, 1.0)?;
        let schedule = if with.word("schedule", &[("decay", true), ("constant", false)])? {
            with.reject_unused(&ENTRY, &["epsilon"], "with schedule=decay")?;
            Schedule::Decay(c / (d * d))
        } else {
            with.reject_unused(&ENTRY, &["c", "d"], "with schedule=constant")?;
            Schedule::Constant(epsilon)
        };
        BuiltLearner::other(EpsilonGreedy::new(with.spec.clone(), schedule))
    },
    ..LearnerEntry::DEFAULT
};

/// The probability of exploring.
#[derive(Clone, Copy, Debug)]
enum Schedule {
    /// `c / d^2`.
    Decay(f64),
    Constant(f64),
}

impl Schedule {
    /// At the `n`-th visit, with this number of choices.
    fn at(self, n: u64, choices: usize) -> f64 {
        match self {
            Schedule::Decay(c) => (c * choices as f64 / n as f64).min(1.0),
            Schedule::Constant(epsilon) => epsilon,
        }
    }
}

#[derive(Clone, Debug)]
struct EpsilonGreedy {
    gains: Gains,
    schedule: Schedule,
    stream: Stream,
}

impl EpsilonGreedy {
    fn new(spec: Arc<Spec>, schedule: Schedule) -> EpsilonGreedy {
        EpsilonGreedy {
            gains: Gains::empty(spec),
            schedule,
            stream: Stream::new(0, 0, Role::Learner),
        }
    }
}

impl Learner for EpsilonGreedy {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let (schedule, stream) = (self.schedule, &mut self.stream);
        self.gains.choose(t, x, |gains, row| {
            let visit = gains.cells[gains.stop(row)].count + 1;
            let epsilon = schedule.at(visit, gains.choices(row).count());
            match stream.uniform() < epsilon {
                true => gains.any(row, stream),
                false => gains.greedy(row),
            }
        })
    }

    fn learn(&mut self, episode: &Episode) {
        self.gains.learn(episode);
    }

    fn reset(&mut self, stream: Stream) {
        self.gains.clear();
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::gains::testing::crossing;
    use crate::learners::support::tabular::testing::{after, assert_shares, play};

    fn learner(schedule: Schedule) -> EpsilonGreedy {
        EpsilonGreedy::new(crossing().spec().clone(), schedule)
    }

    #[test]
    fn explores_with_probability_epsilon() {
        // c K / (d^2 n) with c = 0.1, d = 0.2, K = 3 at the tenth visit: 0.75.
        let decay = Schedule::Decay(0.1 / (0.2 * 0.2));
        assert!((decay.at(10, 3) - 0.75).abs() < 1e-12);
        assert_eq!(decay.at(7, 3), 1.0);
        for (schedule, epsilon) in [(decay, 0.75), (Schedule::Constant(0.3), 0.3)] {
            let mut learner = learner(schedule);
            for _ in 0..9 {
                learner.learn(&after(&[(1, 1)], &[0.25], &[1.0, 2.0]));
            }
            let mut taken = [0_u32; 3];
            for _ in 0..20_000 {
                taken[match learner.choose(1, 0) {
                    Action::Continue(a) => a,
                    Action::Stop => 2,
                }] += 1;
            }
            let other = epsilon / 3.0;
            assert_shares(taken, [other, 1.0 - 2.0 * other, other], 0.0);
        }
    }

    #[test]
    fn finds_the_benchmark() {
        let mut decaying = learner(Schedule::Decay(10.0));
        let played = play(&crossing(), &mut decaying, 20_000, |_| 0.0);
        played.assert_benchmark();
        // Constant exploration has linear regret.
        let mut constant = learner(Schedule::Constant(0.2));
        let played = play(&crossing(), &mut constant, 20_000, |_| 0.0);
        assert!(played.late_gain < played.benchmark - 0.02);
    }
}
