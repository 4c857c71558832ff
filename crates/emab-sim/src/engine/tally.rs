//! Results of many runs: exact sums and the distribution of the regret at each checkpoint.

use crate::results::CurvePoint;
use emab::RegretBreakdown;
use emab::stats::{Moments, Sample, TwoGroups};
use serde::{Deserialize, Serialize};

use crate::engine::choice_counts::ChoiceCounts;
use crate::engine::schedule::Schedule;

/// Regret and gain at each checkpoint, summed over runs without rounding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    regret: Vec<Moments>,
    gain: Vec<Moments>,
    causes: [Moments; 3],
    /// The regret of all runs at each checkpoint; none in states of earlier versions.
    #[serde(default)]
    samples: Option<Vec<Sample>>,
    /// Stuck runs; none where they cannot be told, and in states of earlier versions.
    #[serde(default)]
    stuck: Option<u64>,
    /// Steps taken.
    pub steps: u64,
    /// Choices by step-state pair, if they are recorded.
    #[serde(default, rename = "places", skip_serializing_if = "Option::is_none")]
    pub(crate) choices: Option<ChoiceCounts>,
}

/// One run so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) regret: RegretBreakdown,
    pub(crate) gain: f64,
    pub(crate) steps: u64,
    /// Regret and gain at the episodes of the schedule that have passed.
    pub(crate) at: Vec<(f64, f64)>,
    /// Whether it is stuck, at its end.
    pub(crate) stuck: bool,
}

impl Tally {
    /// A tally of no runs, for this many checkpoints; `stuck` says whether stuck runs can be told.
    pub(crate) fn new(checkpoints: usize, stuck: bool) -> Tally {
        Tally {
            regret: vec![Moments::default(); checkpoints],
            gain: vec![Moments::default(); checkpoints],
            samples: Some(vec![Sample::default(); checkpoints]),
            stuck: stuck.then_some(0),
            ..Tally::default()
        }
    }

    /// Whether every sum is over the same runs, at this many checkpoints.
    pub(crate) fn is_whole(&self, checkpoints: usize) -> bool {
        let sums = self.regret.iter().chain(&self.gain).chain(&self.causes);
        let samples = |samples: &Vec<Sample>| {
            samples.len() == checkpoints && samples.iter().all(|s| s.count() == self.runs())
        };
        self.regret.len() == checkpoints
            && self.gain.len() == checkpoints
            && self.samples.as_ref().is_none_or(samples)
            && sums.map(Moments::count).all(|count| count == self.runs())
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.causes[0].count()
    }

    pub(crate) fn add(&mut self, run: &Run, schedule: &Schedule) {
        for (i, &position) in schedule.curve.iter().enumerate() {
            let (regret, gain) = run.at[position];
            self.regret[i].add(regret);
            self.gain[i].add(gain);
            if let Some(samples) = &mut self.samples {
                samples[i].add(regret);
            }
        }
        self.stuck = self.stuck.map(|stuck| stuck + u64::from(run.stuck));
        let causes = run.regret;
        let causes = [causes.early_stop, causes.late_stop, causes.wrong_action];
        for (sum, cause) in self.causes.iter_mut().zip(causes) {
            sum.add(cause);
        }
        self.steps += run.steps;
    }

    /// Sorts the samples, which makes a merge faster.
    pub(crate) fn settle(&mut self) {
        let samples = self.samples.iter_mut().flatten();
        samples.for_each(Sample::settle);
    }

    /// Adds another tally of the same checkpoints, without its choice counts.
    pub(crate) fn merge(&mut self, other: &Tally) {
        let pairs = self.regret.iter_mut().zip(&other.regret);
        let pairs = pairs.chain(self.gain.iter_mut().zip(&other.gain));
        for (mine, theirs) in pairs.chain(self.causes.iter_mut().zip(&other.causes)) {
            mine.merge(theirs);
        }
        match (&mut self.samples, &other.samples) {
            (Some(mine), Some(theirs)) => {
                let pairs = mine.iter_mut().zip(theirs);
                pairs.for_each(|(mine, theirs)| mine.merge(theirs));
            }
            (mine, _) => *mine = None,
        }
        self.stuck = self
            .stuck
            .zip(other.stuck)
            .map(|(mine, theirs)| mine + theirs);
        self.steps += other.steps;
    }

    /// Adds another tally of the same checkpoints; none if only one of them has choice counts.
    pub(crate) fn merge_all(&mut self, other: &Tally) -> Option<()> {
        let empty = self.runs() == 0;
        match (&mut self.choices, &other.choices) {
            (Some(mine), Some(theirs)) => mine.merge(theirs)?,
            (mine @ None, Some(theirs)) if empty => *mine = Some(theirs.clone()),
            (None, None) => {}
            (Some(_), None) if other.runs() == 0 => {}
            _ => return None,
        }
        self.merge(other);
        Some(())
    }

    /// Starts to count choices, if `choices` is set; none if the tally already has counts of another shape.
    pub(crate) fn start_choices(&mut self, choices: &Option<ChoiceCounts>) -> Option<()> {
        match (&self.choices, choices) {
            (None, None) => Some(()),
            (None, Some(_)) if self.runs() == 0 => {
                self.choices.clone_from(choices);
                Some(())
            }
            (Some(mine), Some(theirs)) => mine.has_shape_of(theirs).then_some(()),
            _ => None,
        }
    }

    /// The curve at these checkpoints.
    pub fn curve(&self, checkpoints: &[u64]) -> Vec<CurvePoint> {
        let sample = |i: usize| self.samples.as_ref().and_then(|samples| samples.get(i));
        checkpoints
            .iter()
            .zip(self.regret.iter().zip(&self.gain))
            .enumerate()
            .map(|(i, (&episode, (regret, gain)))| CurvePoint {
                episode,
                regret: regret.mean(),
                stderr: regret.stderr(),
                gain: gain.mean(),
                gain_stderr: gain.stderr(),
                // Set by `LearnerResult::against_optimum`.
                regret_optimal: None,
                quantiles: sample(i).and_then(Sample::quantiles),
            })
            .collect()
    }

    /// The share of stuck runs, if it is known.
    pub fn stuck(&self) -> Option<f64> {
        self.stuck
            .map(|stuck| stuck as f64 / self.runs().max(1) as f64)
    }

    /// Two groups of runs by their regret at the last checkpoint, if there are two.
    pub fn groups(&self) -> Option<TwoGroups> {
        self.samples.as_ref()?.last()?.two_groups()
    }

    /// The causes of the regret at the last checkpoint.
    pub fn causes(&self) -> RegretBreakdown {
        RegretBreakdown {
            early_stop: self.causes[0].mean(),
            late_stop: self.causes[1].mean(),
            wrong_action: self.causes[2].mean(),
        }
    }
}
