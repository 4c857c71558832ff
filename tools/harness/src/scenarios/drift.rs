//! How often the drift check of a study raises a false alarm, and how soon it notices a change.

use std::collections::{BTreeMap, VecDeque};

use emab::stats::clopper_pearson;
use emab::{Action, Episode, Role, Stream};
use emab_server::domain::drift::DriftMonitor;
use emab_server::domain::event::RULES;
use emab_server::domain::study::Study;
use emab_server::domain::study_learners::StudyLearners;

use super::Report;
use crate::Result;

/// Three tests that may follow each other, each with two results; the state is the last result.
const STUDY: &str = r#"{"horizon": 4, "states": ["new", "clear", "suspect"], "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"], "transition": "1 + f",
    "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]}, "learner": "feedbal:width=sound"}"#;

/// The probability of a positive result, by action and state.
const POSITIVE: [[f64; 3]; 2] = [[0.3, 0.2, 0.6], [0.5, 0.3, 0.8]];

/// Measure false alarms and delays of the drift check in simulated studies.
#[derive(Clone, Debug, clap::Args)]
pub struct Drift {
    /// Studies for each row.
    #[arg(long, default_value_t = 1000)]
    pub studies: u64,
    /// Episodes of each study. A change comes after half of them.
    #[arg(long, default_value_t = 2000)]
    pub episodes: u64,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What changes, and by how much.
#[derive(Clone, Copy, Debug)]
enum Change {
    Nothing,
    /// Nothing changes, and the outcome comes some 5 episodes later, after a positive result some 150.
    Delays,
    Feedback(f64),
    Reward(f64),
}

impl Change {
    fn is_none(self) -> bool {
        matches!(self, Change::Nothing | Change::Delays)
    }
}

impl Drift {
    /// Runs the simulations.
    pub fn run(&self) -> Result<Report> {
        let (studies, episodes, half) = (self.studies, self.episodes, self.episodes / 2);
        let mut summary = format!(
            "{studies} studies of {episodes} episodes each; a change comes after {half}. Shares have 95 % intervals \
             (Clopper-Pearson).\n"
        );
        summary += "change                                    yellow (p <= 0.05)     red (p <= 0.001)       median delay of yellow\n";
        for (change, name) in [
            (Change::Nothing, "none"),
            (Change::Delays, "none; outcomes late, positive ones later"),
            (Change::Feedback(0.1), "positive results 0.1 more frequent"),
            (Change::Feedback(0.2), "positive results 0.2 more frequent"),
            (Change::Reward(0.25), "rewards 0.25 higher (sd 0.5)"),
            (Change::Reward(0.5), "rewards 0.5 higher (sd 0.5)"),
        ] {
            let (mut yellow, mut red, mut delays) = (0, 0, Vec::new());
            for number in 0..studies {
                let [first, second] = self.simulate(change, number)?;
                // An alarm before the change is a false one.
                let after = |at: &Option<u64>| at.is_some_and(|at| at >= half || change.is_none());
                yellow += u64::from(after(&first));
                red += u64::from(after(&second));
                delays.extend(
                    first
                        .filter(|_| after(&first))
                        .map(|at| at.saturating_sub(half)),
                );
            }
            delays.sort_unstable();
            let share = |count: u64| {
                let (low, high) = clopper_pearson(count, studies, 0.95);
                let of = studies as f64;
                format!("{:.3} ({low:.3} to {high:.3})", count as f64 / of)
            };
            let delay = match (change, delays.get(delays.len() / 2)) {
                (Change::Nothing | Change::Delays, _) | (_, None) => "-".into(),
                (_, Some(delay)) => format!("{delay} episodes"),
            };
            summary += &format!("{name:<42}{:<23}{:<23}{delay}\n", share(yellow), share(red));
        }
        Ok(Report {
            summary,
            ..Report::default()
        })
    }

    /// The episodes at which the check becomes yellow and red, if it does.
    fn simulate(&self, change: Change, number: u64) -> Result<[Option<u64>; 2]> {
        let study = Study::read("drift", STUDY.as_bytes()).map_err(|error| error.detail)?;
        let mut learners = StudyLearners::new(&study, RULES).map_err(|error| error.detail)?;
        let mut stream = Stream::new(self.seed, number, Role::Steps);
        let mut monitor = DriftMonitor::new(&study);
        let mut alarms = [None; 2];
        // Episodes in the order of opening, each with the time at which its outcome comes.
        let mut awaited: VecDeque<(u64, Episode)> = VecDeque::new();
        let mut arrivals: BTreeMap<(u64, u64), Episode> = BTreeMap::new();
        for at in 0..self.episodes {
            let changed = at >= self.episodes / 2;
            let (feedback, reward) = match change {
                Change::Feedback(more) if changed => (more, 0.0),
                Change::Reward(more) if changed => (0.0, more),
                _ => (0.0, 0.0),
            };
            let mut episode = Episode::default();
            episode.states.push(0);
            for t in 1.. {
                let x = episode.states[t - 1];
                let mean = [0.2, 0.6, 0.4][x] + reward;
                episode.rewards.push(mean + 0.5 * stream.normal());
                let Action::Continue(a) = learners.choose(t, x) else {
                    break;
                };
                let f = usize::from(stream.uniform() < POSITIVE[a][x] + feedback);
                episode.actions.push(a);
                episode.feedbacks.push(f);
                episode.costs.push(0.05);
                episode.states.push(1 + f);
            }
            let mean = if episode.feedbacks.contains(&1) {
                150.0
            } else {
                5.0
            };
            let late = match change {
                Change::Delays => (-(1.0 - stream.uniform()).ln() * mean) as u64,
                _ => 0,
            };
            arrivals.insert((at + late, at), episode.clone());
            awaited.push_back((at + late, episode));
            // Learners learn when outcomes come, the test in the order of opening.
            while let Some(next) = arrivals.first_entry().filter(|it| it.key().0 <= at) {
                learners.learn(&next.remove());
            }
            while let Some((_, episode)) = awaited.front().filter(|it| it.0 <= at) {
                monitor.learn(episode);
                awaited.pop_front();
            }
            let p = monitor.drift(false).p;
            for (alarm, limit) in alarms.iter_mut().zip([0.05, 0.001]) {
                if p <= limit {
                    alarm.get_or_insert(at);
                }
            }
        }
        Ok(alarms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_alarms_are_rare_and_changes_are_noticed() {
        let drift = Drift {
            studies: 40,
            episodes: 800,
            seed: 2,
        };
        let alarms = |change| {
            let made = (0..40).map(|number| drift.simulate(change, number).unwrap_or_default());
            made.filter(|it| it[0].is_some()).count()
        };
        assert!(alarms(Change::Nothing) <= 4);
        assert!(alarms(Change::Delays) <= 4);
        assert!(alarms(Change::Reward(0.5)) >= 38);
    }
}
