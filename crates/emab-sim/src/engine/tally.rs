//! Results of many runs: exact sums at each checkpoint. Single runs are not stored.

use crate::results::CurvePoint;
use emab::RegretBreakdown;
use emab::stats::Moments;
use serde::{Deserialize, Serialize};

use crate::engine::choice_counts::ChoiceCounts;

/// Regret and gain at each checkpoint, summed over runs without rounding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    regret: Vec<Moments>,
    gain: Vec<Moments>,
    causes: [Moments; 3],
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
    /// Regret and gain at the checkpoints passed.
    pub(crate) at: Vec<(f64, f64)>,
}

impl Run {
    /// Regret at the last checkpoint passed.
    pub(crate) fn final_regret(&self) -> f64 {
        self.at.last().map_or(0.0, |at| at.0)
    }
}

impl Tally {
    /// A tally of no runs, for this many checkpoints.
    pub fn new(checkpoints: usize) -> Tally {
        Tally {
            regret: vec![Moments::default(); checkpoints],
            gain: vec![Moments::default(); checkpoints],
            ..Tally::default()
        }
    }

    /// Whether every sum is over the same runs, at this many checkpoints.
    pub(crate) fn is_whole(&self, checkpoints: usize) -> bool {
        let sums = self.regret.iter().chain(&self.gain).chain(&self.causes);
        self.regret.len() == checkpoints
            && self.gain.len() == checkpoints
            && sums.map(Moments::count).all(|count| count == self.runs())
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.causes[0].count()
    }

    pub(crate) fn add(&mut self, run: &Run) {
        for ((regret, gain), at) in self.regret.iter_mut().zip(&mut self.gain).zip(&run.at) {
            regret.add(at.0);
            gain.add(at.1);
        }
        let causes = run.regret;
        let causes = [causes.early_stop, causes.late_stop, causes.wrong_action];
        for (sum, cause) in self.causes.iter_mut().zip(causes) {
            sum.add(cause);
        }
        self.steps += run.steps;
    }

    /// Adds another tally of the same checkpoints, without its choice counts.
    pub(crate) fn merge(&mut self, other: &Tally) {
        let pairs = self.regret.iter_mut().zip(&other.regret);
        let pairs = pairs.chain(self.gain.iter_mut().zip(&other.gain));
        for (mine, theirs) in pairs.chain(self.causes.iter_mut().zip(&other.causes)) {
            mine.merge(theirs);
        }
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
        checkpoints
            .iter()
            .zip(self.regret.iter().zip(&self.gain))
            .map(|(&episode, (regret, gain))| CurvePoint {
                episode,
                regret: regret.mean(),
                stderr: regret.stderr(),
                gain: gain.mean(),
                gain_stderr: gain.stderr(),
                // Set by `LearnerResult::against_optimum`.
                regret_optimal: None,
                quantiles: None,
            })
            .collect()
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
