//! What a study has learned: its learner, its shadow learners, and the counts and sums of every gain that was observed.

use std::collections::{BTreeSet, HashMap};

use emab::learners::shortfall;
use emab::{Action, Episode, Learner, Spec};

use crate::domain::error::ApiError;
use crate::domain::study::Study;
use crate::store::Cell;

/// A step, a state and an action, in this order; the number of continuation actions stands for `stop`.
pub type TripletKey = (u32, u32, u32);

/// The learners of a study and what they were taught.
pub struct StudyLearners {
    learner: Box<dyn Learner + Send>,
    shadows: Vec<Box<dyn Learner + Send>>,
    tally: HashMap<TripletKey, (u64, f64)>,
    actions: u32,
    /// How many episodes they were taught.
    pub taught: u64,
}

/// What the learner knows of one action where it was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The action.
    pub action: Action,
    /// How often it was observed.
    pub count: u64,
    /// The estimate of its gain.
    pub mean: f64,
    /// How far that may be off.
    pub width: f64,
    /// What it is compared by.
    pub index: f64,
}

impl Candidate {
    /// The upper confidence limit.
    pub fn upper(&self) -> f64 {
        self.mean + self.width
    }

    /// The lower confidence limit.
    pub fn lower(&self) -> f64 {
        self.mean - self.width
    }
}

impl StudyLearners {
    /// One that knows nothing.
    pub fn new(study: &Study) -> Result<StudyLearners, ApiError> {
        let build = |config: &emab::learners::LearnerConfig| {
            let built = config.build(&study.spec, None);
            built.map_err(|error| ApiError::internal(error.to_string()))
        };
        Ok(StudyLearners {
            learner: build(&study.learner)?,
            shadows: study.shadows.iter().map(build).collect::<Result<_, _>>()?,
            tally: HashMap::new(),
            actions: study.spec.actions().len() as u32,
            taught: 0,
        })
    }

    /// Takes in an episode.
    pub fn learn(&mut self, episode: &Episode) {
        self.learner.learn(episode);
        for shadow in &mut self.shadows {
            shadow.learn(episode);
        }
        for (place, value) in observations(episode, self.actions) {
            let (count, sum) = self.tally.entry(place).or_insert((0, 0.0));
            *count += 1;
            *sum += value;
        }
        self.taught += 1;
    }

    /// What is recommended in a step and state.
    pub fn choose(&mut self, t: usize, x: usize) -> Action {
        self.learner.choose(t, x)
    }

    /// What the shadow learners would recommend there.
    pub fn shadows(&mut self, t: usize, x: usize) -> Vec<Action> {
        let shadows = self.shadows.iter_mut();
        shadows.map(|shadow| shadow.choose(t, x)).collect()
    }

    /// What is known of an action there; none if the learner keeps no estimates.
    pub fn candidate(&mut self, t: usize, x: usize, action: Action) -> Option<Candidate> {
        let known = self.learner.estimate(t, x, action)?;
        Some(Candidate {
            action,
            count: known.count,
            mean: known.mean,
            width: known.width,
            index: known.index,
        })
    }

    /// How far an action can fall short of the best one there, while all widths hold; none if that cannot be said.
    pub fn shortfall(&mut self, spec: &Spec, t: usize, x: usize, action: Action) -> Option<f64> {
        shortfall(&mut self.learner, spec, t, x, action)
    }

    /// What was counted at a place.
    pub fn cell(&self, place: TripletKey) -> Cell {
        let (count, sum) = self.tally.get(&place).copied().unwrap_or((0, 0.0));
        let (t, x, a) = place;
        Cell {
            t,
            x,
            a,
            count,
            sum,
        }
    }

    /// Everything that was counted, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let mut places: Vec<TripletKey> = self.tally.keys().copied().collect();
        places.sort_unstable();
        places.into_iter().map(|place| self.cell(place)).collect()
    }

    /// The places that an episode can have been counted at, whatever is known of its outcome.
    pub fn places(&self, episode: &Episode) -> BTreeSet<TripletKey> {
        let states = episode.states.iter().enumerate();
        let stops = states.map(|(i, &x)| (i as u32 + 1, x as u32, self.actions));
        let taken = episode.states.iter().zip(&episode.actions).enumerate();
        let gains = taken.map(|(i, (&x, &a))| (i as u32 + 1, x as u32, a as u32));
        stops.chain(gains).collect()
    }
}

/// The gains that an episode lets one observe: the terminal reward of every step that it passed, and the next one's less
/// the cost for every action taken, where both are known (Section 3 of the paper).
fn observations(episode: &Episode, stop: u32) -> impl Iterator<Item = (TripletKey, f64)> {
    let rewards = episode.states.iter().zip(&episode.rewards).enumerate();
    let stops = rewards.map(move |(i, (&x, &reward))| ((i as u32 + 1, x as u32, stop), reward));
    let taken = episode.states.iter().zip(&episode.actions).enumerate();
    let gains = taken.filter_map(|(i, (&x, &a))| {
        let gain = episode.rewards.get(i + 1)? - episode.costs.get(i)?;
        Some(((i as u32 + 1, x as u32, a as u32), gain))
    });
    // What is not known is NaN.
    stops.chain(gains).filter(|(_, value)| !value.is_nan())
}
