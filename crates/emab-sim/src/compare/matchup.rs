//! One learner on one problem, to be compared with others on the same runs.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::results::{ArenaCell, Measured};
use emab::learners::LearnerConfig;
use emab::{Environment, Learner, Problem, Role, Scenario, Stream};

use crate::experiment::shard::Shard;
use crate::experiment::{Control, Experiment, Finish, SimError};

/// A learner on a problem. Whoever is to be compared has the same seed: a run is then the same luck for all of them.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use emab::learners::{LearnerConfig, Learning};
/// use emab_sim::{Contest, Control};
///
/// let problem = emab_problem::ProblemFile::builtin("parity").unwrap().unwrap().problem().unwrap();
/// let learner = LearnerConfig::parse("random", &Learning::default()).unwrap();
/// let contest = Contest { problem, circumstances: Default::default(), learner, episodes: 20, runs: 4, seed: 1 };
/// let stop = AtomicBool::new(false);
/// let mut control = Control { threads: 1, stop: &stop, watch: &mut |_, _| {} };
/// let cell = contest.run(&mut control).unwrap().unwrap();
/// assert_eq!(cell.finals.len(), 4);
/// ```
#[derive(Clone)]
pub struct Matchup {
    /// The problem.
    pub problem: Arc<Problem>,
    /// What is met around it.
    pub circumstances: Scenario,
    /// The learner.
    pub learner: LearnerConfig,
    /// Episodes a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
}

impl Matchup {
    /// What it comes down to.
    pub fn experiment(&self) -> Experiment {
        Experiment {
            problem: self.problem.clone(),
            circumstances: self.circumstances.clone(),
            learners: vec![self.learner.clone()],
            episodes: self.episodes,
            runs: self.runs,
            seed: self.seed,
            checkpoints: vec![self.episodes],
            places: false,
            shard: Shard::WHOLE,
        }
    }

    /// Plays all runs; none if it was stopped before they were over.
    pub fn run(&self, control: &mut Control<'_>) -> Result<Option<ArenaCell>, SimError> {
        let experiment = self.experiment();
        let mut state = experiment.state();
        if experiment.run(&mut state, control)? == Finish::Stopped {
            return Ok(None);
        }
        let finals = state.learners.first().and_then(|learner| learner.finals());
        let result = experiment.results(&state).pop();
        let (Some(finals), Some(result)) = (finals, result) else {
            return Ok(None);
        };
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = match control.threads {
            0 => processors as u64,
            // More threads than processors take turns.
            threads => threads.min(processors) as u64,
        };
        let busy = result.seconds * threads.min(self.runs) as f64;
        let episodes = self.episodes as f64;
        let last = result.curve.last();
        Ok(Some(ArenaCell {
            learner: result.learner,
            label: result.label,
            parameters: result.parameters,
            finals,
            gain: last.map_or(Measured::default(), |last| Measured {
                mean: last.gain / episodes,
                stderr: last.gain_stderr / episodes,
            }),
            steps: result.steps,
            nanoseconds: 1e9 * busy / result.steps.max(1) as f64,
            memory: None,
        }))
    }

    /// The learner after some episodes of the first run, to see what it holds; none if it was stopped before.
    pub fn played(
        &self,
        episodes: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Box<dyn Learner + Send>>, SimError> {
        let mut environment = Environment::new(self.problem.clone())?;
        let spec = self.problem.spec();
        let mut learner = self.learner.build(spec, Some(&self.problem))?;
        environment.restart(self.seed, 0);
        learner.reset(Stream::new(self.seed, 0, Role::Learner));
        for episode in 1..=episodes {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            environment
                .play(&mut *learner)
                .map_err(|error| SimError::Play {
                    learner: self.learner.label().into(),
                    run: 0,
                    episode,
                    error,
                })?;
        }
        Ok(Some(learner))
    }
}

#[cfg(test)]
mod tests {
    use emab::learners::LearnerDefaults;

    use super::*;
    use crate::engine::vector::Level;
    use crate::experiment::{Loop, State};

    fn experiment() -> Experiment {
        let file = emab_problem::ProblemFile::builtin("coverage");
        let read = |text| LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        Experiment {
            problem: file.unwrap().unwrap().problem().unwrap(),
            circumstances: Default::default(),
            learners: ["feedbal", "td-lambda"].map(read).to_vec(),
            episodes: 50,
            runs: 7,
            seed: 3,
            checkpoints: vec![10, 50],
            places: false,
            shard: Shard::WHOLE,
        }
    }

    fn run(experiment: &Experiment, threads: usize, by: Loop) -> State {
        let mut state = experiment.state();
        let stop = AtomicBool::new(false);
        let mut control = Control {
            threads,
            stop: &stop,
            watch: &mut |_, _| {},
        };
        experiment.run_with(&mut state, &mut control, by).unwrap();
        state
    }

    #[test]
    fn the_last_regret_of_every_run_is_the_same_in_any_loop_and_on_any_threads() {
        let experiment = experiment();
        let finals = |state: &State| -> Vec<Vec<f64>> {
            let all = state
                .learners
                .iter()
                .map(|learner| learner.finals().unwrap());
            all.collect()
        };
        let plain = run(&experiment, 1, Loop::Plain);
        for threads in [1, 3] {
            let state = run(&experiment, threads, Loop::PairedRuns(Level::best()));
            for (one, other) in finals(&state).iter().zip(&finals(&plain)) {
                // The fast loop sums from counts.
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
                assert!(one.len() == 7 && one.iter().zip(other).all(near));
            }
            assert_eq!(
                finals(&state),
                finals(&run(&experiment, 2, Loop::PairedRuns(Level::best())))
            );
            for (learner, result) in state.learners.iter().zip(experiment.results(&state)) {
                let measured = Measured::of(learner.finals().unwrap());
                let last = result.curve.last().unwrap();
                assert_eq!((measured.mean, measured.stderr), (last.regret, last.stderr));
            }
        }
    }

    #[test]
    fn shards_have_all_runs_and_a_file_has_none() {
        let whole = experiment();
        let part = |shard: &str| Experiment {
            shard: shard.parse().unwrap(),
            ..whole.clone()
        };
        let by = Loop::PairedRuns(Level::best());
        let mut state = run(&part("2/2"), 1, by);
        whole.merge(&mut state, &run(&part("1/2"), 1, by)).unwrap();
        let finals = |state: &State| state.learners[1].finals();
        assert_eq!(finals(&state), finals(&run(&whole, 1, by)));
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(finals(&serde_json::from_str(&text).unwrap()), None);
    }
}
