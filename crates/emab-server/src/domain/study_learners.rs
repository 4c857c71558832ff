//! The learners of a study, and the count and sum of every observed gain.

use std::collections::{BTreeSet, HashMap, HashSet};

use emab::learners::{LearnerConfig, shortfall};
use emab::{Action, Episode, Estimate, Learner, Spec};

use crate::domain::{RULES_5, Rejection, Study};

/// A step, a state and an action; the number of continuation actions stands for `stop`.
pub type TripletKey = (u32, u32, u32);

/// The sufficient statistics of the gain of one action in one step and state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GainSum {
    /// Step, from 1.
    pub t: u32,
    pub x: u32,
    /// Action; the number of continuation actions stands for `stop`.
    pub a: u32,
    /// The number of observations.
    pub count: u64,
    /// The sum of the observations, added in the learning order. Stored with all its bits.
    pub sum: f64,
}

/// A learner of a study of these rules: earlier ones leave out feedback whose cost is unknown.
pub fn under_rules(config: &LearnerConfig, rules: u32) -> LearnerConfig {
    match rules < RULES_5 {
        true => config.clone().with_default("unknown_costs", "drop"),
        false => config.clone(),
    }
}

/// The learners of a study and what they have learned.
pub struct StudyLearners {
    learner: Box<dyn Learner + Send>,
    shadows: Vec<Box<dyn Learner + Send>>,
    gains: HashMap<TripletKey, (u64, f64)>,
    /// The actions of which a gain stays unknown.
    unknown: HashSet<TripletKey>,
    actions: u32,
    /// The number of learned episodes.
    pub learned: u64,
}

impl StudyLearners {
    /// Learners of a study of these rules that have learned nothing.
    pub fn new(study: &Study, rules: u32) -> Result<StudyLearners, Rejection> {
        let build = |config: &LearnerConfig| {
            let built = under_rules(config, rules).build(&study.spec, None);
            built.map_err(|error| Rejection::internal(error.to_string()))
        };
        Ok(StudyLearners {
            learner: build(&study.learner)?,
            shadows: study.shadows.iter().map(build).collect::<Result<_, _>>()?,
            gains: HashMap::new(),
            unknown: HashSet::new(),
            actions: study.spec.actions().len() as u32,
            learned: 0,
        })
    }

    /// Learns the next episode; nothing from an empty one, which stands for an episode that was voided.
    pub fn learn(&mut self, episode: &Episode) {
        self.learned += 1;
        if episode.states.is_empty() {
            return;
        }
        self.learner.learn(episode);
        for shadow in &mut self.shadows {
            shadow.learn(episode);
        }
        let taken = episode.states.iter().zip(&episode.actions).enumerate();
        for (i, (&x, &a)) in taken {
            if episode.known_gain(i + 1).is_none() {
                self.unknown.insert((i as u32 + 1, x as u32, a as u32));
            }
        }
        for (key, value) in observations(episode, self.actions) {
            let (count, sum) = self.gains.entry(key).or_insert((0, 0.0));
            *count += 1;
            *sum += value;
        }
    }

    /// Whether a learner allows for choices in flight.
    pub fn counts_pending(&self) -> bool {
        let all = [&self.learner].into_iter().chain(&self.shadows);
        all.into_iter().any(|learner| learner.counts_pending())
    }

    /// Announces a choice of the episode with this number, whose outcome is not known yet.
    pub fn announce(&mut self, number: u64, t: usize, x: usize, action: Action) {
        for learner in [&mut self.learner].into_iter().chain(&mut self.shadows) {
            learner.announce(number, t, x, action);
        }
    }

    /// The choices of this episode are no longer in flight.
    pub fn settle(&mut self, number: u64) {
        for learner in [&mut self.learner].into_iter().chain(&mut self.shadows) {
            learner.settle(number);
        }
    }

    /// The recommended action in a step and state.
    pub fn choose(&mut self, t: usize, x: usize) -> Action {
        self.learner.choose(t, x)
    }

    /// The choices of the shadow learners there.
    pub fn shadow_choices(&mut self, t: usize, x: usize) -> Vec<Action> {
        let shadows = self.shadows.iter_mut();
        shadows.map(|shadow| shadow.choose(t, x)).collect()
    }

    /// The estimate of an action there; none if the learner keeps no estimates.
    pub fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        self.learner.estimate(t, x, action)
    }

    /// How far an action can be below the best one there while all widths hold; none if the learner gives no bound.
    pub fn shortfall(&mut self, spec: &Spec, t: usize, x: usize, action: Action) -> Option<f64> {
        shortfall(&mut self.learner, spec, t, x, action)
    }

    /// Whether a learned episode has visited a step and state, with a known value.
    pub fn is_observed(&self, t: usize, x: usize) -> bool {
        (0..=self.actions).any(|a| self.gains.contains_key(&(t as u32, x as u32, a)))
    }

    /// Whether a gain of an action stays unknown in a learned episode.
    pub fn has_unknown_gain(&self, t: usize, x: usize, a: usize) -> bool {
        self.unknown.contains(&(t as u32, x as u32, a as u32))
    }

    /// The observed gains of one key.
    pub fn gain_sum(&self, key: TripletKey) -> GainSum {
        let (count, sum) = self.gains.get(&key).copied().unwrap_or((0, 0.0));
        let (t, x, a) = key;
        GainSum {
            t,
            x,
            a,
            count,
            sum,
        }
    }

    /// All observed gains, in the order of their keys.
    pub fn gain_sums(&self) -> Vec<GainSum> {
        let mut keys: Vec<TripletKey> = self.gains.keys().copied().collect();
        keys.sort_unstable();
        keys.into_iter().map(|key| self.gain_sum(key)).collect()
    }

    /// The keys that an episode can contribute to, whichever values of its outcome are known.
    pub fn keys(&self, episode: &Episode) -> BTreeSet<TripletKey> {
        let states = episode.states.iter().enumerate();
        let stops = states.map(|(i, &x)| (i as u32 + 1, x as u32, self.actions));
        let taken = episode.states.iter().zip(&episode.actions).enumerate();
        let gains = taken.map(|(i, (&x, &a))| (i as u32 + 1, x as u32, a as u32));
        stops.chain(gains).collect()
    }
}

/// The gains that an episode lets one observe (Section 3 of the paper): the terminal reward of every step, and for every action
/// the next terminal reward less the cost, where both are known.
fn observations(episode: &Episode, stop: u32) -> impl Iterator<Item = (TripletKey, f64)> {
    let rewards = episode.states.iter().zip(&episode.rewards).enumerate();
    let stops = rewards.map(move |(i, (&x, &reward))| ((i as u32 + 1, x as u32, stop), reward));
    let taken = episode.states.iter().zip(&episode.actions).enumerate();
    let gains = taken.filter_map(|(i, (&x, &a))| {
        let gain = episode.rewards.get(i + 1)? - episode.costs.get(i)?;
        Some(((i as u32 + 1, x as u32, a as u32), gain))
    });
    // An unknown value is NaN.
    stops.chain(gains).filter(|(_, value)| !value.is_nan())
}
